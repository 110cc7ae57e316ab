"""06_sending on the page: the buffer of a producer."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.lesson import Lesson


@pytest.fixture
def lesson(page: Page) -> Lesson:
    return Lesson(page, "06_sending")


@pytest.mark.timeout(540)
def test_the_buffer_fills(lesson: Lesson) -> None:
    """nbval runs all the cells; this is one where something is shown by the page."""
    lesson.run("guess = sending.full()")
    buffer = lesson.run("AccumulatorView(filling)").locator(".lab-stage")
    expect(buffer).to_contain_text("closed by")
    lesson.photograph("buffer")
