"""The pictures of the challenges: a chapter, the judgement of a rule, the board."""

import json
from pathlib import Path
from typing import Any

import pytest

from engine.errors import ApiException
from proof.challenges.challenge import SEEDS, AttemptStart, Broken, Score, counted, judge
from proof.challenges.table import CHALLENGES
from tests.unit.proof.decision_rules import Bisection, KeepsEverything, MoveLittle
from tests.unit.proof.rules import RefusesAll, Truncate
from widgets.challenge import chapter
from widgets.challenge.board import ChallengeBoard
from widgets.challenge.chapter import Chapter
from widgets.challenge.run import ChallengeRun
from widgets.progress.record import ProgressFile, TaskPlace
from widgets.stage import SceneWidget


class CutsAtItsMark:
    def cut(self, epochs: object, log_end: int, high_watermark: int, epoch: int, end: int) -> int:
        return high_watermark


class DividesByNothing:
    def assign(self, members: object, partitions: int, owned: object) -> dict[str, list[int]]:
        return {"a": [partitions // 0]}


def words(picture: SceneWidget) -> str:
    assert picture.picture is not None
    return " ".join(it.content for it in picture.picture.all() if it.kind == "text")


def labels(picture: SceneWidget) -> list[str]:
    assert picture.picture is not None
    return [it.label for it in picture.picture.all() if it.label]


@pytest.mark.parametrize("name", CHALLENGES)
def test_a_chapter_says_what_a_rule_gets(name: str) -> None:
    shown = Chapter(name)
    for method in shown.challenge.methods:
        assert f"{method}(" in words(shown)
    assert shown.challenge.hints[0].split()[0] not in labels(shown)
    shown.close()


def test_hints_come_one_after_the_other() -> None:
    shown = Chapter("move-little")
    for place, hint in enumerate(shown.challenge.hints, 1):
        assert not shown.controls[0].get("off")
        shown.do("hint")
        assert words(shown).count("Hint: ") == place
        assert shown.said == hint
    assert shown.controls[0]["off"]
    shown.close()


def test_an_unknown_challenge_is_told() -> None:
    with pytest.raises(ApiException, match="there is no challenge quorum: index-lookup"):
        Chapter("quorum")


@pytest.mark.parametrize(
    ("seeds", "told", "holds"),
    [
        (SEEDS, "It holds. Now read engine/assignors/sticky.py", True),
        (3, "That was 3 attempts of each stage: 12 count.", False),
    ],
)
def test_a_rule_that_holds_is_told_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seeds: int, told: str, holds: bool
) -> None:
    """It is done only after all attempts."""
    path = tmp_path / "progress.json"
    monkeypatch.setenv("BROKERLAB_PROGRESS", str(path))
    monkeypatch.setattr(chapter, "running_cell", lambda: TaskPlace("challenges", "rule"))
    shown = Chapter("move-little").run(MoveLittle, seeds=seeds)
    assert shown is not None
    assert shown.holds
    assert told in words(shown)
    assert labels(shown)[0] == f"first assignment: {seeds} of {seeds} survived"
    kept = json.loads(path.read_text())["labs"]["challenges"]["move-little"]
    assert (kept["stage"], kept["survived"], kept["holds"]) == (4, 4 * seeds, holds)


def test_a_rule_of_another_challenge_is_told_where_it_belongs() -> None:
    """After all cells have run, `chapter` is the last one."""
    shown = Chapter("truncate").run(MoveLittle)
    assert shown is not None
    assert "and MoveLittle is a rule for" in shown.failure
    assert 'Run the cell with Chapter("move-little") first' in shown.failure


def test_a_judgement_that_is_interrupted_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*its: Any, **more: Any) -> Score:
        raise KeyboardInterrupt

    made: list[ChallengeRun] = []
    monkeypatch.setattr(chapter, "judge_apart", interrupted)
    monkeypatch.setattr(
        chapter, "ChallengeRun", lambda *its: made.append(ChallengeRun(*its)) or made[-1]
    )
    with pytest.raises(KeyboardInterrupt):
        Chapter("move-little").run(MoveLittle)
    assert "It was stopped. Run the cell again." in words(made[0])


def test_a_broken_case_stands_in_words() -> None:
    challenge = CHALLENGES["compact"]
    shown = ChallengeRun(challenge)
    shown.done(judge(challenge, KeepsEverything))
    assert shown.film is None
    assert "is still there, although" in words(shown)
    assert "Written, and then compacted:" in words(shown)
    assert "this is a shorter one" in words(shown)
    assert labels(shown)[0] == "small logs: 0 of 12 survived, then it broke"


def test_a_case_after_the_storms_is_told_without_a_run() -> None:
    challenge = CHALLENGES["remember-batches"]
    *storms, stage = challenge.trial.stages
    failure = challenge.trial.of(stage).attempt(RefusesAll, stage, seed=0)
    assert failure is not None
    broken = Broken(challenge, RefusesAll, stage, 0, None, *failure)
    shown = ChallengeRun(challenge)
    shown.done(Score(challenge, {**dict.fromkeys(storms, 12), stage: 0}, broken))
    assert shown.film is None
    assert "Broken: place returns -2: this batch" in words(shown)
    assert "place(first=" in words(shown)
    size = counted(failure.size, "batch")
    assert f"In stage “drawn cases”, case 0, with {size}." in words(shown)


def test_a_broken_storm_opens_where_the_promise_broke() -> None:
    challenge = CHALLENGES["truncate"]
    shown = ChallengeRun(challenge)
    shown.done(judge(challenge, CutsAtItsMark))
    assert shown.film is not None
    assert shown.score is not None
    assert shown.score.shrunk is not None
    violation = shown.score.shrunk.trace().violation
    assert violation is not None
    assert violation.text in words(shown)
    assert "BROKEN PROMISE" in json.dumps(shown.film.scene) + words(shown)
    said = [control["act"] for control in shown.controls]
    assert {"back", "forward", "fork"} <= set(said)
    shown.do("back")
    assert shown.trouble == ""
    assert shown.film.head is not None
    shown.close()


class CutsAtItsMarkOnce:
    """A state of the class, which outlives its objects."""

    is_again = False

    def cut(self, epochs: Any, log_end: int, high_watermark: int, epoch: int, end: int) -> int:
        if self.is_again:
            return Truncate().cut(epochs, log_end, high_watermark, epoch, end)
        return high_watermark


class CutsAtItsMarkAndThenDivides(CutsAtItsMarkOnce):
    def cut(self, epochs: Any, log_end: int, high_watermark: int, epoch: int, end: int) -> int:
        return 1 // 0 if self.is_again else high_watermark


@pytest.mark.parametrize("rule", [CutsAtItsMarkOnce, CutsAtItsMarkAndThenDivides])
def test_a_storm_that_does_not_break_again_is_told_and_kept(
    rule: type[CutsAtItsMarkOnce], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its judgement stands, and there is no run to step through."""
    score = judge(CHALLENGES["truncate"], rule)
    monkeypatch.setattr(rule, "is_again", True)
    monkeypatch.setattr(chapter, "judge_apart", lambda *its, **named: score)
    monkeypatch.setenv("BROKERLAB_PROGRESS", str(tmp_path / "progress.json"))
    monkeypatch.setattr(chapter, "running_cell", lambda: TaskPlace("challenges", "rule"))
    shown = Chapter("truncate").run(rule)
    assert shown is not None
    assert shown.film is None
    assert "The rule did otherwise when it was run again: it keeps a state" in words(shown)
    assert "Broken: " in words(shown)
    kept = ProgressFile(tmp_path / "progress.json").read()["labs"]["challenges"]["truncate"]
    assert not kept["holds"]


def test_a_fork_in_which_the_rule_fails_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The picture stays; the kernel goes on."""
    challenge, rule = CHALLENGES["truncate"], CutsAtItsMarkAndThenDivides
    shown = ChallengeRun(challenge)
    shown.done(judge(challenge, rule, shrinks=False))
    monkeypatch.setattr(rule, "is_again", True)
    shown.do("seek", 0.1)
    shown.do("fork")
    assert "cut, line" in shown.trouble
    assert "ZeroDivisionError" in shown.trouble
    assert shown.film is not None
    shown.close()


def test_a_judgement_of_no_attempts_is_refused() -> None:
    with pytest.raises(ApiException, match="seeds=0: a stage has 1 attempt or more"):
        Chapter("move-little").run(MoveLittle, seeds=0)


def test_a_rule_that_fails_by_itself_is_one_sentence() -> None:
    shown = Chapter("move-little").run(DividesByNothing)
    assert shown is not None
    assert "ZeroDivisionError" in words(shown)
    assert "the rule itself has failed" in words(shown)
    assert shown.film is None


def test_attempts_are_told_while_they_go_on() -> None:
    shown = ChallengeRun(CHALLENGES["compact"], 4)
    shown.progress(AttemptStart("small logs", 3, 4, "case"))
    assert shown.about == "small logs: case 3 of 4"
    assert labels(shown)[0] == "small logs: 2 of 4 survived"
    shown.progress(AttemptStart("small logs", 4, 4, "case"))
    shown.progress(AttemptStart("many rounds", 1, 4, "case"))
    assert labels(shown)[:2] == ["small logs: 4 of 4 survived", "many rounds: 0 of 4 survived"]
    shown.failed("There is no file.")
    assert "There is no file." in words(shown)


def test_the_board_keeps_the_best(tmp_path: Path) -> None:
    file = ProgressFile(tmp_path / "progress.json")
    file.judged("truncate", 2, 30, holds=False)
    file.judged("truncate", 1, 13, holds=False)
    file.judged("index-lookup", 4, 48, holds=True)
    board = ChallengeBoard(file.path)
    assert board.about == f"1 of {len(CHALLENGES)} hold"
    assert words(board).count("✓") == 6
    assert "30 survived" in words(board)
    assert any(it.endswith("crashes: broken here") for it in labels(board))
    board.close()
    file.judged("truncate", 3, 12, holds=False)  # one stage more, of fewer attempts
    file.judged("index-lookup", 2, 400, holds=False)
    kept = file.read()["labs"]["challenges"]
    assert (kept["truncate"]["stage"], kept["truncate"]["survived"]) == (3, 12)
    assert kept["index-lookup"]["holds"]
    assert judge(CHALLENGES["index-lookup"], Bisection, seeds=1).broken is None
