"""Every kind of question: one right answer, by the run, and no way to be right without thinking."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from oracle import situation
from oracle.cluster_situation import ClusterSituation
from oracle.exam import exam
from oracle.kinds import KINDS
from oracle.situation import TIMINGS, Answer, OracleQuestion, Situation, ask
from tests.unit.oracle.rules import RULES

LABS = Path(__file__).resolve().parents[3] / "labs"
FEW, MANY = 12, 1000
# What an assignor does is its rule: tests/unit/assignors compares it with Kafka's own.
WITHOUT_RULE = {"assigned", "moved"}
# Numbers that differ in each situation: the belief in the right one is Kafka's rule itself.
RULE_IS_BELIEF = {"index-lookup", "compacted", "truncated", "moved", "assigned", "more-deaths"}


def asked(name: str, count: int) -> Iterator[tuple[OracleQuestion, Situation]]:
    """Questions of a kind, each with its situation."""
    kind = KINDS[name]
    for seed in range(count):
        made: list[Situation] = []

        def keep(chance: Random, made: list[Situation] = made) -> Situation:
            made.append(kind(chance))
            return made[-1]

        yield ask(keep, name, seed), made[-1]


def check(name: str, count: int) -> list[OracleQuestion]:
    """Each question has one right answer, and that is what the rule says."""
    questions = []
    for question, drawn in asked(name, count):
        texts = [option.text for option in question.options]
        assert len(set(texts)) == len(texts) >= 3, texts
        right = question.options[question.right]
        if name in RULES:
            assert right.outcome == RULES[name](drawn), (question.seed, question.happens)
        assert question.why == drawn.reason(right.outcome) != ""
        assert all(option.belief for option in question.options if option is not right), texts
        questions.append(question)
    return questions


def strategies(question: OracleQuestion) -> Iterator[tuple[str, object]]:
    """What somebody who does not think might always choose: here it would be right."""
    right = question.options[question.right]
    yield "the place", question.right
    yield "the words", right.text
    if question.kind not in RULE_IS_BELIEF:
        yield "the belief", right.belief
    outcomes = [option.outcome for option in question.options]
    if all(isinstance(outcome, int) for outcome in outcomes):
        yield "the rank", sorted(outcomes).index(right.outcome)  # type: ignore[type-var]


def test_every_kind_has_a_rule_or_another_judge() -> None:
    assert set(KINDS) == set(RULES) | WITHOUT_RULE


@pytest.mark.parametrize("name", KINDS)
def test_the_run_says_what_the_rule_says(name: str) -> None:
    check(name, FEW)


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", KINDS)
def test_a_thousand_situations_and_no_strategy_without_thinking(name: str) -> None:
    """Places are even, and no constant answer is right in more than half of the situations."""
    questions = check(name, MANY)
    sizes = Counter(len(question.options) for question in questions)
    places = Counter(question.right for question in questions)
    expected = sum(count / size for size, count in sizes.items())
    assert all(abs(places[place] - expected) < expected / 3 for place in range(3)), places
    chosen = Counter(it for question in questions for it in strategies(question))
    assert chosen.most_common(1)[0][1] <= MANY / 2, chosen.most_common(3)


def test_a_question_is_the_same_each_time() -> None:
    for name in KINDS:
        one, two = ask(KINDS[name], name, 5), ask(KINDS[name], name, 5)
        assert str(one) == str(two)


class ByLuck(Situation):
    """Its outcome depends on the timing until the third draw."""

    level, idea, section = 1, "luck", ""
    happens = asks = ""
    drawn = 0

    def __init__(self, chance: Random) -> None:
        super().__init__(chance)
        ByLuck.drawn += 1
        self.number = ByLuck.drawn

    def answers(self) -> list[Answer]:
        return [Answer(str(timing), timing, "No.") for timing in TIMINGS]

    def outcome(self, timing: int) -> int:
        return timing if self.number < 3 else 1

    def reason(self, outcome: object) -> str:
        return "It is drawn anew."


def test_a_situation_that_depends_on_luck_is_drawn_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ByLuck, "drawn", 0)
    question = ask(ByLuck, "luck", 1)
    assert ByLuck.drawn == 3
    assert question.options[question.right].outcome == 1
    monkeypatch.setattr(situation, "DRAWS", 2)
    monkeypatch.setattr(ByLuck, "drawn", 0)
    with pytest.raises(AssertionError, match="luck decides"):
        ask(ByLuck, "luck", 1)


def test_a_mistake_in_the_engine_would_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the run came to something else than Kafka's rule, the test above is red."""
    monkeypatch.setattr(ClusterSituation, "await_leader", lambda *_: 2)
    with pytest.raises(AssertionError):
        check("next-leader", FEW)


def test_each_kind_leads_to_a_section_that_exists() -> None:
    headings = set()
    for path in LABS.glob("*.ipynb"):
        lab = path.stem.partition("_")[2]
        for cell in json.loads(path.read_text())["cells"]:
            if "".join(cell["source"]).startswith("## "):
                headings.add(f"{lab}#{cell['id']}")
    for name, kind in KINDS.items():
        assert kind.section in headings, name


def test_an_exam_asks_every_kind_before_one_comes_again() -> None:
    questions = exam(3, len(KINDS))
    assert {question.kind for question in questions} == set(KINDS)
    assert [it.level for it in questions] == sorted(it.level for it in questions)
    assert len(KINDS) >= 16
    assert {it.level for it in exam(3, 9, levels=(2,))} == {2}
