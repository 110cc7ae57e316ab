"""04_streams on the page: a guess, and a query that is seen at work."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.jupyter import darken
from tests.browser.lesson import Lesson, part

SPARK = 150_000  # ms for a first query, on a busy machine
BATCH = re.compile(r"batch \d+")


@pytest.fixture
def lesson(page: Page) -> Lesson:
    return Lesson(page, "04_streams")


@pytest.mark.timeout(600)
def test_a_guess_then_a_query_at_work(lesson: Lesson) -> None:
    guess = lesson.run("guess = questions.restarted()").locator(".lab-stage")
    part(guess, "answer 1").click()
    expect(part(guess, "answer 1")).to_contain_text("● your prediction")
    lesson.run("def greet(guest, amount, memory)")
    lesson.run('processes.start("second", *STEPS')
    told = lesson.run("questions.differs(")
    expect(told).to_contain_text("You predicted: The greetings.")
    expect(guess).to_contain_text("✗ your prediction")
    lesson.photograph("told")

    lesson.run("guess = questions.continuous()")
    lesson.run("def cups(records)", SPARK)
    view = lesson.run("StreamView(query, cluster").locator(".lab-stage")
    about = view.locator(".lab-about")
    expect(about).to_contain_text(BATCH, timeout=SPARK)
    first = BATCH.findall(about.inner_text())[0]
    expect(about).not_to_contain_text(first, timeout=60_000)  # it moves
    lesson.photograph("view")
    darken(lesson.page)
    view.scroll_into_view_if_needed()
    lesson.photograph("view_dark")
    expect(lesson.run("ordered = guests.leave()")).to_contain_text("yes")

    check = lesson.run("exercises.seats(cluster)").locator(".lab-stage")
    expect(check).to_contain_text("Not yet: there is no topic seats.")
