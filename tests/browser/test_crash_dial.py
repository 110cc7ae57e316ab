"""A learner chooses where a reader dies, with the keyboard, and lets it die."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import SCREENSHOTS
from tests.browser.jupyter import Notebook, darken

DIAL = """from widgets import CrashDial
def die(after):
    if after == "commit":
        raise RuntimeError("the cluster is gone")
    return {"lost": int(after == "read"), "twice": int(after == "process")}
CrashDial(die)"""


@pytest.mark.timeout(200)
def test_the_reader_dies_where_the_learner_chooses(page: Page, notebook: Notebook) -> None:
    notebook.run(DIAL)
    stage = page.locator(".lab-stage").first
    start = stage.get_by_role("button", name="let it die 20 times")
    start.click()
    expect(stage).to_contain_text("Died after read in 20 of 20 runs: 20 lost, 0 twice.")
    place = stage.get_by_role("button", name="dies after process: 0 lost and 0 twice in 0 runs")
    place.focus()
    place.press("Enter")
    expect(stage).to_contain_text("The reader will die after process.")
    start.click()
    expect(stage).to_contain_text("Died after process in 20 of 20 runs: 0 lost, 20 twice.")
    expect(stage).to_contain_text("lost 20")
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    stage.screenshot(path=SCREENSHOTS / "crash_dial.png")
    stage.get_by_role("button", name="dies after commit: 0 lost").click()
    start.click()
    expect(stage).to_contain_text("run('commit') failed: RuntimeError: the cluster is gone")
    darken(page)
    stage.screenshot(path=SCREENSHOTS / "crash_dial_dark.png")
