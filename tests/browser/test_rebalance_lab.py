"""03_rebalance on the page: a guess, all cells, and a group that is filled with the mouse."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import SCREENSHOTS
from tests.browser.jupyter import darken

WHOLE = 300_000  # ms in which all cells have surely ended


class Lesson:
    def __init__(self, page: Page) -> None:
        self.page = page
        page.locator(".jp-DirListing-item", has_text="03_rebalance.ipynb").dblclick()
        self.panel = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")
        expect(page.locator("#jp-main-statusbar")).to_contain_text("| Idle")

    def cell(self, words: str) -> Locator:
        """The first code cell with these words in it."""
        editor = self.page.locator(".jp-InputArea-editor", has_text=words)
        return self.panel.locator(".jp-CodeCell").filter(has=editor).first

    def run(self, words: str) -> Locator:
        cell = self.cell(words)
        cell.locator(".cm-content").click()
        self.page.keyboard.press("Control+Enter")
        return self.ended(words)

    def ended(self, words: str, patience: float | None = None) -> Locator:
        cell = self.cell(words)
        prompt = cell.locator(".jp-InputPrompt")
        expect(prompt).to_have_text(re.compile(r"\[\d+\]:"), timeout=patience)
        output = cell.locator(".jp-OutputArea").first
        output.scroll_into_view_if_needed()
        return output

    def photograph(self, name: str) -> None:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SCREENSHOTS / f"rebalance_{name}.png")


@pytest.fixture
def lesson(page: Page) -> Lesson:
    page.set_viewport_size({"width": 1280, "height": 1000})
    return Lesson(page)


@pytest.mark.timeout(480)
def test_a_guess_then_all_cells_then_a_group_that_fits(lesson: Lesson) -> None:
    page = lesson.page
    lesson.run("from rebalance import questions, sharing, stand")
    guess = lesson.run("guess = questions.idle()").locator(".lab-stage")
    guess.locator('[data-key="answer 2"]').first.click()
    expect(guess.locator('[data-key="answer 2"]').first).to_contain_text("● your prediction")
    lesson.run("comings = sharing.comings(cluster)")
    told = lesson.run("questions.idle_outcome(comings)")
    expect(told).to_contain_text("You predicted: All six read.")
    expect(guess).to_contain_text("✗ your prediction")
    lesson.photograph("told")

    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.locator(".lm-Menu-itemLabel", has_text=re.compile("^Run All Cells$")).click()
    table = lesson.ended("ledger.table()", WHOLE)
    expect(table).to_contain_text("53 claims of 03_rebalance")
    expect(table).not_to_contain_text("not run yet")
    lesson.photograph("table")
    lesson.ended("gaps.figure()")
    lesson.photograph("gaps")

    check = lesson.ended("exercises.nobody_idle(cluster)").locator(".lab-stage")
    expect(check).to_contain_text("Not yet: kitchen has no members.")
    view = lesson.ended('"kitchen"').locator(".lab-stage")
    for _ in range(3):
        view.get_by_role("button", name="add a consumer").click()
    check.scroll_into_view_if_needed()
    expect(check).to_contain_text("Done: the cluster says so.")
    view.scroll_into_view_if_needed()
    lesson.photograph("kitchen")
    darken(page)
    view.scroll_into_view_if_needed()
    lesson.photograph("kitchen_dark")
