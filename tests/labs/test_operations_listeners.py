"""09_operations: listeners and lag; what would change the verdicts."""

from collections.abc import Callable
from importlib import import_module as lab
from types import SimpleNamespace
from typing import Any

import pytest

from tests.labs.mutants import Mutant, check, parameters
from tests.labs.mutants_09_listeners import MUTANTS
from tests.labs.reader import LABS, Reader

LAB = LABS / "09_operations.ipynb"


@pytest.mark.parametrize("mutant", parameters(MUTANTS))
def test_another_experiment_comes_to_another_verdict(
    shared: Reader, mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(shared, mutant, monkeypatch)


# -- predictions -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "truth", "found", "words"),
    [
        ("again", "came_again", 2, "Two"),
        ("again", "came_again", 7, "Seven"),
        ("of_count", "first_commit", 150, "After 150"),
        ("of_count", "first_commit", 100, "After 100"),
        ("six_on_four", "were_busy", 4, "Four"),
    ],
)
def test_a_guess_is_answered_by_what_was_found(
    question: str, truth: str, found: Any, words: str
) -> None:
    questions = lab("operations.listener_questions")
    said = getattr(questions, question)().outcome(getattr(questions, truth)(found))
    assert said.truth == words


@pytest.mark.parametrize(
    ("topic", "words"),
    [
        ("letters", "A poison record"),
        ("orders", "An open transaction"),
        ("teas", "A slow follower"),
    ],
)
def test_the_group_without_a_lag_is_looked_up_where_it_was_planted(topic: str, words: str) -> None:
    lag, questions = lab("operations.lag"), lab("operations.listener_questions")
    case = SimpleNamespace(truth=dict(zip(lag.TOPICS, lag.CAUSES, strict=True)))
    assert questions.not_shown().outcome(questions.hidden(case, topic)).truth == words


# -- COUNT_TIME ------------------------------------------------------------------------------------


def count_time(due: Callable[[Any, float], Any]) -> type:
    """The answer, with another decision."""
    return type("Own", (lab("answers.operations").CountTime,), {"due": due})


def one_time_for_both(self: Any, now: float) -> bool:
    if self.ready < self.count and now - self.last <= self.seconds:
        return False
    self.ready, self.last = 0, now
    return True


def at_the_limit(self: Any, now: float) -> bool:
    if self.ready < self.count and now - self.last < self.seconds:
        return False
    if self.ready < self.count:
        self.last = now
    self.ready = 0
    return True


def count_goes_on(self: Any, now: float) -> bool:
    if self.ready >= self.count:
        self.ready -= self.count
        return True
    if now - self.last > self.seconds:
        self.last, self.ready = now, 0
        return True
    return False


def time_first(self: Any, now: float) -> bool:
    if now - self.last > self.seconds:
        self.last, self.ready = now, 0
        return True
    if self.ready >= self.count:
        self.ready = 0
        return True
    return False


WRONG = {
    "one time for both": (one_time_for_both, "due() gives False, and the engine True"),
    "at the limit": (at_the_limit, "due() gives True, and the engine False"),
    "the count goes on": (count_goes_on, "due() gives True, and the engine False"),
    "the time first": (time_first, "and the engine True"),
    "always": (lambda self, now: True, "due() gives True, and the engine False"),
    "nothing": (lambda self, now: None, "due() gives None, and not True or False"),
    "an error": (lambda self, now: now / 0, "it raises ZeroDivisionError: "),
}


@pytest.mark.parametrize("name", WRONG)
def test_another_count_time_is_refused(name: str) -> None:
    due, words = WRONG[name]
    outcome = lab("operations.listener_exercises").count_time().run(count_time(due))
    assert outcome.words.startswith("Not yet: ")
    assert words in outcome.words


def test_count_time_takes_the_answer() -> None:
    answer = lab("answers.operations").CountTime
    assert lab("operations.listener_exercises").count_time().run(answer).passed


# -- lag -------------------------------------------------------------------------------------------


@pytest.mark.advanced
def test_the_causes_are_found_in_figures_and_others_are_refused() -> None:
    lag, exercises = lab("operations.lag"), lab("operations.listener_exercises")
    case = lag.plant(7)
    try:
        shared = lab("lab")
        shared.until("a long lag", lambda: _written(case) > 300)
        named = lab("answers.operations").causes(case)
        outcome = exercises.causes(case).run(lambda _: named)
        assert outcome.passed, outcome
    finally:
        case.stop()


def _written(case: Any) -> int:
    partitions = case.cluster.state().partitions
    return min(
        sum(each.replicas[1].log_end for it, each in partitions.items() if it.topic == topic)
        for topic in case.topics
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (None, "it gives None, and not a cause for each topic"),
        ({}, "bills has the cause None, and the causes are 'slow member', "),
        ({"bills": "a poison record"}, "bills has the cause 'a poison record', and the causes"),
        ({"bills": "skewed key"}, "bills has another cause than 'skewed key': compare the lags"),
        (
            {"bills": "slow member", "cakes": "skewed key", "letters": "slow follower"},
            "letters has another cause than 'slow follower': look twice at the group's generation",
        ),
        (  # what is named is judged, though the others are missing
            {"bills": "?", "teas": "slow member"},
            "teas has another cause than 'slow member': compare high_watermark and log_end",
        ),
        ({"bills": "?", "teas": "slow follower"}, "bills has the cause '?', and the causes are"),
    ],
)
def test_a_wrong_cause_is_answered_by_what_to_look_at(given: Any, words: str) -> None:
    lag, exercises = lab("operations.lag"), lab("operations.listener_exercises")
    case = SimpleNamespace(truth=dict(zip(lag.TOPICS, lag.CAUSES, strict=True)))
    outcome = exercises.causes(case).run(lambda _: given)
    assert outcome.words.startswith(f"Not yet: {words}")
