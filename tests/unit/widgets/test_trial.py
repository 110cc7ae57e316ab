"""Trial: the learner's code is run, and told in a sentence where it differs."""

import sys

import pytest

from widgets.exercise import Trial, agrees_with

EXAMPLES = [([3, 1, 2],), ([],), ([5, 5],)]


@pytest.fixture
def trial():
    trial = Trial("Sort them", agrees_with(sorted, EXAMPLES), hint="Compare neighbours.")
    yield trial
    trial.close()


def backwards(numbers):
    return sorted(numbers, reverse=True)


def broken(numbers):
    raise IndexError("list index out of range")


def test_before_a_try_nothing_is_passed(trial):
    assert not trial.passed
    assert trial.missing == "nothing was tried"


def test_what_agrees_is_passed(trial):
    outcome = trial.run(sorted)
    assert outcome.passed and trial.passed
    assert repr(outcome) == "Done: it does what the engine's own code does."


def test_an_exercise_that_compares_nothing_says_what_was_done():
    trial = Trial("Give nothing", lambda code: code() or "", done="Done: it gives nothing.")
    outcome = trial.run(lambda: None)
    assert repr(outcome) == "Done: it gives nothing."
    assert "Done: it gives nothing." in trial.svg()
    trial.close()


def test_what_differs_is_reported_with_an_example(trial):
    outcome = trial.run(backwards)
    assert not trial.passed
    assert (
        repr(outcome) == "Not yet: backwards([3, 1, 2]) gives [3, 2, 1], and the engine [1, 2, 3]."
    )


def test_what_breaks_is_an_answer_too(trial):
    assert "raises IndexError: list index out of range" in repr(trial.run(broken))


def test_a_later_try_is_reported_for_itself_and_takes_nothing_back(trial):
    trial.run(sorted)
    assert not trial.run(backwards).passed
    assert trial.passed


def test_code_that_changes_its_arguments_finds_them_as_they_were_at_the_next_try(trial):
    def popped(numbers):
        return [numbers.pop() for _ in list(numbers)]

    def same(numbers):
        return numbers

    first = repr(trial.run(popped))
    assert first == "Not yet: popped([3, 1, 2]) gives [2, 1, 3], and the engine [1, 2, 3]."
    assert repr(trial.run(popped)) == first
    trial.run(lambda numbers: numbers.sort())
    assert not trial.run(same).passed


def test_a_hint_is_there_for_whoever_asks(trial):
    assert "Compare" not in trial.svg()
    trial.do("hint")
    assert "Compare neighbours." in trial.svg()
    assert trial.trouble == ""


class NoTruth:
    """As an array of numpy: what its comparison gives is neither true nor false."""

    def __ne__(self, other):
        return self

    def __bool__(self):
        raise ValueError("the truth value of an array is ambiguous")


def test_what_cannot_be_compared_is_told():
    outcome = Trial("Sort them", agrees_with(sorted, EXAMPLES)).run(lambda them: NoTruth())
    assert "raises ValueError: the truth value" in outcome.words


def test_code_that_ends_the_program_is_told():
    outcome = Trial("Sort them", agrees_with(sorted, EXAMPLES)).run(sys.exit)
    assert outcome.words == "Not yet: it ends the program: take its exit() out."
