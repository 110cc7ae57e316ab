"""05_controller on the page: a guess, and a controller that is chosen with the mouse."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.lesson import Lesson, part


@pytest.fixture
def lesson(page: Page) -> Lesson:
    return Lesson(page, "05_controller")


@pytest.mark.timeout(600)
def test_a_guess_then_another_controller(lesson: Lesson) -> None:
    guess = lesson.run("guess = questions.start()").locator(".lab-stage")
    part(guess, "answer 1").click()
    expect(part(guess, "answer 1")).to_contain_text("● your prediction")
    lesson.run("distance = {1: 53, 2: 50, 3: 51}")
    told = lesson.run("questions.started(sim.controller, ")
    expect(told).to_contain_text("You predicted: Broker 1: it is started first.")
    guess.scroll_into_view_if_needed()
    expect(part(guess, "answer 2")).to_contain_text("✓ so it was")

    check = lesson.run("exercises.chosen(cluster, wanted)").locator(".lab-stage")
    expect(check).to_contain_text(re.compile(r"Not yet: broker \d is not the controller\."))
    wanted = re.search(r"Broker (\d) is the controller", check.inner_text())
    assert wanted is not None
    view = lesson.run("ClusterView(cluster)").locator(".lab-stage")
    others = [f"broker {each}" for each in (1, 2, 3) if str(each) != wanted[1]]
    for each in others:  # the one that is left has nobody to compete with
        part(view, each).locator("text.head").first.click()
        view.get_by_role("menuitem", name="kill").click()
        expect(part(view, each)).to_have_attribute("aria-label", re.compile("killed"))
    check.scroll_into_view_if_needed()
    expect(check).to_contain_text("Not yet: down: broker")
    view.scroll_into_view_if_needed()
    for each in others:
        part(view, each).locator("text.head").first.click()
    check.scroll_into_view_if_needed()
    expect(check).to_contain_text("Done: the cluster says so.")
    lesson.photograph("passed")
