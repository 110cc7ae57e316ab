"""02_replication on the page: a guess, and a leader that is killed with the mouse."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.jupyter import darken
from tests.browser.lesson import Lesson, part


@pytest.fixture
def lesson(page: Page) -> Lesson:
    return Lesson(page, "02_replication")


@pytest.mark.timeout(600)
def test_a_guess_then_another_leader(lesson: Lesson) -> None:
    lesson.photograph("before")
    guess = lesson.run("guess = questions.two_of_five()").locator(".lab-stage")
    part(guess, "answer 1").click()
    expect(part(guess, "answer 1")).to_contain_text("● your prediction")
    lesson.run("def two_die(dead, pause)")
    lesson.run("at_once, in_turn = all_pairs")
    told = lesson.run("questions.two_died(")
    expect(told).to_contain_text("You predicted: Yes, always.")
    guess.scroll_into_view_if_needed()
    expect(part(guess, "answer 1")).to_contain_text("✗ your prediction")
    expect(part(guess, "answer 2")).to_contain_text("✓ so it was")
    lesson.photograph("told")

    check = lesson.run("exercises.another_leader(cluster, mine)").locator(".lab-stage")
    expect(check).to_contain_text(re.compile(r"Not yet: mine is led by broker 1\."))
    view = lesson.run("ClusterView(cluster)").locator(".lab-stage")
    leader = part(view, "broker 1")
    leader.locator("text.head").first.click()
    view.get_by_role("menuitem", name="kill").click()
    expect(leader).to_have_attribute("aria-label", re.compile("killed"))
    check.scroll_into_view_if_needed()
    expect(check).to_contain_text("Not yet: in sync is only broker 2 and broker 3.")
    view.scroll_into_view_if_needed()
    lesson.photograph("killed")
    leader.locator("text.head").first.click()
    check.scroll_into_view_if_needed()
    expect(check).to_contain_text("Done: the cluster says so.")
    lesson.photograph("passed")

    darken(lesson.page)
    view.scroll_into_view_if_needed()
    lesson.photograph("dark")
    lesson.run("guess = questions.leaving()")
    lesson.run("recorder = cluster.record(recording)")
    replicas = lesson.run("ReplicaView(Recording").locator(".lab-stage")
    expect(replicas).to_contain_text("high watermark")
    lesson.photograph("replicas_dark")
    guess.scroll_into_view_if_needed()
    lesson.photograph("told_dark")
