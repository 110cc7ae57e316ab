"""04_streams on the page: a guess, all cells, and a query that is seen at work."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.jupyter import darken
from tests.browser.lesson import Lesson, part

BATCH = re.compile(r"batch \d+")


@pytest.fixture
def lesson(page: Page) -> Lesson:
    return Lesson(page, "04_streams")


@pytest.mark.timeout(600)
def test_a_guess_then_all_cells_then_a_query_at_work(lesson: Lesson) -> None:
    lesson.run("from streams import questions, stand, stateless")
    guess = lesson.run("guess = questions.restarted()").locator(".lab-stage")
    part(guess, "answer 1").click()
    expect(part(guess, "answer 1")).to_contain_text("● your prediction")
    lesson.run("restarted = stateless.restarted(cluster)")
    told = lesson.run("questions.restarted_outcome(restarted)")
    expect(told).to_contain_text("You predicted: The greetings.")
    expect(guess).to_contain_text("✗ your prediction")
    lesson.photograph("told")

    table = lesson.run_all("ledger.table()")
    expect(table).to_contain_text("26 claims of 04_streams")
    expect(table).not_to_contain_text("not run yet")
    lesson.photograph("table")
    lesson.ended("costs.figure()")
    lesson.photograph("costs")
    lesson.ended("starting = session.starting()")
    lesson.photograph("spark")

    view = lesson.run("cups = tap.opened(cluster, spark)").locator(".lab-stage")
    about = view.locator(".lab-about")
    expect(about).to_contain_text(BATCH)
    first = BATCH.findall(about.inner_text())[0]
    expect(about).not_to_contain_text(first, timeout=60_000)  # it moves
    lesson.photograph("view")
    darken(lesson.page)
    view.scroll_into_view_if_needed()
    lesson.photograph("view_dark")
    expect(lesson.run("cups.close()")).to_contain_text("yes")

    check = lesson.ended("exercises.seats(cluster)").locator(".lab-stage")
    expect(check).to_contain_text("Not yet: there is no topic seats.")
