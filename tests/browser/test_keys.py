"""Keys and mouse in a real JupyterLab: which belong to a picture, and which to the notebook.

The picture is where the lab puts it, in the dock or below its cell, and shows a recorded run.
"""

from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.jupyter import Notebook

TABS = 60  # to get from a cell to the dock, through all that can have the focus
LOG = """from engine.cluster.recording import Recording
from widgets import ClusterView, Predict, SegmentView
run = Recording.load("recorded/failover.jsonl.gz")
log = SegmentView(run, "orders", 0)
log.dock()
log"""
CLUSTER = """view = ClusterView(run)
view.dock()
view"""
WAIT = """import time
from pathlib import Path
while not Path({!r}).exists():
    time.sleep(0.05)
"""
QUESTION = """from widgets import Predict
Predict("Is it lost?", {"Yes": "No.", "No": "It is not."}, hint="Look.")"""
SCALE = "(it) => it.getBoundingClientRect().width / it.viewBox.baseVal.width"


class Keys:
    """A notebook with a docked picture, and what its keys do."""

    def __init__(self, page: Page, notebook: Notebook) -> None:
        self.page, self.notebook = page, notebook
        page.set_viewport_size({"width": 1366, "height": 768})
        page.keyboard.press("Control+b")  # the file browser is folded

    @property
    def dock(self) -> Locator:
        return self.page.locator(".lab-dock")

    @property
    def broker(self) -> Locator:
        """A shape of the picture of CLUSTER, in the dock."""
        return self.dock.locator('[data-key="broker 1"]')

    @property
    def cells(self) -> Locator:
        return self.notebook.panel.locator(".jp-Cell")

    @property
    def active(self) -> Locator:
        return self.notebook.panel.locator(".jp-Cell.jp-mod-active")

    def show(self, code: str) -> Locator:
        output = self.notebook.run(code)
        expect(self.dock.locator("svg.lab-scene")).to_be_visible()
        return output

    def write(self, code: str) -> Locator:
        """Into the last cell, which is not run."""
        cells = self.notebook.panel.locator(".jp-CodeCell")
        cell = cells.nth(cells.count() - 1)  # not .last: a cell that runs may add another one
        cell.locator(".cm-content").fill(code)
        expect(cell.locator(".cm-content")).to_have_text(code)
        return cell


@pytest.fixture
def keys(page: Page, notebook: Notebook) -> Keys:
    return Keys(page, notebook)


def test_what_is_typed_in_the_dock_stays_there(keys: Keys) -> None:
    """In a cell `00` restarts the kernel, and `dd` deletes the cell."""
    keys.show(LOG)
    count = keys.cells.count()
    field = keys.dock.get_by_role("spinbutton", name="offset")
    field.click()
    keys.page.keyboard.type("00")
    expect(field).to_have_value("00")
    expect(field).to_be_focused()

    shape = keys.dock.locator("[data-does]").first
    shape.focus()
    keys.page.keyboard.type("00ddx")
    expect(shape).to_be_focused()
    expect(keys.page.locator(".jp-Dialog")).to_have_count(0)
    assert keys.cells.count() == count


def test_tab_enters_the_dock_arrows_move_in_it_and_escape_leaves_it(keys: Keys) -> None:
    keys.notebook.run(LOG)
    keys.notebook.run(CLUSTER)
    expect(keys.broker).to_be_visible()  # this picture has displaced the other one
    cell = keys.write("print('ran', 'on')")
    keys.page.keyboard.press("Escape")  # the cell is active, and not edited
    expect(cell).to_be_focused()
    focused = keys.dock.locator(":focus")
    in_picture = keys.dock.locator("svg :focus")
    for _ in range(TABS):
        keys.page.keyboard.press("Tab")
        if in_picture.count():
            break
    before = in_picture.get_attribute("data-key")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        keys.page.keyboard.press(key)
        expect(focused).to_have_count(1)
    assert in_picture.get_attribute("data-key") != before

    keys.page.keyboard.press("Escape")
    expect(cell).to_be_focused()
    keys.page.keyboard.press("Control+Enter")
    expect(cell.locator(".jp-OutputArea")).to_have_text("ran on")


def test_a_picture_that_displaces_another_one_gets_its_focus(keys: Keys, tmp_path: Path) -> None:
    """Or the cell of the old picture would be the active one."""
    keys.show(LOG)
    go = tmp_path / "go"
    keys.notebook.run(WAIT.format(str(go)) + CLUSTER)
    cell = keys.write("print('ran', 'on')")
    shape = keys.dock.locator("[data-does]").first
    shape.focus()
    expect(shape).to_be_focused()
    go.touch()
    expect(keys.broker).to_be_visible()
    expect(keys.dock.locator("svg :focus")).to_have_count(1)
    keys.page.keyboard.press("Escape")
    expect(cell).to_be_focused()


@pytest.mark.parametrize("key", ["Shift+Enter", "Control+Enter", "Alt+Enter"])
def test_enter_with_a_modifier_runs_the_active_cell_from_the_dock(keys: Keys, key: str) -> None:
    """From a shape and from a field."""
    keys.show(LOG)
    cell = keys.write("print('ran', 'on')")
    keys.dock.get_by_role("spinbutton", name="offset").click()
    keys.page.keyboard.press(key)
    expect(cell.locator(".jp-OutputArea")).to_have_text("ran on")
    expect(keys.dock).to_have_count(1)


def test_after_an_answer_the_next_cell_is_the_active_one(keys: Keys) -> None:
    card = keys.notebook.run(QUESTION).locator(".lab-stage")
    expect(card.locator("svg.lab-scene")).to_be_visible()
    cell = keys.write("print('ran', 'on')")
    card.locator('[data-key="answer 2"]').click()
    expect(card).to_contain_text("● your prediction")
    expect(cell).to_contain_class("jp-mod-active")
    expect(cell).to_be_focused()
    keys.page.keyboard.press("Shift+Enter")
    expect(cell.locator(".jp-OutputArea")).to_have_text("ran on")
    expect(card).to_contain_text("● your prediction")  # the question was not run again


def test_in_a_cell_shift_enter_runs_it_and_escape_goes_back_to_it(keys: Keys) -> None:
    card = keys.notebook.run(QUESTION).locator(".lab-stage")
    own = keys.notebook.panel.locator(".jp-CodeCell").first
    expect(own.locator(".jp-InputPrompt")).to_have_text("[1]:")
    ask = card.locator('[data-key="ask"]')
    ask.click()
    expect(card).to_contain_text("Hint: Look.")
    card.locator('[data-key="answer 1"]').focus()
    keys.page.keyboard.press("Escape")
    expect(own).to_be_focused()
    card.locator('[data-key="answer 1"]').focus()
    keys.page.keyboard.press("Shift+Enter")
    expect(own.locator(".jp-InputPrompt")).to_have_text("[2]:")


@pytest.mark.timeout(300)
def test_the_dock_after_a_restart_of_the_kernel_and_after_a_reload(keys: Keys) -> None:
    """Without a kernel the picture is below its cell, no larger than it was drawn for."""
    output = keys.show(CLUSTER.replace("view =", LOG.rpartition("log =")[0] + "view =", 1))
    expect(keys.active).to_be_in_viewport()
    keys.page.get_by_role("menuitem", name="Kernel", exact=True).click()
    keys.page.locator("[data-command='kernelmenu:restart']").click()
    keys.page.get_by_role("button", name="Confirm Kernel Restart").click()
    expect(output).to_contain_text("The kernel has ended. Run this cell again.")
    expect(keys.dock).to_have_count(0)
    scene = output.locator("svg.lab-scene")
    assert scene.evaluate(SCALE) == pytest.approx(1, abs=0.02)
    outer = keys.notebook.panel.locator(".jp-Notebook")
    expect(outer).not_to_contain_class("lab-docked")

    expect(keys.page.locator("#jp-main-statusbar")).to_contain_text("| Idle")
    output.locator("xpath=ancestor::*[contains(@class,'jp-CodeCell')]").locator(
        ".cm-content"
    ).click()
    keys.page.keyboard.press("Control+Enter")
    expect(keys.dock.locator("svg.lab-scene")).to_be_visible()
    keys.page.keyboard.press("Control+s")
    with keys.page.expect_response(lambda it: it.request.method == "PUT"):
        keys.page.get_by_role("button", name="Rename and Save").click()
    keys.page.reload()
    expect(keys.dock.locator("svg.lab-scene")).to_be_visible()
