"""The oracle and a challenge in JupyterLab: played by keyboard alone, light and dark."""

import inspect
import re

import pytest
from playwright.sync_api import Locator, Page, expect

from proof.challenges.table import CHALLENGES
from tests.browser.conftest import SCREENSHOTS
from tests.browser.jupyter import darken
from tests.browser.lesson import Lesson
from tests.unit.proof import decision_rules, rules

pytestmark = pytest.mark.timeout(400)
JUDGED = 200_000  # ms in which a rule is surely judged
QUESTIONS, WITH_A_RUN = 20, 7  # of the exam of seed 7: how many, and one that has a run
TABS = 40  # to get from a button to the next one that is wanted
NAIVE = """class Mine:
    def stays(self, offset, latest, is_tombstone, is_old):
        return offset == latest


chapter.run(Mine)"""
RIGHT = """class Mine:
    def stays(self, offset, latest, is_tombstone, is_old):
        return latest <= offset and not (is_tombstone and is_old)


chapter.run(Mine)"""

IMPORTS = """from bisect import bisect_right
from collections.abc import Callable
from typing import Any

from engine.storage.batch import HEADER_SIZE, Header, crc_ok"""


def tab_to(page: Page, wanted: Locator) -> None:
    """By Tab alone, until it has the focus."""
    for _ in range(TABS):
        if wanted.evaluate("it => it === document.activeElement"):
            return
        page.keyboard.press("Tab")
    pytest.fail(f"{wanted} is not reached by {TABS} tabs")


def arrow_to_answer(page: Page) -> None:
    """Tab to the picture, and by its arrows to an answer: the dots of the questions come first."""
    for key in ["Tab"] * TABS + ["ArrowDown"] * TABS:
        label = page.evaluate("document.activeElement.getAttribute('aria-label') || ''")
        inside = page.evaluate("!!document.activeElement.closest('svg.lab-scene g[role=button]')")
        if inside and not label.startswith("question "):
            return
        page.keyboard.press("ArrowDown" if inside else key)
    pytest.fail("no answer is reached by keys")


def photograph(page: Page, what: Locator, name: str) -> None:
    what.scroll_into_view_if_needed()
    what.screenshot(path=SCREENSHOTS / f"{name}_light.png")
    darken(page)
    what.screenshot(path=SCREENSHOTS / f"{name}_dark.png")
    page.emulate_media(color_scheme="light")


def test_an_exam_is_taken_by_keyboard(page: Page) -> None:
    """From the first question to the score; the run of one of them is looked at, step by step."""
    lesson = Lesson(page, "oracle")
    output = lesson.run("Oracle(seed=7")
    stage = output.locator(".lab-stage")
    expect(stage.locator("svg.lab-scene")).to_be_visible()
    next_one = stage.get_by_role("button", name="next question")
    next_one.focus()
    for question in range(1, QUESTIONS + 1):
        expect(stage).to_contain_text(f"{question} of {QUESTIONS}")
        arrow_to_answer(page)
        page.keyboard.press("Enter")
        expect(stage).to_contain_text("so it was")
        if question == WITH_A_RUN:
            step_through(page, stage)
        last = stage.get_by_role("button", name="the score")
        tab_to(page, last if question == QUESTIONS else next_one)
        page.keyboard.press("Enter")
    expect(stage).to_contain_text(re.compile(rf"\d+ of {QUESTIONS} right"))
    photograph(page, stage, "oracle_score")


def step_through(page: Page, stage: Locator) -> None:
    """Open the run of a question, go a step forward in it, and close it."""
    tab_to(page, stage.get_by_role("button", name="step through the run"))
    page.keyboard.press("Enter")
    expect(stage).to_contain_text("ZooKeeper")
    tab_to(page, stage.get_by_role("button", name="a step forward"))
    page.keyboard.press("Enter")
    expect(stage).to_contain_text("What happened")
    photograph(page, stage, "oracle")
    tab_to(page, stage.get_by_role("button", name="close the run"))
    page.keyboard.press("Enter")


def test_a_rule_breaks_and_then_holds(page: Page) -> None:
    """The naive rule is told in a sentence; the right one holds, and the board knows it. The rule
    is written by keyboard alone."""
    lesson = Lesson(page, "challenges")
    board = lesson.run("ChallengeBoard()").locator(".lab-stage")
    expect(board).to_contain_text("0 of 15 hold")
    lesson.run('Chapter("compact")')
    for key in ("Escape", "ArrowDown", "Enter"):  # out of this cell, and into the next one
        page.keyboard.press(key)
    cell = lesson.go_to("is_tombstone, is_old")
    for code, told in ((NAIVE, "Broken: "), (RIGHT, "It holds.")):
        page.keyboard.press("Control+A")
        page.keyboard.insert_text(code)
        page.keyboard.press("Control+Enter")
        stage = cell.locator(".jp-OutputArea .lab-stage")
        expect(stage).to_contain_text(told, timeout=JUDGED)
        photograph(page, stage, f"challenge_{told[:2].strip()}")
        page.keyboard.press("Enter")  # into the cell again
    lesson.go_to("ChallengeBoard()")
    expect(board).to_contain_text("1 of 15 hold", timeout=JUDGED)
    photograph(page, board, "challenge_board")


def test_a_storm_opens_where_a_promise_broke(page: Page) -> None:
    lesson = Lesson(page, "challenges")
    lesson.run('Chapter("truncate")')
    stage = lesson.run("def cut(self", JUDGED).locator(".lab-stage")
    expect(stage).to_contain_text("Broken: ", timeout=JUDGED)
    expect(stage).to_contain_text("Messages under way")
    stage.get_by_role("button", name="a step back").focus()
    page.keyboard.press("Enter")
    photograph(page, stage, "challenge_storm")


@pytest.mark.long
@pytest.mark.timeout(2400)
def test_all_challenges_are_lost_and_won(page: Page) -> None:
    """From the first to the last: the rule that the notebook has, and then one that holds."""
    lesson = Lesson(page, "challenges")
    board = lesson.run("ChallengeBoard()").locator(".lab-stage")
    for number, name in enumerate(CHALLENGES, 1):
        lesson.run(f'Chapter("{name}")')
        (method, *_) = CHALLENGES[name].methods
        cell = lesson.go_to(f"def {method}(self")
        for code, told in ((None, "Broken: "), (winning(name), "It holds.")):
            if code is not None:
                cell.locator(".cm-content").fill(code)
            cell.locator(".cm-content").click()
            page.keyboard.press("Control+Enter")
            stage = cell.locator(".jp-OutputArea .lab-stage")
            expect(stage).to_contain_text(told, timeout=JUDGED)
            photograph(page, stage, f"challenge_{number:02}_{told[:2].strip()}")
    lesson.go_to("ChallengeBoard()")
    expect(board).to_contain_text("15 of 15 hold", timeout=JUDGED)
    photograph(page, board, "challenge_board_won")


def winning(name: str) -> str:
    """The answer to a challenge, as a learner would write it."""
    answer = (rules.ANSWERS | decision_rules.ANSWERS)[name]
    source = inspect.getsource(answer).replace(answer.__name__, "Mine", 1)
    return f"{IMPORTS}\n\n\n{source}\n\nchapter.run(Mine)"
