"""03_rebalance on the page: a guess, and a group that is filled with the mouse."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.jupyter import darken
from tests.browser.lesson import Lesson, part


@pytest.fixture
def lesson(page: Page) -> Lesson:
    return Lesson(page, "03_rebalance")


@pytest.mark.timeout(480)
def test_a_guess_then_a_group_that_fits(lesson: Lesson) -> None:
    guess = lesson.run("guess = questions.idle()").locator(".lab-stage")
    part(guess, "answer 2").click()
    expect(part(guess, "answer 2")).to_contain_text("● your prediction")
    lesson.run("Team(cluster, orders) as other")
    told = lesson.run("questions.idle_outcome(read)")
    expect(told).to_contain_text("You predicted: All six read.")
    expect(guess).to_contain_text("✗ your prediction")
    lesson.photograph("told")

    check = lesson.run("exercises.nobody_idle(cluster)").locator(".lab-stage")
    expect(check).to_contain_text("Not yet: kitchen has no members.")
    view = lesson.run('"kitchen"').locator(".lab-stage")
    for _ in range(3):
        view.get_by_role("button", name="add a consumer").click()
    check.scroll_into_view_if_needed()
    expect(check).to_contain_text("Done: the cluster says so.")
    view.scroll_into_view_if_needed()
    lesson.photograph("kitchen")
    darken(lesson.page)
    view.scroll_into_view_if_needed()
    lesson.photograph("kitchen_dark")
