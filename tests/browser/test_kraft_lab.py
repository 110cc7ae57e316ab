"""10_kraft on the page: a guess, an election step by step, and a leader that is cut off."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.lesson import Lesson, part


@pytest.fixture
def lesson(page: Page) -> Lesson:
    return Lesson(page, "10_kraft")


@pytest.mark.timeout(300)
def test_a_guess_then_a_leader_that_resigns(lesson: Lesson) -> None:
    guess = lesson.run("guess = questions.split()").locator(".lab-stage")
    part(guess, "answer 3").click()
    expect(part(guess, "answer 3")).to_contain_text("● your prediction")
    lesson.run("votes = [event")
    told = lesson.run("questions.was_split(")
    expect(told).to_contain_text("As you predicted")

    check = lesson.run("exercises.resigned(mine)").locator(".lab-stage")
    expect(check).to_contain_text("Not yet: no leader has resigned.")
    view = lesson.run("QuorumView(mine)").locator(".lab-stage")
    leader = view.locator('[data-key^="node "][aria-label*=": leader,"]')
    expect(leader).to_have_count(1)
    key = str(leader.get_attribute("data-key"))
    leader.locator("text.head").click()
    view.get_by_role("menuitem", name="cut it off").click()
    expect(view.get_by_role("button", name="make all ways whole")).to_be_visible()
    for _ in range(10):
        view.get_by_role("button", name="let 0.1 seconds pass").click()
    expect(part(view, key)).to_have_attribute("aria-label", re.compile("resigned|candidate"))
    lesson.photograph("kraft_cut_off")
    check.scroll_into_view_if_needed()
    expect(check).to_contain_text("Done: the cluster says so.")

    view.scroll_into_view_if_needed()
    view.get_by_role("button", name="an event back").click()
    now = view.get_by_role("button", name="back to now")
    expect(now).to_have_attribute("aria-pressed", "false")
    now.click()
    expect(now).to_have_attribute("aria-pressed", "true")
