"""The oracle's picture: the run tells the answer and can be looked at; the score by idea."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from oracle.kinds import KINDS
from widgets.cluster_view import ClusterView
from widgets.oracle.sections import lab_links
from widgets.oracle.view import Oracle
from widgets.progress.record import ProgressFile, TaskPlace
from widgets.quorum.view import QuorumView
from widgets.replay.situation_run import SituationTrace

SEED, COUNT = 7, 12
ON_A_CLUSTER = 2  # the place of a question about replicas


@pytest.fixture
def oracle() -> Iterator[Oracle]:
    it = Oracle(SEED, COUNT)
    yield it
    it.close()


def said(oracle: Oracle, act: str, *on: object) -> None:
    """As the page says it."""
    oracle._heard(oracle, {"act": act} | ({"on": on[0]} if on else {}), [])


def words(oracle: Oracle) -> str:
    assert oracle.picture is not None
    return " ".join(it.content for it in oracle.picture.all() if it.kind == "text")


def buttons(oracle: Oracle) -> list[str]:
    return [control["act"] for control in oracle.controls]


def test_a_question_tells_no_outcome_until_it_is_answered(oracle: Oracle) -> None:
    assert oracle.question.why not in words(oracle)
    assert "✓" not in words(oracle)
    right = oracle.question.right
    said(oracle, "answer", right)
    assert "✓ so it was, as you said" in words(oracle)
    assert oracle.about == "1 of 1 right"
    assert oracle.said == oracle.question.verdict(right)


def test_a_run_of_controllers_begins_at_the_question_and_is_only_looked_at() -> None:
    oracle = Oracle(SEED, len(KINDS))
    places = {oracle._question(it).kind: it for it in range(len(KINDS))}
    oracle.turn_to(places["next-active"])
    said(oracle, "answer", 0)
    assert "step_through" in buttons(oracle)
    said(oracle, "step_through")
    assert isinstance(oracle.film, QuorumView)
    began = oracle.film.head
    assert began is not None
    assert 0 < began < oracle.film.end
    assert "wait" not in buttons(oracle)
    acts = {act.name for it in oracle.picture.all() for act in it.acts} if oracle.picture else set()
    assert acts.isdisjoint({"kill", "pause", "isolate"})
    said(oracle, "forward")
    assert oracle.film.head is not None
    assert oracle.film.head > began
    said(oracle, "live")  # the end of the run
    assert oracle.film.head is None
    assert not oracle.poll()
    oracle.turn_to(places["more-deaths"])
    said(oracle, "answer", 0)
    assert "step_through" not in buttons(oracle)
    oracle.close()


def test_a_wrong_answer_is_told_with_its_belief_and_the_section(oracle: Oracle) -> None:
    question = oracle.question
    wrong = (question.right + 1) % len(question.options)
    said(oracle, "answer", wrong)
    told = words(oracle)
    assert "✗ your answer" in told
    assert question.options[wrong].belief.split()[0] in told
    assert lab_links()[question.section].words.split(",")[0] in told
    said(oracle, "answer", question.right)
    assert oracle.choices == {0: wrong}, "an answer that was given stays"


def test_a_run_opens_at_the_moment_of_the_question(oracle: Oracle) -> None:
    said(oracle, "turn_to", ON_A_CLUSTER)
    assert "step_through" not in buttons(oracle)
    said(oracle, "answer", 0)
    said(oracle, "step_through")
    assert isinstance(oracle.film, ClusterView)
    assert "forward" in buttons(oracle)
    before = oracle.film.head
    assert before is not None
    said(oracle, "forward")
    assert oracle.film.head is None or oracle.film.head > before
    assert "ZooKeeper" in words(oracle)
    assert oracle.trouble == ""
    said(oracle, "step_through")
    assert oracle.film is None
    assert "forward" not in buttons(oracle)


def test_the_next_question_closes_the_run(oracle: Oracle) -> None:
    said(oracle, "turn_to", ON_A_CLUSTER)
    said(oracle, "answer", 0)
    said(oracle, "step_through")
    said(oracle, "next_question")
    assert (oracle.at, oracle.film) == (ON_A_CLUSTER + 1, None)


def test_a_fork_comes_to_the_same_outcome() -> None:
    """Other delays from the question on: it is asked only if luck does not decide it."""
    oracle = Oracle(SEED, COUNT)
    oracle.turn_to(ON_A_CLUSTER)
    situation = oracle.question.situation(KINDS)
    trace = SituationTrace(situation)  # type: ignore[arg-type]
    fork = trace.fork(trace.asked + 1, 99)
    leaders = [
        [each.leader for each in run[len(run) - 1].state.partitions.values()]
        for run in (trace, fork)
    ]
    assert leaders[0] == leaders[1]
    assert [it.at for it in fork][:20] == [it.at for it in trace][:20]
    oracle.close()


def test_the_score_stands_by_idea_with_the_sections_that_were_missed(oracle: Oracle) -> None:
    for place in range(COUNT):
        said(oracle, "turn_to", place)
        question = oracle.question
        right = place % 2 == 0
        said(oracle, "answer", question.right if right else (question.right + 1) % 3)
    said(oracle, "turn_to", COUNT)
    rows = oracle.scores()
    assert sum(row.asked for row in rows) == COUNT
    assert f"{sum(row.right for row in rows)} of {COUNT} right." in words(oracle)
    links = oracle.sections()
    assert 0 < len(links.links) <= COUNT / 2
    assert all(link.address.partition(".ipynb#")[2] for link in links.links)
    assert links.links[0].address in links._repr_html_()


def test_each_kind_leads_to_a_section_with_words() -> None:
    assert {kind.section for kind in KINDS.values()} <= lab_links().keys()


def test_the_score_goes_into_the_progress(
    oracle: Oracle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "progress.json"
    monkeypatch.setenv("BROKERLAB_PROGRESS", str(path))
    oracle._place = TaskPlace("oracle", "exam")
    said(oracle, "answer", oracle.question.right)
    kept = json.loads(path.read_text())["labs"]["oracle"]["exam"]
    assert kept["exam"] == f"seed {SEED}, {COUNT} questions"
    assert kept["ideas"] == {oracle.question.idea: [1, 1]}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"level": 4}, "there is no level 4, only 1, 2, 3"),
        ({"questions": 0}, "0 questions are too few: ask for 1 or more"),
    ],
)
def test_an_exam_that_has_no_questions_is_refused(arguments: dict[str, int], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        Oracle(**arguments)


def test_the_score_with_more_answers_is_kept_when_the_same_exam_begins_again(
    tmp_path: Path,
) -> None:
    file, place = ProgressFile(tmp_path / "progress.json"), TaskPlace("oracle", "exam")

    def kept() -> object:
        return file.read()["labs"]["oracle"]["exam"]["ideas"]

    file.examined(place, "seed 7, 20 questions", {"ISR": [1, 2], "log": [0, 1]})
    file.examined(place, "seed 7, 20 questions", {"ISR": [1, 1]})
    assert kept() == {"ISR": [1, 2], "log": [0, 1]}
    file.examined(place, "seed 7, 20 questions", {"ISR": [2, 2], "log": [1, 1]})
    assert kept() == {"ISR": [2, 2], "log": [1, 1]}
    file.examined(place, "seed 8, 20 questions", {"log": [1, 1]})
    assert kept() == {"log": [1, 1]}
