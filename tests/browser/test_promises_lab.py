"""07_promises on the page: a guess, and readers that die."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.lesson import Lesson, part


@pytest.fixture
def lesson(page: Page) -> Lesson:
    return Lesson(page, "07_promises")


@pytest.mark.timeout(540)
def test_a_guess_and_readers_that_die(lesson: Lesson) -> None:
    """nbval runs all the cells; these are the ones where something is pressed."""
    guess = lesson.run("guess = promises.dies()").locator(".lab-stage")
    part(guess, "answer 1").click()
    expect(part(guess, "answer 1")).to_contain_text("● your prediction")
    lesson.run("def life(topic, group")
    lesson.run("def crash(after")
    dial = lesson.run("CrashDial(crash, times=20)").locator(".lab-stage")
    dial.get_by_role("button", name="dies after process").click()
    dial.get_by_role("button", name="let it die 20 times").click()
    expect(dial).to_contain_text("Died after process in 20 of 20 runs: 0 lost, 20 twice.")
    lesson.photograph("dial")
