"""01_storage on the page: all cells, a guess, a search, the exercises, the links of the table."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.jupyter import darken
from tests.browser.lesson import Lesson, part

ANSWER = 'name.run(lambda offset: f"{offset:020d}.log")'


@pytest.fixture
def lesson(page: Page) -> Lesson:
    return Lesson(page, "01_storage")


def test_a_guess_before_its_cell_and_code_for_an_exercise(lesson: Lesson) -> None:
    guess = lesson.run("questions.entries()").locator(".lab-stage")
    part(guess, "answer 1").click()
    expect(part(guess, "answer 1")).to_contain_text("● your prediction")
    lesson.run("entries, homes = indexes.offsets(log)")
    told = lesson.run("questions.SINGLE")
    expect(told).to_contain_text("You predicted: One for each message.")
    guess.scroll_into_view_if_needed()
    expect(part(guess, "answer 2")).to_contain_text("✓ so it was")

    lesson.photograph("guessed")


@pytest.mark.long
@pytest.mark.timeout(400)
def test_all_cells_a_search_an_exercise_and_the_links(lesson: Lesson) -> None:
    table = lesson.run_all("ledger.table()")
    expect(table).to_contain_text("43 claims of 01_storage: 17 conditional, 21 holds, 5 wrong.")
    lesson.photograph("table")

    table.locator("a", has_text="C033").click()
    expect(lesson.page.locator("#C033")).to_be_in_viewport()

    search = lesson.ended("SegmentView(many.directory)").locator(".lab-stage").first
    field = search.get_by_label("offset").first
    field.fill("1234")
    field.press("Enter")
    expect(search).to_contain_text("Offset 1,234 is in the batch", timeout=60_000)
    lesson.photograph("search")

    exercise = lesson.ended("exercises.rolled(cluster)").locator(".lab-stage")
    expect(exercise).to_contain_text("Not yet: there is no topic rolls.")
    exercise.get_by_role("button", name="a hint").click()
    expect(exercise).to_contain_text("Hint: Create it with segment.bytes=20000")

    lesson.go_to("def my_name").locator(".cm-content").fill(ANSWER)
    expect(lesson.run(ANSWER)).to_contain_text("Done: it does what")
    passed = lesson.ended("exercises.name()").locator(".lab-stage")
    expect(passed).to_contain_text("Done: it does what the engine's own code does.")
    lesson.photograph("passed")

    darken(lesson.page)
    lesson.photograph("passed_dark")
    lesson.ended("SegmentView(many.directory)")
    lesson.photograph("search_dark")
