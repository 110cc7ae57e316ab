"""Labs in a browser tab, from the first cell to the last: no traceback, and no foreign request."""

import re

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import SCREENSHOTS
from tests.limits import CELL_S, JVM_S, START_S

KERNEL = "window.jupyterapp?.shell?.currentWidget?.sessionContext?.session?.kernel?.status"
RUN_ALL = "void window.jupyterapp.commands.execute('notebook:run-all-cells')"
CELLS = """() => window.jupyterapp.shell.currentWidget.content.widgets
    .filter((it) => it.model.type === 'code')
    .map((it) => ({ count: it.model.executionCount, outputs: it.model.outputs.toJSON() }))"""
RAN = f"() => ({CELLS})().every((it) => it.count !== null)"
NOT_HERE = re.compile(r"Not in a browser tab\.\*\* A cluster needs the processes and sockets")


def run_all(browser: Browser, site: str, lab: str) -> list[str]:
    """What each code cell has shown, as text."""
    context = browser.new_context(viewport={"width": 1366, "height": 900})
    foreign: list[str] = []
    own = (site, "data:", "blob:")
    context.on("request", lambda it: it.url.startswith(own) or foreign.append(it.url))
    page = context.new_page()
    page.goto(f"{site}/lab/index.html?path=labs/{lab}.ipynb")
    expect(page.locator(".jp-Notebook .jp-CodeCell").first).to_be_visible(timeout=START_S * 1000)
    page.wait_for_function(f"{KERNEL} === 'idle'", timeout=JVM_S * 1000)
    page.evaluate(RUN_ALL)
    page.wait_for_function(RAN, timeout=2 * CELL_S * 1000)
    cells = page.evaluate(CELLS)
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"lite_{lab}.png")
    context.close()
    assert foreign == []
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert [
        it for it in outputs if it["output_type"] == "error" or it.get("name") == "stderr"
    ] == []
    return ["\n".join(map(str, cell["outputs"])) for cell in cells]


@pytest.mark.long
@pytest.mark.timeout(3 * CELL_S)
def test_lab_02_runs_to_its_end_and_shows_what_is_recorded(browser, site):
    shown = run_all(browser, site, "02_replication")
    refused = [text for text in shown if NOT_HERE.search(text)]
    assert len(refused) > 5
    recorded = [text for text in refused if "what this cell showed on a computer" in text]
    assert len(recorded) > 5  # a cell that shows nothing has nothing recorded
    assert any("504 ms. 250 ms for the record" in text for text in shown)  # it was simulated


@pytest.mark.long
@pytest.mark.timeout(3 * CELL_S)
@pytest.mark.parametrize(
    "lab", ["01_storage", "03_rebalance", "05_controller", "08_speed", "09_operations", "10_kraft"]
)
def test_other_labs_run_to_their_end_in_part(browser, site, lab):
    shown = run_all(browser, site, lab)
    assert any(NOT_HERE.search(text) for text in shown)
    assert any(text and "Not in a browser tab" not in text for text in shown)


@pytest.mark.long
@pytest.mark.timeout(3 * CELL_S)
def test_the_oracle_needs_no_cluster(browser, site):
    shown = run_all(browser, site, "oracle")
    assert not any("Not in a browser tab" in text for text in shown)


@pytest.mark.long
@pytest.mark.timeout(3 * CELL_S)
def test_each_challenge_is_judged(browser, site):
    """The rules that the notebook has are naive: each breaks a promise."""
    shown = run_all(browser, site, "challenges")
    assert not any("Not in a browser tab" in text for text in shown)
