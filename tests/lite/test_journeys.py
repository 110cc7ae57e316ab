"""In a tab: from the site's first page to lab 02, section 6; a challenge that is lost and then won.

make lite && make site      the first page offers the tab only if it was built before
"""

import json
from collections.abc import Iterator
from itertools import takewhile

import pytest
from playwright.sync_api import expect

from lite.sources import ROOT
from tests.browser.conftest import SCREENSHOTS
from tests.interop.watch import until
from tests.limits import CELL_S, START_S
from tests.lite.conftest import served
from tests.lite.open_lab import OpenLab

FRONT = ROOT / "build" / "site"
OUTPUTS = """cells => window.jupyterapp.shell.currentWidget.content.widgets
    .filter(it => cells.includes(it.model.id))
    .map(it => it.model)
    .map(it => ({ id: it.id, ran: it.executionCount, shown: it.outputs.toJSON() }))"""
RAN = f"cells => ({OUTPUTS})(cells).every(it => it.ran !== null)"
AFTER = "isr-path"  # the first cell of lab 02 behind section 6
PHONE = {"width": 390, "height": 800}
RIGHT = """class Mine:
    def stays(self, offset, latest, is_tombstone, is_old):
        return latest <= offset and not (is_tombstone and is_old)


chapter.run(Mine)"""


@pytest.fixture
def front() -> Iterator[str]:
    """The address of the site, which offers the tab."""
    if not (FRONT / "lite" / "lab" / "index.html").exists():
        pytest.fail("build/site/ does not offer the browser edition: run make lite, then make site")
    with served(FRONT) as address:
        yield address


@pytest.mark.long
@pytest.mark.timeout(6 * CELL_S)
def test_from_the_first_page_to_six_sections_of_lab_02(context, front):
    """A click on the first page, a click in the file browser, and then cell after cell."""
    page = context.new_page()
    foreign: list[str] = []
    own = (front, "data:", "blob:")
    page.on("request", lambda it: it.url.startswith(own) or foreign.append(it.url))
    page.goto(f"{front}/index.html")
    page.get_by_role("link", name="the labs in this tab").click()
    lab = OpenLab(page, f"{front}/lite", "02_replication")
    lab.ready()
    page.locator(".jp-DirListing-item", has_text="02_replication.ipynb").dblclick()
    expect(page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) h1")).to_contain_text("02 ·")
    lab.ready()
    cells = six_sections()
    lab.run(*cells)
    page.wait_for_function(RAN, arg=cells, timeout=2 * CELL_S * 1000)
    ran = page.evaluate(OUTPUTS, cells)
    assert [each["id"] for each in ran] == cells
    assert [
        (each["id"], output)
        for each in ran
        for output in each["shown"]
        if output["output_type"] == "error" or output.get("name") == "stderr"
    ] == []
    assert foreign == []
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / "lite_journey_light.png")
    page.emulate_media(color_scheme="dark")
    expect(page.locator('body[data-jp-theme-light="false"]')).to_have_count(1)
    page.screenshot(path=SCREENSHOTS / "lite_journey_dark.png")
    page.set_viewport_size(PHONE)
    page.get_by_role("tab", name="File Browser").click()  # it takes most of the width
    page.screenshot(path=SCREENSHOTS / "lite_journey_phone.png")


def six_sections() -> list[str]:
    """The code cells of lab 02 up to the end of section 6."""
    cells = json.loads((ROOT / "labs" / "02_replication.ipynb").read_text())["cells"]
    first = takewhile(lambda it: it["id"] != AFTER, cells)
    return [it["id"] for it in first if it["cell_type"] == "code"]


@pytest.mark.long
@pytest.mark.timeout(4 * CELL_S)
def test_a_challenge_is_lost_and_won_and_the_board_knows_it_after_a_reload(context, site):
    lab = OpenLab(context.new_page(), site, "challenges")
    lab.open()
    expect(lab.run("board")).to_contain_text("0 of 15 hold")
    lab.run("compact-chapter")
    cell = lab.run("compact-rule")
    expect(cell).to_contain_text("Broken: ", timeout=CELL_S * 1000)
    cell.locator(".cm-content").fill(RIGHT)
    expect(lab.run("compact-rule")).to_contain_text("It holds.", timeout=CELL_S * 1000)
    until(lambda: lab.kept().get("compact", {}).get("holds"))  # it is written a moment later
    lab.page.reload()
    lab.open()
    board = lab.run("board")
    expect(board).to_contain_text("1 of 15 hold", timeout=START_S * 1000)
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    board.screenshot(path=SCREENSHOTS / "lite_challenge_board.png")
