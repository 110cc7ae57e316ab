"""08_speed on the page: a guess about fifty bytes, and the pages of a segment."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.lesson import Lesson, part


@pytest.fixture
def lesson(page: Page) -> Lesson:
    return Lesson(page, "08_speed")


@pytest.mark.timeout(400)
def test_a_guess_and_the_pages_of_a_segment(lesson: Lesson) -> None:
    """nbval runs all the cells; these are the ones where something is pressed."""
    guess = lesson.run("guess = questions.fifty_bytes()").locator(".lab-stage")
    part(guess, "answer 1").click()
    expect(part(guess, "answer 1")).to_contain_text("● your prediction")
    lesson.run("small = {size: len(gzip.compress")
    expect(lesson.run("questions.grown(small[50])")).to_contain_text("More than 50 bytes")
    lesson.photograph("guess")

    lesson.run("guess = questions.on_disk()")
    lesson.run("def written(megabytes")
    lesson.run("def all_clean()")
    lesson.run("def from_disk(topic)")
    lesson.run("view = PageMap(path)")
    pages = lesson.run("view  # what was in memory, and when").locator(".lab-stage")
    expect(pages).to_contain_text("nothing was read: 0 of")
    pages.get_by_role("button", name="ask the kernel again").click()
    expect(pages).to_contain_text("a consumer has read all")
    lesson.photograph("pages")
