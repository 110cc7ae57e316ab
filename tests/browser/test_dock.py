"""The dock: a picture that stays in sight, beside the cells of its notebook or above them.

A page with the parts of JupyterLab that the dock needs, a panel with a notebook and its cells, and
several widgets in it. As in JupyterLab, what gets the focus or the mouse in the notebook, but in
no cell, loses the focus to the active cell. With JupyterLab itself the dock is in test_keys.py and
test_newcomer.py.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from engine.cluster.recording import Recording
from tests.browser.conftest import SCREENSHOTS
from tests.browser.jupyter import ROOT
from tests.browser.picture_page import NAMES, PicturePage
from tests.unit.widgets.cluster import Cluster
from widgets import ClusterView, SegmentView, WireView
from widgets.stage import SceneWidget

# As JupyterLab has them; the second cell shows the first widget again, the third one another.
CELLS = """() => {
    const cells = ["one", "again", "two"].map((id) => `<div class="jp-Cell" tabindex="-1">
        <div id="${id}"></div></div>`);
    document.querySelector("main").innerHTML = `<div class="jp-NotebookPanel">
        <div class="jp-Notebook" style="top: 30px; height: calc(100% - 30px)">
        <div class="jp-WindowedPanel-outer">
        <div class="jp-WindowedPanel-viewport">${cells.join("")}</div></div></div></div>`;
    const style = document.createElement("style");
    style.textContent = `.jp-NotebookPanel { position: relative; height: 677px; }
        .jp-Notebook { position: absolute; left: 0; width: 100%; overflow: hidden; }
        .jp-WindowedPanel-outer { width: 100%; height: 100%; overflow: auto; }`;
    document.head.append(style);
    const notebook = document.querySelector(".jp-Notebook");
    notebook.querySelector(".jp-Cell").classList.add("jp-mod-active");
    window.commands = [];
    document.addEventListener("keydown", ({ key, target }) =>
        target.closest(".jp-Notebook") && commands.push(key));
    for (const name of ["focusin", "mousedown"])
        notebook.addEventListener(name, ({ target }) => {
            const active = notebook.querySelector(".jp-mod-active");
            const cell = target.closest(".jp-Cell") ?? active;
            active.classList.remove("jp-mod-active");
            cell.classList.add("jp-mod-active");
            if (!cell.contains(target)) cell.focus();
        });
    window.models = {};
    window.leave = {};
    window.draw = (place, name, traits) => {
        const model = (models[name] ??= new Model(traits));
        model.send = (message) => heardBy(name, message).then((told) => {
            model.tell(told);
            window.done = message.act ?? window.done;
        });
        leave[place] = brokerlab.render({ model, el: document.getElementById(place) });
    };
}"""
# It is laid out for the dock, and nothing of it has to be scrolled to.
WHOLE = """(frame) => {
    const size = frame.querySelector("svg.lab-scene").viewBox.baseVal;
    return size.width === frame.clientWidth && frame.scrollHeight <= frame.clientHeight + 1;
}"""
# As while JupyterLab changes its theme.
HIDDEN_AT_TIMERS = """() => {
    const start = setTimeout, { style } = document.querySelector("main");
    window.setTimeout = (call, ...more) => start(() => {
        style.display = "none";
        call();
        style.display = "";
    }, ...more);
}"""
SCALE = "(it) => it.getBoundingClientRect().width / it.viewBox.baseVal.width"
WORDS = "▸ The picture stays in sight"


class Cells:
    def __init__(self, page: Page, width: int) -> None:
        self.page = page
        recording = Recording.load(ROOT / "labs" / "recorded" / "failover.jsonl.gz")
        self.views: dict[str, SceneWidget] = {
            "cluster": ClusterView(recording),
            "wire": WireView(recording),
            "live": ClusterView(Cluster()),
            "log": SegmentView(recording, "orders", 0),
        }
        self.frame = PicturePage(page, self.views["cluster"], width)
        page.expose_function("heardBy", self._heard)
        page.evaluate(CELLS)

    def _traits(self, name: str) -> dict[str, Any]:
        return {trait: getattr(self.views[name], trait) for trait in (*NAMES, "docked")}

    def _heard(self, name: str, message: dict[str, Any]) -> dict[str, Any]:
        if "watch" not in message:
            self.views[name]._heard(self.views[name], message, None)
        return self._traits(name)

    def show(self, place: str, name: str = "cluster") -> Locator:
        arguments = [place, name, self._traits(name)]
        self.page.evaluate("([place, name, traits]) => draw(place, name, traits)", arguments)
        return self.page.locator(f"#{place}")

    def leave(self, place: str) -> None:
        """As a cell that is run again does with its old output."""
        self.page.evaluate(
            "(it) => { leave[it](); document.getElementById(it).innerHTML = ''; }", place
        )

    def done(self, act: str, name: str) -> None:
        """Wait for an act of the page, then show what the view sees of it."""
        self.page.wait_for_function("(act) => window.done === act", arg=act)
        self.views[name].poll()
        self.page.evaluate("([name, told]) => models[name].tell(told)", [name, self._traits(name)])

    @property
    def dock(self) -> Locator:
        return self.page.locator(".lab-dock")

    def photograph(self, name: str) -> None:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        for theme in ("light", "dark"):
            self.frame.darken(theme == "dark")
            self.page.screenshot(path=SCREENSHOTS / f"dock_{name}_{theme}.png")


@pytest.fixture
def cells(browser: Browser) -> Iterator[Callable[[int, int], Cells]]:
    contexts = []

    def open_page(width: int, height: int = 768) -> Cells:
        size = {"width": width, "height": height}
        contexts.append(browser.new_context(reduced_motion="reduce", viewport=size))
        return Cells(contexts[-1].new_page(), width - 78)

    yield open_page
    for context in contexts:
        context.close()


@pytest.mark.parametrize(("width", "high"), [(1366, 647), (1104, 647), (1920, 959)])
def test_all_of_the_picture_is_beside_the_cells(
    cells: Callable[..., Cells], width: int, high: int
) -> None:
    page = cells(width, high + 120)
    page.page.add_style_tag(content=f".jp-NotebookPanel {{ height: {high + 30}px !important; }}")
    view = page.views["cluster"]
    view.dock()
    cell = page.show("one")
    expect(page.dock.locator("svg.lab-scene")).to_be_visible()
    expect(cell).to_contain_text(WORDS)
    expect(cell.locator("svg.lab-scene")).to_have_count(0)
    outer = page.page.locator(".jp-WindowedPanel-outer")
    frame = page.dock.locator(".lab-frame")
    for share in (0, 0.15, 0.3, 0.5, 1):
        view.do("seek", share)
        page.page.evaluate("(told) => models.cluster.tell(told)", page._traits("cluster"))
        page.page.wait_for_function(WHOLE, arg=frame.element_handle())
        assert page.frame.unreadable() == []
    left, right = outer.bounding_box(), page.dock.bounding_box()
    assert left and right
    assert left["x"] + left["width"] <= right["x"] + 1
    page.photograph(str(width))


def test_a_page_that_is_hidden_for_a_moment_tells_its_size_all_the_same(
    cells: Callable[..., Cells],
) -> None:
    page = cells(1366)
    page.views["cluster"].dock()
    page.show("one")
    frame = page.dock.locator(".lab-frame").element_handle()
    page.page.wait_for_function(WHOLE, arg=frame)
    page.page.evaluate(HIDDEN_AT_TIMERS)
    page.page.evaluate("document.querySelector('main').style.width = '822px'")
    page.page.wait_for_function(WHOLE, arg=frame)


def test_it_goes_back_under_its_cell_by_a_click_and_by_the_keyboard(
    cells: Callable[..., Cells],
) -> None:
    page = cells(1366)
    cell = page.show("one")
    stage = cell.locator(".lab-stage")
    expect(stage.locator("svg.lab-scene")).to_be_visible()
    cell.get_by_role("button", name="keep the picture in sight").click()
    expect(page.dock.locator("svg.lab-scene")).to_be_visible()
    expect(page.page.locator(":focus")).to_have_attribute("aria-pressed", "true")

    page.page.keyboard.press("Enter")  # the button has kept the focus
    expect(page.dock).to_have_count(0)
    expect(stage.locator("svg.lab-scene")).to_be_visible()
    expect(page.page.locator(":focus")).to_have_attribute("aria-pressed", "false")

    page.page.keyboard.press("Enter")
    expect(page.dock).to_have_count(1)
    page.page.keyboard.press("Escape")  # to the cells, where Shift+Enter runs them
    expect(page.page.locator(".jp-mod-active")).to_be_focused()
    cell.get_by_role("button", name=WORDS).click()
    expect(page.dock).to_have_count(0)
    expect(stage).to_be_visible()


@pytest.mark.parametrize(("width", "high"), [(822, 646), (775, 358), (312, 722)])
def test_a_narrow_page_has_a_low_picture_above_the_cells(
    cells: Callable[..., Cells], width: int, high: int
) -> None:
    page = cells(width + 78, high + 122)
    page.page.add_style_tag(content=f".jp-NotebookPanel {{ height: {high + 30}px !important; }}")
    page.page.evaluate("(it) => (document.querySelector('main').style.width = `${it}px`)", width)
    view = page.views["cluster"]
    view.dock()
    cell = page.show("one")
    expect(page.dock.locator("svg.lab-scene")).to_be_visible()
    expect(cell).to_contain_text(WORDS)
    frame = page.dock.locator(".lab-frame")
    for share in (0, 0.15, 0.3, 0.5, 1):
        view.do("seek", share)
        page.page.evaluate("(told) => models.cluster.tell(told)", page._traits("cluster"))
        page.page.wait_for_function(WHOLE, arg=frame.element_handle())
        assert page.frame.unreadable() == []
    outer = page.page.locator(".jp-WindowedPanel-outer")
    above, below = page.dock.bounding_box(), outer.bounding_box()
    assert above and below
    assert above["y"] + above["height"] <= below["y"] + 1
    assert below["height"] >= 0.35 * high
    page.photograph(str(width))


def test_it_moves_when_the_page_gets_wide_or_narrow_or_low(cells: Callable[..., Cells]) -> None:
    page = cells(900)
    page.views["cluster"].dock()
    cell = page.show("one")
    notebook = page.page.locator(".jp-Notebook")
    for width, above in (("822px", True), ("1288px", False), ("822px", True)):
        page.page.set_viewport_size({"width": 1366, "height": 768})
        page.page.evaluate("(it) => (document.querySelector('main').style.width = it)", width)
        expect(notebook).to_contain_class("lab-docked" + (" lab-above" if above else ""))
        expect(page.page.locator(".lab-above")).to_have_count(int(above))
        expect(page.dock.locator("svg.lab-scene")).to_be_visible()
    page.page.add_style_tag(content=".jp-NotebookPanel { height: 330px !important; }")
    expect(page.dock).to_have_count(0)
    expect(notebook).to_have_class("jp-Notebook")
    expect(cell.locator(".lab-dock-button")).to_be_hidden()
    expect(cell.get_by_text(WORDS)).to_be_hidden()
    expect(cell.locator("svg.lab-scene")).to_contain_text("producers")  # at full height again


def test_two_cells_show_it_and_one_of_them_is_run_again(cells: Callable[..., Cells]) -> None:
    page = cells(1366)
    page.views["cluster"].dock()
    page.show("one")
    again = page.show("again")
    expect(page.dock.locator("svg.lab-scene")).to_have_count(1)
    expect(again.locator(".lab-stage")).to_be_hidden()
    expect(again).to_contain_text(WORDS)

    page.leave("one")
    expect(page.dock.locator("svg.lab-scene")).to_be_visible()  # of the other cell
    page.leave("again")
    expect(page.dock).to_have_count(0)
    expect(page.page.locator(".lab-docked")).to_have_count(0)


def test_the_newest_picture_has_the_dock(cells: Callable[..., Cells]) -> None:
    page = cells(1366)
    page.views["cluster"].dock()
    one, again = page.show("one"), page.show("again")
    expect(page.dock).to_have_attribute("aria-label", "the picture that stays in sight")
    page.views["wire"].dock()
    page.show("two", "wire")
    expect(page.dock.locator(".lab-top b")).to_have_text("Wire")
    for cell in (one, again):
        expect(cell.locator("svg.lab-scene")).to_be_visible()
        expect(cell.get_by_text(WORDS)).to_be_hidden()
    assert page.views["cluster"].docked == ""
    assert page.dock.count() == 1


def test_when_the_kernel_has_ended_it_is_under_its_cell(cells: Callable[..., Cells]) -> None:
    page = cells(1366)
    page.views["cluster"].dock()
    cell = page.show("one")
    expect(page.dock).to_have_count(1)
    page.page.evaluate("models.cluster.listeners.comm_live_update[0].call({ comm_live: false })")
    expect(page.dock).to_have_count(0)
    expect(cell).to_contain_text("The kernel has ended. Run this cell again.")
    expect(cell.get_by_text(WORDS)).to_be_hidden()
    assert cell.locator("svg.lab-scene").evaluate(SCALE) == pytest.approx(1, abs=0.02)


def test_a_menu_in_the_dock_opens_by_mouse_and_by_keyboard(cells: Callable[..., Cells]) -> None:
    """What is chosen there is done: a broker is killed, another one paused."""
    page = cells(1366)
    live: Any = page.views["live"]
    live.dock()
    page.show("one", "live")
    broker = page.dock.locator('[data-key="broker 1"]')
    broker.click()
    menu = page.dock.get_by_role("menu")
    expect(menu).to_be_visible()
    items = menu.get_by_role("menuitem")
    expect(items.first).to_have_class("usual")
    expect(items.nth(3)).to_have_class("apart")
    page.photograph("menu")
    items.filter(has_text="kill").click()
    page.done("kill", "live")
    expect(broker).to_have_attribute("aria-label", re.compile("down|killed"))

    page.dock.locator('[data-key="broker 2"]').focus()
    page.page.keyboard.press("Enter")
    expect(items.first).to_be_focused()
    page.page.keyboard.press("ArrowDown")
    page.page.keyboard.press("Enter")
    page.done("pause", "live")
    expect(page.dock.locator('[data-key="broker 2"]')).to_have_attribute(
        "aria-label", re.compile("paused")
    )
    assert page.page.evaluate("commands") == []
    live.close()


def test_what_is_typed_in_the_dock_is_no_command_of_the_notebook(
    cells: Callable[..., Cells],
) -> None:
    page = cells(1366)
    page.views["log"].dock()
    page.show("one", "log")
    field = page.dock.get_by_role("spinbutton", name="offset")
    field.click()
    page.page.keyboard.type("00")
    expect(field).to_have_value("00")
    expect(field).to_be_focused()
    assert page.page.evaluate("commands") == []

    page.page.keyboard.press("Shift+Enter")  # but this one runs the active cell
    assert page.page.evaluate("commands") == ["Enter"]
    expect(page.page.locator(".jp-mod-active")).to_be_focused()
