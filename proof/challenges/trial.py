"""What a rule goes through: stages of rising difficulty, each a number of attempts by their seeds.

    StormTrial      a simulated cluster under storms of faults           size: faults
    CaseTrial       the engine's own code on cases drawn by a seed       size: batches, members ...

    attempt(rule, stage, seed) ──> None: survived, or Failure: what was promised, and what happened

A failure has a size, and an attempt may be limited to a smaller one. So a failure can be shrunk.
"""

from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any, NamedTuple, Protocol

from engine.broker.rules import Rules
from proof.challenges.guard import RuleFailure, RuleGuard, RunOver

Put = Callable[[RuleGuard], Rules]

SHRINK_SEEDS = 25  # that are tried for each size, when a failure is shrunk
SHRINK_MOST = 60  # attempts in all, of storms: each takes a while
SHRINK_FROM = 1000  # the first of these seeds: no stage has it
CASE_SIZE = 40  # of a case, before a failure is shrunk


class Failure(NamedTuple):
    """Why a rule did not survive an attempt."""

    text: str  # what was promised, and what happened
    size: int  # of what happened until then
    by_itself: bool = False  # an error of the rule: no promise was broken yet
    shown: str = ""  # the case, for a reader; a storm has a trace instead


class StageTrial(Protocol):
    """What the attempts of a stage have in common."""

    noun: str  # of one attempt
    unit: str  # of a failure's size

    def seeds(self, stage: str, first: int, count: int) -> list[int]:
        """Of the attempts of a stage."""
        ...

    def smaller(self, most: int) -> Iterable[tuple[int, int]]:
        """The sizes and seeds to try for a failure of at most this size, the smallest first."""
        ...

    def attempt(
        self, rule: type, stage: str, seed: int, most: int | None = None
    ) -> Failure | None: ...


class RuleTrial(Protocol):
    @property
    def put(self) -> Put | None:
        """What puts the rule into a broker; None: no broker has it, only one part or a client."""
        ...

    @property
    def stages(self) -> Sequence[str]:
        """Their names, the easiest first."""
        ...

    def of(self, stage: str) -> StageTrial:
        """What makes the attempts of this stage."""
        ...


class PromiseBroken(Exception):
    """A case has come out otherwise than it must, in one sentence."""


class CaseStage(NamedTuple):
    name: str
    draw: Callable[[Random, int], Any]  # a case of at most this size
    draws: int = 1  # of an attempt; the first one that fails is shown


class CaseTrial:
    """`check` lets the engine work on a case with the rule; it raises PromiseBroken."""

    noun = "case"

    def __init__(
        self,
        check: Callable[[RuleGuard, Any], None],
        unit: str,
        stages: Sequence[CaseStage],
        size: int = CASE_SIZE,
        put: Put | None = None,  # a rule into a broker, where a broker has it
    ) -> None:
        self.unit, self._check, self._size, self.put = unit, check, size, put
        self._stages = {stage.name: stage for stage in stages}

    @property
    def stages(self) -> Sequence[str]:
        return [*self._stages]

    def of(self, stage: str) -> "CaseTrial":
        return self

    def seeds(self, stage: str, first: int, count: int) -> list[int]:
        return [*range(first, first + count)]

    def smaller(self, most: int) -> Iterable[tuple[int, int]]:
        seeds = range(SHRINK_FROM, SHRINK_FROM + SHRINK_SEEDS)
        return ((size, seed) for size in range(1, most + 1) for seed in seeds)

    def attempt(self, rule: type, stage: str, seed: int, most: int | None = None) -> Failure | None:
        guard, size = made(rule), self._size if most is None else most
        chance, (_, draw, draws) = Random(f"{stage} {seed}"), self._stages[stage]
        for case in (draw(chance, size) for _ in range(draws)):
            try:
                self._check(guard, case)
            except PromiseBroken as broken:
                return Failure(str(broken), case.size, shown=str(case))
            except RunOver:
                assert guard.failure is not None
                return Failure(str(guard.failure), case.size, by_itself=True, shown=str(case))
        return None


def made(rule: type) -> RuleGuard:
    """A guard around a new object of the learner's class; RuleFailure if it cannot be made."""
    try:
        return RuleGuard(rule())
    except BaseException as error:  # SystemExit and KeyboardInterrupt are the rule's own, too
        text = f"{rule.__name__} cannot be made: {type(error).__name__}: {error}."
        raise RuleFailure(text) from None
