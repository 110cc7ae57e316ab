"""A learner's first ten minutes, on the page: guessing and killing with the mouse."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.jupyter import darken
from tests.browser.lesson import Lesson, part


@pytest.fixture
def lesson(page: Page) -> Lesson:
    """At the size at which the picture of the cluster is docked beside the cells, with its cost."""
    lesson = Lesson(page, "00_start")
    page.keyboard.press("Control+b")  # the file browser is folded, as `make lab` has it
    page.set_viewport_size({"width": 1366, "height": 768})
    return lesson


def leader_on(view: Locator) -> int:
    """As the picture of the cluster has it."""
    for number in (1, 2, 3):
        replica = part(view, f"broker {number}").locator('[data-key="orders-0"]')
        if ": leader" in (replica.get_attribute("aria-label") or ""):
            return number
    pytest.fail("nobody leads on the page")


def test_first_a_recorded_failover_plays_by_itself(lesson: Lesson) -> None:
    lesson.page.set_viewport_size({"width": 1366, "height": 768})
    film = lesson.run("recorded.view").locator(".lab-stage")
    expect(film.get_by_role("button", name="pause")).to_be_visible()
    killed = re.compile("killed")  # it is up before, and at the end
    expect(part(film, "broker 1")).to_have_attribute("aria-label", killed)
    lesson.photograph("film")
    darken(lesson.page)
    lesson.page.set_viewport_size({"width": 900, "height": 768})
    lesson.photograph("film_900_dark")
    expect(part(film, "broker 2").locator('[data-key="orders-0"]')).to_have_attribute(
        "aria-label", re.compile(": leader")
    )
    expect(film.get_by_role("button", name="play")).to_be_visible()


def test_all_cells_at_once_and_then_the_exercise_with_the_mouse(lesson: Lesson) -> None:
    check = lesson.run_all("start.exercise(cluster)").locator(".lab-stage")
    check.scroll_into_view_if_needed()
    expect(check).to_contain_text(re.compile(r"Not yet: broker \d does not answer."))
    view = lesson.page.locator(".lab-dock .lab-stage")
    expect(view.locator('[aria-label*="killed"]').first).to_be_visible()
    victim = next(
        number
        for number in (1, 2, 3)
        if "killed" in (part(view, f"broker {number}").get_attribute("aria-label") or "")
    )
    lesson.photograph("cost")

    part(view, f"broker {victim}").get_by_text("broker").click()

    expect(part(view, f"broker {victim}")).to_have_attribute("aria-label", re.compile(": up"))
    check.scroll_into_view_if_needed()
    expect(check).to_contain_text(re.compile(r"Not yet: kill broker \d, which leads now."))

    leader = leader_on(view)
    part(view, f"broker {leader}").get_by_text("broker").click()
    view.get_by_role("menuitem", name="kill").click()

    expect(part(view, f"broker {leader}")).to_have_attribute("aria-label", re.compile("killed"))
    ended = re.compile("unavailable for .* Lost: nothing")
    expect(part(view, "cost")).to_have_attribute("aria-label", ended)
    assert leader_on(view) != leader
    check.scroll_into_view_if_needed()
    expect(check).to_contain_text("Done: the cluster says so.")
    lesson.photograph("passed", check)
    darken(lesson.page)
    lesson.photograph("dark")
    guess = lesson.ended("start.question()").locator(".lab-stage")
    guess.scroll_into_view_if_needed()
    expect(guess).to_contain_text("✓ so it was")
    lesson.photograph("told_dark", guess)
