"""Estimate: a number that the learner says first, and then what came out."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from widgets import Estimate
from widgets.estimate.number_line import NumberLine
from widgets.progress import record
from widgets.progress.line import came_true
from widgets.progress.record import TaskPlace
from widgets.scene import SceneShape

WHY, LESS, MORE = "Four seconds of session.", "It waits for the session.", "Nothing is copied."
LONG = (
    "For how many seconds will the partition of the orders have no leader at all, if it is killed"
)


@pytest.fixture
def asked() -> Iterator[Estimate]:
    estimate = an_estimate()
    yield estimate
    estimate.close()


def an_estimate(question: str = "For how long?") -> Estimate:
    line = NumberLine(0.1, 100, "s", within=1.3)
    return Estimate(question, line, WHY, holds=(3, 9), less=LESS, more=MORE, hint="Who waits?")


def words_of(estimate: Estimate) -> list[str]:
    assert estimate.picture is not None
    return [str(it.content) for it in estimate.picture.all() if it.kind == "text"]


def slider(estimate: Estimate) -> SceneShape | None:
    assert estimate.picture is not None
    return estimate.picture.by_key.get("slider")


def test_a_number_is_typed_dragged_or_stepped_to(asked: Estimate) -> None:
    asked.do("answer", 4.5)
    assert asked.chosen == 4.5
    assert "● 4.5 s" in words_of(asked)
    assert asked.said == "Your prediction: 4.5 s."
    asked.do("more")
    assert asked.chosen == 5
    asked.do("less")
    asked.do("less")
    assert asked.chosen == 3
    asked.do("slide", 1)
    assert asked.chosen == 100


def test_the_line_offers_what_arrows_and_a_drag_do(asked: Estimate) -> None:
    shape = slider(asked)
    assert shape is not None
    assert shape.drag == "slide"
    assert [act.name for act in shape.acts] == ["less", "more"]
    assert shape.label == "your answer: no answer yet; arrows change it"
    asked.do(shape.acts[1].name)
    assert asked.chosen == 4  # the next one above the middle, which is 3.2


@pytest.mark.parametrize("number", [0, -1, 101, float("nan")])
def test_a_number_that_is_not_on_the_line_is_refused(asked: Estimate, number: float) -> None:
    asked.do("answer", number)
    assert asked.chosen is None
    assert asked.trouble == "choose a number from 0.1 to 100"


def test_no_reason_is_reported_before_the_outcome(asked: Estimate) -> None:
    asked.do("answer", 4)
    asked.do("hint")
    told = asked.scene + json.dumps(asked.controls) + asked.about + asked.said
    assert not any(each in told for each in (WHY, LESS, MORE))
    assert "Hint: Who waits?" in words_of(asked)


@pytest.mark.parametrize(
    ("guess", "told", "right"),
    [
        (None, f"What happened: 4.2 s. {WHY}", None),
        (4.2, f"You predicted: 4.2 s. What happened: 4.2 s. {WHY}", True),
        (
            5,
            "You predicted: 5 s. What happened: 4.2 s. Your number is 1.2 times too large, which "
            f"is near enough. {WHY}",
            True,
        ),
        (
            0.2,
            "You predicted: 0.2 s. What happened: 4.2 s. Your number is 21 times too small. "
            f"{LESS} {WHY}",
            False,
        ),
        (
            42,
            "You predicted: 42 s. What happened: 4.2 s. Your number is 10 times too large. "
            f"{MORE} {WHY}",
            False,
        ),
    ],
)
def test_the_outcome_says_how_far_off_and_why(
    asked: Estimate, guess: float | None, told: str, right: bool | None
) -> None:
    if guess is not None:
        asked.do("answer", guess)
    result = asked.outcome(4.2)
    assert repr(result) == told
    assert result.right is right
    assert "it was 4.2 s" in words_of(asked)


def test_after_the_outcome_the_answer_stays(asked: Estimate) -> None:
    asked.do("answer", 50)
    asked.outcome(4.2)
    assert slider(asked) is None
    assert asked.controls == []
    asked.do("answer", 4.2)
    assert asked.chosen == 50
    assert asked.trouble == "the outcome is known; run the question's cell to be asked again"


def test_an_experiment_that_was_changed_gets_no_reason_that_may_be_wrong(asked: Estimate) -> None:
    asked.do("answer", 1)
    told = repr(asked.outcome(30))
    assert not any(each in told for each in (WHY, LESS, MORE))
    assert told.endswith("The experiment was changed, so its reason may be another one.")


def test_what_did_not_happen_is_told_so(asked: Estimate) -> None:
    asked.do("answer", 1)
    result = asked.outcome(None)
    assert result.right is False
    assert "What happened: nothing in this run." in repr(result)
    assert "it did not happen in this run" in words_of(asked)


@pytest.mark.parametrize(("guess", "right"), [(5, True), (50, False)])
def test_it_is_written_down_with_the_distance(
    guess: float, right: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = TaskPlace("00_start", "seconds-predict")
    path = tmp_path / "progress.json"
    monkeypatch.setenv(record.PATH, str(path))
    monkeypatch.setattr("widgets.estimate.view.running_cell", lambda: place)
    asked = an_estimate()
    asked.do("answer", guess)
    asked.outcome(4)
    facts = json.loads(path.read_text())["labs"][place.lab][place.cell]
    assert facts["predicted"] == f"{guess} s"
    assert facts["happened"] == "4 s"
    assert facts["off"].endswith("times too large")
    assert facts["right"] is came_true(facts) is right
    record._files.clear()
    asked.close()


def test_it_is_a_question_in_words_where_nothing_runs(asked: Estimate) -> None:
    words = asked.words()
    assert words["text/plain"] == "Estimate"
    assert "<p>A number from 0.1 to 100 s." in words["text/html"]
