"""The challenges: answers survive every storm, naive and wrong rules are broken where they should.

The rules are in rules.py, and in decision_rules.py those that one part decides alone.
"""

import copy
import itertools
import os
import re
import tempfile
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.cli import main
from proof.challenges.challenge import FEWER, SEEDS, Challenge, Score, judge
from proof.challenges.child import judge_apart
from proof.challenges.drawn_cases import STAGE
from proof.challenges.guard import RuleFailure, RuleGuard
from proof.challenges.source import rule_in
from proof.challenges.table import CHALLENGES
from proof.challenges.trial import CaseStage, CaseTrial
from tests.unit.proof import decision_rules, rules

FEW = 2  # storms of a stage, for `make test`
EARLY = 3  # stages of four: one of them breaks a naive rule
ANSWERS = rules.ANSWERS | decision_rules.ANSWERS


def naive(name: str, folder: Path) -> Path:
    file = folder / "my_rule.py"
    file.write_text(CHALLENGES[name].naive)
    return file


def test_every_challenge_has_an_answer() -> None:
    assert set(ANSWERS) == set(CHALLENGES)


@pytest.mark.parametrize("name", CHALLENGES)
def test_an_answer_survives(name: str) -> None:
    score = judge(CHALLENGES[name], ANSWERS[name], seeds=FEW)
    assert score.broken is None, score
    assert score.survived == dict.fromkeys(CHALLENGES[name].trial.stages, FEW)
    assert CHALLENGES[name].read in str(score)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", CHALLENGES)
def test_an_answer_survives_many_storms(name: str) -> None:
    score = judge(CHALLENGES[name], ANSWERS[name], first=100, seeds=100)
    assert score.broken is None, score


@pytest.mark.parametrize("name", CHALLENGES)
def test_a_naive_rule_is_broken(name: str, tmp_path: Path) -> None:
    rule = rule_in(naive(name, tmp_path), CHALLENGES[name])
    score = judge(CHALLENGES[name], rule, seeds=SEEDS, shrinks=False)
    assert score.broken is not None
    assert not score.broken.by_itself
    assert score.broken.stage in CHALLENGES[name].trial.stages[:EARLY]
    assert score.broken.text in str(score)


@pytest.mark.advanced
@pytest.mark.parametrize("rule", decision_rules.WRONG, ids=lambda rule: rule.__name__)
def test_a_wrong_decision_is_broken_in_its_stage_and_shrunk(rule: type) -> None:
    """What is left of the failure is a third of it at most, and breaks the same promise."""
    name, stage = decision_rules.WRONG[rule]
    score = judge(CHALLENGES[name], rule)
    assert score.broken is not None
    assert score.broken.stage == stage
    assert score.shrunk is not None
    assert 1 <= score.shrunk.size <= score.broken.size / FEWER
    assert score.shrunk.text in str(score)


@pytest.mark.advanced
@pytest.mark.parametrize("rule", rules.WRONG, ids=lambda rule: rule.__name__)
def test_a_wrong_rule_is_broken(rule: type) -> None:
    score = judge(CHALLENGES[rules.WRONG[rule]], rule, shrinks=False)
    assert score.broken is not None
    assert not score.broken.by_itself


def of_cases(name: str) -> Challenge:
    """A challenge without its storms."""
    trial = CHALLENGES[name].trial.of(STAGE)
    assert isinstance(trial, CaseTrial)
    stages = [trial._stages[STAGE]]
    return CHALLENGES[name]._replace(trial=CaseTrial(trial._check, trial.unit, stages, trial._size))


@pytest.mark.parametrize("rule", rules.OF_CASES, ids=lambda rule: rule.__name__)
def test_what_storms_miss_is_broken_by_a_case_that_can_be_read(rule: type) -> None:
    challenge = of_cases(rules.WRONG[rule])
    score = judge(challenge, rule)
    assert score.broken is not None
    assert not score.broken.by_itself
    assert any(score.broken.shown.startswith(f"{it}(") for it in challenge.methods)
    assert "In stage “drawn cases”, case " in str(score)


@pytest.mark.parametrize("name", [it for it in CHALLENGES if STAGE in CHALLENGES[it].trial.stages])
def test_an_answer_decides_each_drawn_case(name: str) -> None:
    assert judge(of_cases(name), ANSWERS[name], seeds=100).broken is None


def test_a_score_counts_storms_and_cases() -> None:
    challenge = CHALLENGES["truncate"]
    score = Score(challenge, dict.fromkeys(challenge.trial.stages, 2), None)
    assert str(score).startswith("It holds: 8 storms and 2 cases (calm 2, ")


def test_a_failure_is_shrunk_to_a_third_and_can_be_stepped_through(tmp_path: Path) -> None:
    challenge = CHALLENGES["truncate"]
    score = judge(challenge, rule_in(naive("truncate", tmp_path), challenge))
    assert score.broken is not None
    assert score.shrunk is not None
    assert 1 <= score.shrunk.size <= score.broken.size / FEWER
    trace = score.shrunk.trace()
    assert trace.violation is not None
    assert trace.violation.text == score.shrunk.text
    assert len(trace) > 10


# -- a rule that fails by itself -------------------------------------------------------------


class Divides:
    def may_join(self, end: int, high_watermark: int, epoch_start: int) -> bool:
        return end / (epoch_start - epoch_start) > 0


class Loops:
    def may_join(self, end: int, high_watermark: int, epoch_start: int) -> bool:
        while True:
            pass


class SaysNothing:
    def may_join(self, end: int, high_watermark: int, epoch_start: int) -> None:
        """It returns nothing."""


class CatchesEverything:
    def may_join(self, end: int, high_watermark: int, epoch_start: int) -> bool:
        while True:
            try:
                end += 1
            except Exception:
                return True


class Exits:
    def may_join(self, end: int, high_watermark: int, epoch_start: int) -> bool:
        raise SystemExit("enough")


class Interrupts:
    def may_join(self, end: int, high_watermark: int, epoch_start: int) -> bool:
        raise KeyboardInterrupt("enough")


class CommitsTheOngoing:
    def resume(self, state: str) -> str:
        return "commit" if state == "Ongoing" else rules.Resume().resume(state)


class OutOfPlace:
    def place(self, first: int, last: int, newer: bool, stored: object) -> int:
        return 99


class Undecided:
    def resume(self, state: str) -> str:
        return "perhaps"


class FarAhead:
    def high_watermark(self, end, ends, isr, joining, old):  # type: ignore[no-untyped-def]
        return 10**12


class CannotBeMade:
    def __init__(self) -> None:
        raise ValueError("not today")

    def cut(self, epochs, log_end, high_watermark, epoch, end):  # type: ignore[no-untyped-def]
        return end


class TellsALot:
    def high_watermark(self, end, ends, isr, joining, old):  # type: ignore[no-untyped-def]
        return list(range(1000))


class CannotBeTold(Exception):
    def __str__(self) -> str:
        raise ValueError("no")


class CannotTell:
    def high_watermark(self, end, ends, isr, joining, old):  # type: ignore[no-untyped-def]
        raise CannotBeTold


class CopiesFirst(rules.HighWatermark):
    def high_watermark(self, end: int, ends: Any, isr: Any, joining: Any, old: int) -> int:
        mine = copy.deepcopy(ends)
        mine[1] = end
        return super().high_watermark(end, mine, isr, joining, old)


def test_a_rule_may_copy_what_it_gets() -> None:
    assert judge(of_cases("high-watermark"), CopiesFirst).broken is None


class LooksTwice(decision_rules.Bisection):
    def slot(self, wanted: int, count: int, read: Callable[[int], int]) -> int:
        return super().slot(wanted, count, lambda slot: (read(slot), read(slot))[1])


def test_a_second_look_at_an_entry_costs_nothing() -> None:
    assert judge(CHALLENGES["index-lookup"], LooksTwice).broken is None


class ChangesWhatItGets:
    def high_watermark(self, end, ends, isr, joining, old):  # type: ignore[no-untyped-def]
        ends[1] = end
        return end


@pytest.mark.parametrize(
    ("name", "rule", "told"),
    [
        ("join-the-isr", Divides, r"may_join, line \d+: ZeroDivisionError: division by zero\."),
        (
            "join-the-isr",
            Loops,
            r"may_join, line \d+ does not come to an end: it has taken 300,000 .*",
        ),
        ("join-the-isr", SaysNothing, r"may_join returns None, and not True or False\."),
        (
            "join-the-isr",
            CatchesEverything,
            r"may_join, line \d+ does not come to an end: .* steps\.",
        ),
        ("join-the-isr", Exits, r"may_join, line \d+: SystemExit: enough\."),
        (
            "remember-batches",
            OutOfPlace,
            r"place returns 99, and not -1, -2 or a place in `stored`",
        ),
        ("join-the-isr", Interrupts, r"may_join, line \d+: KeyboardInterrupt: enough\."),
        ("two-phases", Undecided, r"resume returns 'perhaps', and not \"commit\", \"abort\" or"),
        (
            "two-phases",
            CommitsTheOngoing,
            r"resume returns 'commit': in Ongoing there is no decision that some partitions may",
        ),
        (
            "high-watermark",
            TellsALot,
            r"high_watermark returns \[0, 1, .*\.\.\.\], and not a whole ",
        ),
        ("high-watermark", CannotTell, r"high_watermark, line \d+: CannotBeTold: it has no text\."),
        ("high-watermark", ChangesWhatItGets, r"high_watermark, line \d+: TypeError: .*assignment"),
    ],
)
def test_a_rule_that_fails_ends_in_one_sentence(name: str, rule: type, told: str) -> None:
    score = judge(CHALLENGES[name], rule)
    assert score.broken is not None
    assert score.broken.by_itself
    assert re.fullmatch(told + ".*", score.broken.text), score.broken.text
    assert score.shrunk is None


def test_a_mark_that_no_log_reaches_breaks_a_promise_or_a_broker() -> None:
    score = judge(CHALLENGES["high-watermark"], FarAhead, shrinks=False)
    assert score.broken is not None
    assert score.broken.text


def test_a_rule_that_cannot_be_made_is_told_in_a_sentence() -> None:
    with pytest.raises(RuleFailure, match="CannotBeMade cannot be made: ValueError: not today"):
        judge(CHALLENGES["truncate"], CannotBeMade)


class CannotBeMadeAndExits(CannotBeMade):
    def __init__(self) -> None:
        raise SystemExit("not today")


def test_a_rule_that_exits_while_it_is_made_is_told_in_a_sentence() -> None:
    with pytest.raises(RuleFailure, match="cannot be made: SystemExit: not today"):
        judge(CHALLENGES["truncate"], CannotBeMadeAndExits)


def test_an_object_of_a_rule_is_refused() -> None:
    with pytest.raises(RuleFailure, match=r"run\(\) wants the class, not an object of it\."):
        judge_apart(CHALLENGES["join-the-isr"], Divides())  # type: ignore[arg-type]


class MovesLittleInAnotherDict:
    """The members without a partition are not in it."""

    def assign(self, members: Any, partitions: int, owned: Any) -> dict[str, list[int]]:
        found = defaultdict[str, list[int]](list)
        for member, mine in decision_rules.MoveLittle().assign(members, partitions, owned).items():
            for each in mine:
                found[member].append(each)
        return found


class GivesToNobody:
    def assign(self, members: Any, partitions: int, owned: Any) -> dict[str | None, list[int]]:
        return {None: [0], "x": [1]}


def test_a_member_without_a_partition_need_not_be_in_the_assignment() -> None:
    assert judge(CHALLENGES["move-little"], MovesLittleInAnotherDict).broken is None


def test_partitions_of_somebody_who_is_no_member_break_the_promise() -> None:
    broken = judge(CHALLENGES["move-little"], GivesToNobody, shrinks=False).broken
    assert broken is not None
    assert broken.text == "None is no member, and it has partitions."


def test_a_rule_without_its_method_is_refused() -> None:
    with pytest.raises(RuleFailure, match="Divides has no method cut"):
        judge(CHALLENGES["truncate"], Divides)


class SwallowsAll:
    def slot(self, wanted: int, count: int, read: object) -> int:
        while True:
            try:
                while True:  # so that each step lies in the try
                    wanted += 1
            except:  # noqa: E722
                wanted = 0


class CountsForEver:
    def slot(self, wanted: int, count: int, read: object) -> int:
        return sum(itertools.count()) + wanted


@pytest.mark.parametrize("rule", [SwallowsAll, CountsForEver], ids=lambda rule: rule.__name__)
def test_a_loop_that_nothing_stops_ends_with_its_process(rule: type) -> None:
    """Neither steps nor an exception end it; the sentence names its line."""
    line = r"The rule does not come to an end \(slot, line \d+\): small logs: case 1 of 12\."
    with pytest.raises(RuleFailure, match=line):
        judge_apart(CHALLENGES["index-lookup"], rule, attempt_s=5)


class EndsItsProcess:
    def slot(self, wanted: int, count: int, read: object) -> int:
        os._exit(0)


def test_a_rule_that_ends_its_process_is_told_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it had on the disk goes with it."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    told = r"The rule ends the process in which it is judged: small logs: case 1 of 12\."
    with pytest.raises(RuleFailure, match=told):
        judge_apart(CHALLENGES["index-lookup"], EndsItsProcess)
    assert not list(tmp_path.iterdir())


def test_an_error_of_the_engine_is_told_with_its_name() -> None:
    def check(guard: RuleGuard, case: object) -> None:
        raise KeyError("b")

    stages = [CaseStage("one", lambda chance, size: None)]
    challenge = CHALLENGES["move-little"]._replace(trial=CaseTrial(check, "member", stages))
    with pytest.raises(RuleFailure, match=r"The rule cannot be judged: KeyError: 'b'\."):
        judge_apart(challenge, decision_rules.MoveLittle)


def test_a_process_of_its_own_comes_to_the_same_score(tmp_path: Path) -> None:
    challenge, said = CHALLENGES["move-little"], list[object]()
    rule = rule_in(naive("move-little", tmp_path), challenge)
    assert judge_apart(challenge, rule, say=said.append) == judge(challenge, rule)
    assert [*map(str, said[:2])] == [
        "first assignment: case 1 of 12",
        "first assignment: case 2 of 12",
    ]
    with pytest.raises(RuleFailure, match="CannotBeMade cannot be made"):
        judge_apart(CHALLENGES["truncate"], CannotBeMade)


# -- the command -----------------------------------------------------------------------------


def test_the_command_judges_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = naive("last-stable-offset", tmp_path)
    assert main.main(["challenge", "last-stable-offset", str(file)]) == main.FAILED
    assert "In stage “calm”, storm 0" in capsys.readouterr().out
    file.write_text(
        "class Mine:\n    def last_stable(self, high_watermark, open, ended):\n"
        "        pending = [a for a, b in ended if b >= high_watermark]\n"
        "        return min([high_watermark, *open, *pending])\n"
    )
    assert main.main(["challenge", "last-stable-offset", str(file), "--seeds", "1"]) == 0
    assert "It holds: 4 storms" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("class Mine:\n    def cut(self\n", r"my_rule\.py, line 2: '\(' was never closed\."),
        ("x = 1 / 0\n", "ZeroDivisionError: division by zero"),
        ("class Mine:\n    pass\n", "has no class with cut; it needs one"),
        (
            "class A:\n    def cut(self): pass\nclass B:\n    def cut(self): pass\n",
            "has 2 classes with cut; it needs one",
        ),
        (
            "class Mine:\n    def cut(self): pass\nimport sys\nsys.exit()\n",
            r"my_rule\.py ends the program while it is loaded: take its sys\.exit\(\) out\.",
        ),
    ],
)
def test_a_file_without_a_rule_is_told_in_a_sentence(
    text: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "my_rule.py"
    file.write_text(text)
    assert main.main(["challenge", "truncate", str(file)]) == main.FAILED
    out = capsys.readouterr().out
    assert re.search(told, out), out
    assert out.count("\n") == 1


def test_a_class_with_two_names_is_one(tmp_path: Path) -> None:
    file = naive("truncate", tmp_path)
    file.write_text(file.read_text() + "\n\nBest = Mine\n")
    assert rule_in(file, CHALLENGES["truncate"]).__name__ == "Mine"


def test_a_chapter_says_what_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    for name, challenge in CHALLENGES.items():
        assert main.main(["challenge", name]) == 0
        told = capsys.readouterr().out
        assert challenge.title in told
        assert challenge.hints[0] in told
        assert challenge.hints[2] not in told
        assert all(f"{method}(self" in told for method in challenge.methods)
    assert main.main(["challenge", "--list"]) == 0
    assert capsys.readouterr().out.count("\n") == len(CHALLENGES)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "name a challenge"),
        (["trunkate"], "there is no challenge trunkate; did you mean truncate?"),
    ],
)
def test_wrong_usage_of_challenge_is_told(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main(["challenge", *arguments]) == main.USAGE
    assert told in capsys.readouterr().err
