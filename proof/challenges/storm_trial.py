"""A rule in every broker of a simulated cluster, under storms of faults.

    calm ──> slow network ──> crashes ──> everything      which kinds of faults a storm has
                                              └──> drawn cases, of a decision that storms miss

A rule is judged by the promises that hold for any cluster (proof.storms.invariants): the learner's
code is put into every broker, and everything else is the engine's. A storm in which a promise is
broken can be stepped through (Trace).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice

from proof.challenges.guard import RuleFailure, RuleGuard, RunOver
from proof.challenges.trial import (
    SHRINK_FROM,
    SHRINK_MOST,
    SHRINK_SEEDS,
    CaseTrial,
    Failure,
    Put,
    made,
)
from proof.storms.defects import Defect
from proof.storms.invariants import Violation
from proof.storms.storm import KINDS
from proof.storms.trace import Recipe, Trace

SECONDS = 15.0  # of a storm
CALM = "calm"
OTHERWISE = (
    "The rule did otherwise when it was run again: it keeps a state outside its object, or draws "
    "random numbers."
)
STAGES: Mapping[str, Sequence[str]] = {  # the kinds of faults
    CALM: (),
    "slow network": ("slow", "scatter", "lose"),
    "crashes": ("kill", "power", "pause", "stop", "expire"),
    "everything": KINDS,
}


class StormTrial:
    noun, unit = "storm", "fault"

    def __init__(
        self,
        put: Put,  # a rule into a broker
        *,
        in_transactions: bool = False,
        with_groups: bool = False,
        known: Sequence[int] = (),  # storms that break what is nearly right: they come first
        small: Sequence[int] = (),  # of few faults, which break a rule: a failure is shrunk to them
        cases: CaseTrial | None = None,  # after the storms
    ) -> None:
        self.put = put
        self.in_transactions, self._with_groups = in_transactions, with_groups
        self._known, self._small, self._cases = known, small, cases

    @property
    def stages(self) -> Sequence[str]:
        return [*STAGES, *(self._cases.stages if self._cases else ())]

    def of(self, stage: str) -> "StormTrial | CaseTrial":
        return self if self._cases is None or stage in STAGES else self._cases

    def seeds(self, stage: str, first: int, count: int) -> list[int]:
        known = self._known if stage != CALM else ()
        return [*known, *(self._seed(number) for number in range(first, first + count))][:count]

    def smaller(self, most: int) -> Iterable[tuple[int, int]]:
        sizes = range(1, most + 1)
        yield from ((size, seed) for size in sizes for seed in self._small)
        seeds = range(SHRINK_FROM, SHRINK_FROM + SHRINK_SEEDS)
        others = ((size, self._seed(number)) for size in sizes for number in seeds)
        yield from islice(others, SHRINK_MOST)

    def _seed(self, number: int) -> int:
        """Only every third seed has a group of consumers."""
        return 3 * number + 1 if self._with_groups else number

    def attempt(self, rule: type, stage: str, seed: int, most: int | None = None) -> Failure | None:
        guard = made(rule)
        run = self._recipe(guard, stage, seed, most).run()
        text = ""
        try:
            run.go()
        except Violation as violation:
            text = violation.text
        except RunOver:
            pass
        except Exception as error:  # a broker's, about something that the rule has returned
            guard.failure = RuleFailure(f"A broker fails on it: {type(error).__name__}: {error}.")
        if guard.failure is not None:
            run.abandon()
            return Failure(str(guard.failure), run.storm.faults, by_itself=True)
        return Failure(text, run.storm.faults) if text else None

    def trace(self, rule: type, stage: str, seed: int, most: int | None, *, broken: str) -> Trace:
        """A storm that breaks this promise, to be stepped through; RuleFailure if it ends otherwise
        when it is repeated."""
        recipe = self._recipe(made(rule), stage, seed, most)
        try:
            trace = RuleTrace(recipe, rule, self._defect)
        except Exception as error:
            raise RuleFailure(OTHERWISE) from error
        if trace.violation is None or trace.violation.text != broken:
            raise RuleFailure(OTHERWISE)
        return trace

    def _recipe(self, guard: RuleGuard, stage: str, seed: int, most: int | None) -> Recipe:
        return Recipe(
            seed=seed,
            seconds=SECONDS,
            planted=self._defect(guard),
            kinds=tuple(STAGES[stage]),
            most=most,
        )

    def _defect(self, guard: RuleGuard) -> Defect:
        return Defect(self.put(guard), in_transactions=self.in_transactions)


class RuleTrace(Trace):
    """A run in which a new object of the rule takes part. RuleFailure if it fails by itself."""

    def __init__(self, recipe: Recipe, rule: type, plant: Callable[[RuleGuard], Defect]) -> None:
        self._rule, self._plant, guard = rule, plant, made(rule)
        try:
            super().__init__(recipe._replace(planted=plant(guard)))
        except RunOver:
            assert guard.failure is not None
            raise guard.failure from None

    def fork(self, at: int, seed: int) -> Trace:
        return RuleTrace(self.recipe.forked(at, seed), self._rule, self._plant)
