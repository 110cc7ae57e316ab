"""Questions: the learner commits first, the engine answers, and every answer has its why."""

import json

import pytest

from engine.errors import ApiException
from widgets.question.quiz import Question, Quiz

LOST, KEPT, WAITS = "It is lost", "It survives", "It waits until the broker is back"
ANSWERS = {LOST: "Two had a copy.", KEPT: "A replica leads now.", WAITS: "Nobody has to wait."}


def fate(*hints):
    return Question("The leader is killed. What becomes of the record?", ANSWERS, *hints)


def order():
    return Question(
        "Who may lead?", {"anybody": "Not whoever lags.", "who is in sync": "It has all."}
    )


@pytest.fixture
def quiz():
    quiz = Quiz(fate("Who had a copy?", "What does acks=all mean?"), order())
    yield quiz
    quiz.close()


def said(quiz, **words):
    """As the page says it."""
    quiz._heard(quiz, words, [])


def words_of(quiz, question=1):
    return [it.content for it in group_of(quiz, question) if it.kind == "text"]


def group_of(quiz, question=1):
    found, left = [], list(quiz.picture[f"question {question}"].content)
    while left:
        shape = left.pop(0)
        found.append(shape)
        if not isinstance(shape.content, str):
            left[:0] = shape.content
    return found


def buttons(quiz, question=1):
    return {act.on: act.name for it in group_of(quiz, question) for act in it.acts}


def press(quiz, on):
    """Press what the picture offers, and nothing else."""
    offered = {on: name for number in (1, 2) for on, name in buttons(quiz, number).items()}
    said(quiz, act=offered[on], on=on)


def test_every_answer_is_a_button_and_a_press_commits(quiz):
    assert [on for on in buttons(quiz) if on != "1"] == [f"1 {it}" for it in ANSWERS]

    press(quiz, f"1 {LOST}")

    assert quiz.questions[0].chosen == LOST
    assert "● your prediction" in words_of(quiz)
    assert quiz.said == f"Your prediction: {LOST}."
    assert quiz.questions[1].chosen is None


def test_minds_may_be_changed_until_the_outcome_and_not_after(quiz):
    press(quiz, f"1 {LOST}")
    press(quiz, f"1 {KEPT}")
    assert quiz.questions[0].chosen == KEPT
    quiz.tell(1, LOST)

    assert not buttons(quiz)
    said(quiz, act="choose", on=f"1 {LOST}")

    assert quiz.questions[0].chosen == KEPT
    assert quiz.trouble == "the outcome is known; run the question's cell to be asked again"
    assert quiz.score == (0, 1)


def test_no_reason_is_reported_before_the_outcome(quiz):
    press(quiz, f"1 {LOST}")
    told = quiz.scene + json.dumps(quiz.controls) + quiz.about + quiz.said
    assert not any(why in told for why in ANSWERS.values())

    verdict = quiz.tell(1, KEPT)

    assert {*ANSWERS.values()} <= {*words_of(quiz)}
    assert repr(verdict) == (
        f"You predicted: {LOST}. Two had a copy. What happened: {KEPT}. A replica leads now."
    )
    assert verdict.right is False
    assert "✗ your prediction" in words_of(quiz)
    assert "✓ so it was" in words_of(quiz)


def test_who_was_right_is_reported_so(quiz):
    press(quiz, f"1 {KEPT}")
    verdict = quiz.tell(1, KEPT)
    assert verdict.right is True
    assert repr(verdict) == f"As you predicted: {KEPT}. A replica leads now."
    assert "✓ so it was, as you said" in words_of(quiz)


def test_where_nobody_answers_the_outcome_is_reported_and_counts_for_nothing(quiz):
    verdict = quiz.tell(1, KEPT)
    assert (verdict.chosen, verdict.right) == (None, None)
    assert repr(verdict) == f"What happened: {KEPT}. A replica leads now."
    assert quiz.score == (0, 0)
    quiz.tell(2, "anybody")
    assert quiz.about == "this is what happened"


def test_the_score_is_of_what_was_predicted_and_is_known(quiz):
    press(quiz, f"1 {KEPT}")
    press(quiz, "2 anybody")
    assert quiz.score == (0, 0)
    quiz.tell(1, KEPT)
    assert quiz.score == (1, 1)
    quiz.tell(2, "who is in sync")
    assert quiz.score == (1, 2)
    assert quiz.about == "1 of 2 came true"


def test_the_outcome_of_a_changed_experiment_is_told_and_not_counted(quiz):
    """The reasons are those of the first run, and so is the mark."""
    press(quiz, f"1 {LOST}")
    first = quiz.tell(1, LOST)
    assert quiz.tell(1, LOST) == first
    changed = quiz.tell(1, KEPT)
    assert changed.words.startswith(f"Now: {KEPT}. Before: {LOST}. ")
    assert quiz.questions[0].answers[KEPT] not in changed.words
    assert (changed.right, quiz.score) == (True, (1, 1))


def test_an_outcome_that_is_none_of_the_answers_leaves_the_question_open(quiz):
    """What was changed may have one; a wrong reason must not be told for it."""
    press(quiz, f"1 {KEPT}")
    told = quiz.tell(1, None)
    assert "none of the answers" in repr(told) and told.right is None
    assert quiz.questions[0].truth is None and quiz.score == (0, 0)


def test_hints_come_one_by_one_and_end(quiz):
    press(quiz, "1")
    assert "Hint: Who had a copy?" in words_of(quiz)
    assert "one more hint" in words_of(quiz)
    press(quiz, "1")
    assert quiz.said == "Hint: What does acks=all mean?"
    assert "1" not in buttons(quiz)
    said(quiz, act="hint", on="1")
    assert quiz.questions[0].hinted == 2
    assert "2" not in buttons(quiz, 2)


@pytest.mark.parametrize(
    ("choice", "told"),
    [
        ("1 It flies", "'It flies' is none of the answers: "),
        ("3 It is lost", "there is no question '3', only 1 to 2"),
        ("", "there is no question '', only 1 to 2"),
        ("0 It is lost", "there is no question '0'"),
    ],
)
def test_a_page_that_says_nonsense_changes_nothing(quiz, choice, told):
    before = quiz.scene
    said(quiz, act="choose", on=choice)
    assert quiz.trouble.startswith(told)
    assert quiz.scene == before


def test_the_page_can_tell_no_outcome(quiz):
    said(quiz, act="tell", on="1")
    assert quiz.trouble == "There is no 'tell' here, only choose, hint."
    assert quiz.questions[0].truth is None


def test_an_outcome_that_no_answer_foresaw_is_refused(quiz):
    with pytest.raises(ApiException, match="'gone' is none of the answers: It is lost"):
        quiz.tell(1, "gone")
    assert quiz.questions[0].truth is None


@pytest.mark.parametrize(
    "answers", [{}, {"a": "one"}, dict.fromkeys("abcde", "why")], ids=["none", "one", "five"]
)
def test_a_question_has_two_to_four_answers(answers):
    with pytest.raises(ApiException, match="two to four answers"):
        Question("Why?", answers)


def test_an_answer_without_a_why_is_refused():
    with pytest.raises(ApiException, match="'no' needs a sentence"):
        Question("Why?", {"yes": "because", "no": " "})


def test_a_quiz_without_questions_is_refused():
    with pytest.raises(ApiException, match="at least one question"):
        Quiz()


LONG = "a rather long answer that takes several lines, as answers sometimes have to"


def test_a_state_is_reported_by_words_and_not_by_colour_alone(quiz):
    press(quiz, f"1 {LOST}")
    quiz.tell(1, KEPT)
    labels = [it.label for it in group_of(quiz) if it.key.startswith("answer ")]
    assert labels == [
        f"{LOST}. your prediction. Two had a copy",
        f"{KEPT}. so it was. A replica leads now",
        f"{WAITS}. Nobody has to wait",
    ]


def test_it_is_small_and_stands_alone(quiz):
    assert len(quiz.scene) < 6_000
    svg = quiz.svg()
    assert svg.startswith("<svg")
    assert LOST in svg


def places(quiz):
    """Where each answer of the first question is, and how high the picture is."""
    answers = [it for it in group_of(quiz) if it.key.startswith("answer ")]
    return [it.where for it in answers], quiz.picture.height


@pytest.mark.parametrize("width", [928, 630, 356])
def test_nothing_moves_when_a_hint_or_a_choice_comes(quiz, width):
    quiz.fit(width)
    before = places(quiz)
    for on in ("1", "1", f"1 {LOST}", f"1 {KEPT}"):
        press(quiz, on)
        assert places(quiz) == before
    assert "one more hint" not in words_of(quiz)


@pytest.mark.parametrize("chosen", [None, LOST, KEPT])
def test_blue_is_the_answer_of_the_learner_and_green_the_right_one(quiz, chosen):
    if chosen:
        press(quiz, f"1 {chosen}")
    quiz.tell(1, KEPT)
    dots = [it.look for it in group_of(quiz) if it.key == "dot"]
    looks = {LOST: "paper", KEPT: "alive", WAITS: "paper"}
    if chosen:
        looks[chosen] = "leader"
    assert dots == list(looks.values())
