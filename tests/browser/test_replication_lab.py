"""02_replication on the page: a guess, all cells, and a leader that is killed with the mouse."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import SCREENSHOTS
from tests.browser.jupyter import darken

WHOLE = 400_000  # ms in which all cells have surely ended


class Lesson:
    def __init__(self, page: Page) -> None:
        self.page = page
        page.locator(".jp-DirListing-item", has_text="02_replication.ipynb").dblclick()
        self.panel = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")
        expect(page.locator("#jp-main-statusbar")).to_contain_text("| Idle")

    def cell(self, words: str) -> Locator:
        """The first code cell with these words in it."""
        editor = self.page.locator(".jp-InputArea-editor", has_text=words)
        return self.panel.locator(".jp-CodeCell").filter(has=editor).first

    def run(self, words: str) -> Locator:
        self.cell(words).locator(".cm-content").click()
        self.page.keyboard.press("Control+Enter")
        return self.ended(words)

    def ended(self, words: str, patience: float | None = None) -> Locator:
        cell = self.cell(words)
        prompt = cell.locator(".jp-InputPrompt")
        expect(prompt).to_have_text(re.compile(r"\[\d+\]:"), timeout=patience)
        output = cell.locator(".jp-OutputArea").first
        output.scroll_into_view_if_needed()
        return output

    def run_all(self, last: str) -> None:
        self.page.get_by_role("menuitem", name="Run", exact=True).click()
        self.page.locator(".lm-Menu-itemLabel", has_text=re.compile("^Run All Cells$")).click()
        prompt = self.cell(last).locator(".jp-InputPrompt")
        expect(prompt).to_have_text("[*]:")
        expect(prompt).not_to_have_text("[*]:", timeout=WHOLE)
        errors = self.panel.locator('[data-mime-type="application/vnd.jupyter.error"]')
        assert errors.all_inner_texts() == []
        expect(prompt).to_have_text(re.compile(r"\[\d+\]:"))

    def photograph(self, name: str) -> None:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SCREENSHOTS / f"replication_{name}.png")


@pytest.fixture
def lesson(page: Page) -> Lesson:
    page.set_viewport_size({"width": 1280, "height": 1000})
    return Lesson(page)


def part(stage: Locator, key: str) -> Locator:
    return stage.locator(f'[data-key="{key}"]').first


@pytest.mark.timeout(600)
def test_a_guess_then_all_cells_then_another_leader(lesson: Lesson) -> None:
    lesson.photograph("before")
    guess = lesson.run("guess = questions.two_of_five()").locator(".lab-stage")
    part(guess, "answer 1").click()
    expect(part(guess, "answer 1")).to_contain_text("● your prediction")
    lesson.run("at_once = five.five()")
    told = lesson.run("questions.two_died(at_once)")
    expect(told).to_contain_text("You predicted: Yes, always.")
    guess.scroll_into_view_if_needed()
    expect(part(guess, "answer 1")).to_contain_text("✗ your prediction")
    expect(part(guess, "answer 2")).to_contain_text("✓ so it was")
    lesson.photograph("told")

    lesson.run_all("ledger.table()")
    table = lesson.ended("ledger.table()")
    expect(table).to_contain_text("59 claims of 02_replication")
    expect(table).not_to_contain_text("not run yet")
    lesson.photograph("table")
    lesson.ended("departures.figure()")
    lesson.photograph("departures")
    lesson.ended("verdicts.copies(place)")
    lesson.photograph("verdict")

    check = lesson.ended("exercises.another_leader(cluster, mine)").locator(".lab-stage")
    expect(check).to_contain_text(re.compile(r"Not yet: mine-\d+-0 is led by broker 1\."))
    view = lesson.ended("ClusterView(cluster)").locator(".lab-stage")
    leader = part(view, "broker 1")
    leader.locator("text.head").first.click()
    view.get_by_role("menuitem", name="kill").click()
    expect(leader).to_have_attribute("aria-label", re.compile("killed"))
    check.scroll_into_view_if_needed()
    expect(check).to_contain_text("Not yet: in sync is only broker 2 and broker 3.")
    view.scroll_into_view_if_needed()
    lesson.photograph("killed")
    leader.locator("text.head").first.click()
    check.scroll_into_view_if_needed()
    expect(check).to_contain_text("Done: the cluster says so.")
    lesson.photograph("passed")

    darken(lesson.page)
    view.scroll_into_view_if_needed()
    lesson.photograph("dark")
    lesson.ended("ReplicaView(Recording")
    lesson.photograph("replicas_dark")
    guess.scroll_into_view_if_needed()
    lesson.photograph("told_dark")
