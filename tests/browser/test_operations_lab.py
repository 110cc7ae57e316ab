"""09_operations on the page: a guess about seven ack modes, a client that waits, and five lags."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.lesson import Lesson, part


@pytest.fixture
def lesson(page: Page) -> Lesson:
    return Lesson(page, "09_operations")


@pytest.mark.timeout(400)
def test_a_guess_a_client_that_waits_and_the_board(lesson: Lesson) -> None:
    """nbval runs all the cells; these are the ones where something is pressed or moves."""
    lesson.run("cluster = shared.cluster()")
    guess = lesson.run("guess = listener_questions.again()").locator(".lab-stage")
    part(guess, "answer 1").click()
    expect(part(guess, "answer 1")).to_contain_text("● your prediction")
    lesson.run("def container_of(mode")
    lesson.run("def crash(mode)")
    lanes = lesson.run("AckLanes(runs)").locator(".lab-stage")
    expect(lanes).to_contain_text("MANUAL_IMMEDIATE")
    expect(lanes).to_contain_text("7 come again")
    lesson.photograph("lanes")

    lesson.run("guess = questions.over_its_quota()")
    lesson.run("limits = {")
    lesson.run("class Sent(NamedTuple):\n    answers")
    lesson.run('topic, pool = cluster.topic("load"')
    gauge = lesson.run("gauge = ThrottleGauge(cluster)").locator(".lab-stage")
    expect(gauge).to_contain_text("noisy")
    lesson.photograph("gauge")

    lesson.run("guess = listener_questions.not_shown()")
    lesson.run("case = lag.plant()")
    board = lesson.run("board = OperatorBoard(sick)").locator(".lab-stage")
    expect(board).to_contain_text("records still to be read")
    board.get_by_label("last").select_option("0")
    board.get_by_role("button", name="back to the beginning").click()
    expect(board).to_contain_text("0.0 s")
    board.get_by_role("button", name="back to now").click()
    lesson.photograph("board")
    lesson.run("case.stop()")
