"""A learner's first ten minutes, on the page: guessing and killing with the mouse."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.jupyter import Lab, darken
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


def test_the_lab_opens_on_it(page: Page, lab: Lab) -> None:
    page.goto(f"{lab.url}?token={lab.token}")
    expect(page.locator(".jp-NotebookPanel h1").first).to_contain_text("Ten minutes")


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


def test_a_guess_a_kill_and_what_it_cost(lesson: Lesson) -> None:
    lesson.photograph("before")
    lesson.run("Cluster(brokers=3")
    lesson.run("ClusterView(cluster)")
    view = lesson.page.locator(".lab-dock .lab-stage")
    expect(view.locator("svg.lab-scene")).to_be_visible()
    expect(lesson.run("producer.flush")).to_have_text(re.compile("0$"))
    expect(lesson.run("SegmentView(cluster")).to_contain_text("offsets 0 to 1")
    expect(lesson.run("HexView(cluster")).to_contain_text("right ✓")

    guess = lesson.run("start.question()").locator(".lab-stage")
    lesson.photograph("asked", guess)
    part(guess, "ask").click()
    expect(guess).to_contain_text("Hint: Who had the record")
    part(guess, "answer 1").click()
    expect(part(guess, "answer 1")).to_contain_text("● your prediction")
    part(guess, "answer 3").focus()
    lesson.page.keyboard.press("Enter")
    expect(part(guess, "answer 3")).to_contain_text("● your prediction")
    expect(part(guess, "answer 1")).not_to_contain_text("prediction")
    lesson.photograph("guessed", guess)

    lesson.run("killed = time.monotonic()")
    expect(lesson.run("consumer.poll")).to_contain_text("two teas")
    expect(lesson.run("guess.outcome")).to_contain_text("As you predicted: It survives.")
    expect(part(guess, "answer 3")).to_contain_text("✓ so it was, as you said")
    lesson.photograph("told", guess)

    cost = re.compile("is the session time-out. Lost: nothing committed")
    expect(part(view, "cost")).to_have_attribute("aria-label", cost)


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
