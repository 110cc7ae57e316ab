"""Predict: one question, before a cell runs and after."""

import pytest

import widgets
from engine.errors import ApiException
from widgets.question.quiz import Predict

ANSWERS = {"lost": "Two had a copy.", "kept": "A replica leads now."}


@pytest.fixture
def guess():
    guess = Predict("What becomes of the record?", ANSWERS, hint="Who had a copy?")
    yield guess
    guess.close()


def press(guess, name, on):
    assert [name, on] in [
        [act.name, act.on] for shape in guess.picture.all() for act in shape.acts
    ], "the picture offers no such button"
    guess._heard(guess, {"act": name, "on": on}, [])
    assert guess.trouble == ""


def test_a_prediction_that_comes_true(guess):
    assert guess.about == "choose first, then run on"
    press(guess, "hint", "1")
    press(guess, "choose", "1 kept")
    assert guess.about == "run on, or choose again"

    verdict = guess.outcome("kept")

    assert verdict.right
    assert guess.about == "1 of 1 came true"


def test_a_prediction_that_does_not(guess):
    press(guess, "choose", "1 lost")
    assert repr(guess.outcome("kept")).startswith("You predicted: lost. Two had a copy.")
    assert guess.about == "0 of 1 came true"


def test_nobody_predicts(guess):
    assert repr(guess.outcome("kept")) == "What happened: kept. A replica leads now."


def test_the_cell_of_the_outcome_runs_twice(guess):
    press(guess, "choose", "1 lost")
    assert guess.outcome("kept") == guess.outcome("kept")


def test_an_outcome_that_was_no_answer(guess):
    with pytest.raises(ApiException, match="none of the answers: lost, kept"):
        guess.outcome("eaten")


def test_it_is_fetched_by_its_name():
    assert widgets.Predict is Predict
    assert {"Check", "Predict", "Question", "Quiz"} <= {*widgets.__all__}
    assert all(getattr(widgets, name) for name in widgets.__all__)
