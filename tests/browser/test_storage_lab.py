"""01_storage on the page: all cells, a guess, a search, the exercises, the links of the table."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import SCREENSHOTS
from tests.browser.jupyter import darken

LONG = 240_000  # ms until all cells have run
ANSWER = 'name.run(lambda offset: f"{offset:020d}.log")'


class Lesson:
    """The lab, opened in JupyterLab."""

    CELLS = 200  # more than there are

    def __init__(self, page: Page) -> None:
        self.page = page
        page.locator(".jp-DirListing-item", has_text="01_storage.ipynb").dblclick()
        self.panel = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")
        expect(page.locator("#jp-main-statusbar")).to_contain_text("| Idle")

    def cell(self, words: str) -> Locator:
        return self.panel.locator(".jp-CodeCell").filter(
            has=self.page.locator(".jp-InputArea-editor", has_text=words)
        )

    def shown(self, words: str) -> Locator:
        """What the cell with these words in it shows, in view."""
        found = self.cell(words).first.locator(".jp-OutputArea").first
        found.scroll_into_view_if_needed()
        return found

    def go_to(self, words: str) -> Locator:
        """Down from the top, cell by cell: JupyterLab draws a cell when it comes into view."""
        cell = self.cell(words).first
        self.panel.locator(".jp-MarkdownCell").first.click()
        for _ in range(self.CELLS):
            if cell.count():
                break
            self.page.keyboard.press("ArrowDown")
        return cell

    def run(self, words: str) -> Locator:
        cell = self.go_to(words)
        cell.locator(".cm-content").click()
        self.page.keyboard.press("Control+Enter")
        expect(cell.locator(".jp-InputPrompt")).to_have_text(re.compile(r"\[\d+\]:"))
        return self.shown(words)

    def menu(self, *words: str) -> None:
        self.page.get_by_role("menuitem", name=words[0], exact=True).click()
        for each in words[1:]:
            self.page.locator(".lm-Menu-itemLabel", has_text=re.compile(f"^{each}$")).click()

    def photograph(self, name: str) -> None:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SCREENSHOTS / f"storage_{name}.png")


@pytest.fixture
def lesson(page: Page) -> Lesson:
    page.set_viewport_size({"width": 1280, "height": 1000})
    return Lesson(page)


def part(stage: Locator, key: str) -> Locator:
    return stage.locator(f'[data-key="{key}"]').first


def test_a_guess_before_its_cell_and_code_for_an_exercise(lesson: Lesson) -> None:
    guess = lesson.run("questions.entries()").locator(".lab-stage")
    part(guess, "answer 1").click()
    expect(part(guess, "answer 1")).to_contain_text("● your prediction")
    lesson.run("log = indexes.sample()")
    told = lesson.run("questions.SINGLE")
    expect(told).to_contain_text("You predicted: One for each message.")
    guess.scroll_into_view_if_needed()
    expect(part(guess, "answer 2")).to_contain_text("✓ so it was")

    lesson.photograph("guessed")


@pytest.mark.timeout(400)
def test_all_cells_a_search_an_exercise_and_the_links(lesson: Lesson) -> None:
    lesson.menu("Run", "Run All Cells")
    table = lesson.cell("ledger.table()").first.locator(".jp-OutputArea").first
    prompt = lesson.cell("ledger.table()").first.locator(".jp-InputPrompt")
    expect(prompt).to_have_text(re.compile(r"\[\d+\]:"), timeout=LONG)
    table.scroll_into_view_if_needed()
    expect(table).to_contain_text("43 claims of 01_storage: 15 conditional, 23 holds, 5 wrong.")
    expect(lesson.panel.locator(".jp-OutputArea-output[data-mime-type*=error]")).to_have_count(0)
    lesson.photograph("table")

    table.locator("a", has_text="C033").click()
    expect(lesson.page.locator("#C033")).to_be_in_viewport()

    search = lesson.shown("SegmentView(many.directory)").locator(".lab-stage").first
    field = search.get_by_label("offset").first
    field.fill("1234")
    field.press("Enter")
    expect(search).to_contain_text("Offset 1,234 is in the batch", timeout=60_000)
    lesson.photograph("search")

    exercise = lesson.shown("exercises.rolled(cluster)").locator(".lab-stage")
    expect(exercise).to_contain_text("Not yet: there is no topic rolls.")
    exercise.get_by_role("button", name="a hint").click()
    expect(exercise).to_contain_text("Hint: Create it with segment.bytes=20000")

    lesson.cell("def my_name").first.locator(".cm-content").fill(ANSWER)
    lesson.page.keyboard.press("Control+Enter")
    tried = lesson.cell(ANSWER).first.locator(".jp-OutputArea").first
    expect(tried).to_contain_text("Done: it does what")
    passed = lesson.shown("exercises.name()").locator(".lab-stage")
    expect(passed).to_contain_text("Done: it does what the engine's own code does.")
    lesson.photograph("passed")

    darken(lesson.page)
    lesson.photograph("passed_dark")
    lesson.shown("SegmentView(many.directory)")
    lesson.photograph("search_dark")
