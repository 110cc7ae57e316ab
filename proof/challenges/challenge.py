"""A challenge: a rule of Kafka's that a learner writes, and its judgement by storms.

    calm ──> slow network ──> crashes ──> everything      a stage is some storms, from their seeds
                                 x
                                 └──> the first storm that breaks a promise: shrunk to a run with
                                      few faults, which can be stepped through (Trace)

A rule is judged by the promises that hold for any cluster (proof.storms.invariants): the learner's
code is put into every broker of a simulated one, and everything else is the engine's.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from engine.broker.rules import Rules
from proof.challenges.guard import RuleFailure, RuleGuard, RunOver
from proof.storms.defects import Defect
from proof.storms.invariants import Violation
from proof.storms.storm import KINDS
from proof.storms.trace import Recipe, Trace

SEEDS = 12  # storms of a stage
SECONDS = 15.0  # of a storm
TRIES = 25  # seeds for each number of faults, when a failure is shrunk
FEWER = 3  # a shrunk run has at most a third of the faults
SLOW = ("slow", "scatter", "lose")
CRASHES = ("kill", "power", "pause", "stop", "expire")


class StormStage(NamedTuple):
    name: str
    kinds: Sequence[str]  # of faults


STAGES = (
    StormStage("calm", ()),
    StormStage("slow network", SLOW),
    StormStage("crashes", CRASHES),
    StormStage("everything", KINDS),
)


class Challenge(NamedTuple):
    name: str
    title: str
    idea: str
    interface: type  # with the methods of a rule, and what they mean
    put: Callable[[RuleGuard], Rules]  # a rule into a broker
    naive: str  # a rule that passes a calm run: its text
    hints: tuple[str, str, str]
    read: str  # the engine's own
    in_transactions: bool = False
    with_groups: bool = False
    known: tuple[int, ...] = ()  # storms that break what is nearly right: they come first

    @property
    def methods(self) -> list[str]:
        return [name for name, it in vars(self.interface).items() if _is_method(name, it)]

    def seed(self, number: int, first: int) -> int:
        """The seed of a storm. Only every third seed has a group of consumers."""
        return 3 * (first + number) + 1 if self.with_groups else first + number

    def storms(self, stage: StormStage, first: int, count: int) -> list[int]:
        """The seeds of a stage's storms."""
        known = self.known if stage.kinds else ()
        return [*known, *(self.seed(number, first) for number in range(count))][:count]

    def recipe(
        self, rule: type, seed: int, stage: StormStage, **how: Any
    ) -> tuple[RuleGuard, Recipe]:
        try:
            guard = RuleGuard(rule())
        except Exception as error:
            text = f"{rule.__name__} cannot be made: {type(error).__name__}: {error}."
            raise RuleFailure(text) from None
        defect = Defect(self.put(guard), in_transactions=self.in_transactions)
        how = {"seconds": SECONDS} | how
        return guard, Recipe(seed=seed, planted=defect, kinds=tuple(stage.kinds), **how)


class Broken(NamedTuple):
    """A storm in which a rule failed."""

    challenge: Challenge
    rule: type
    stage: StormStage
    recipe: Recipe
    text: str  # what was promised, and what happened
    faults: int  # until then
    by_itself: bool  # an error of the rule: no promise was broken yet

    def trace(self) -> Trace:
        """The run, to be stepped through; of a rule that failed by itself there is none."""
        if self.by_itself:
            raise RuleFailure(self.text)
        _, recipe = self.challenge.recipe(
            *(self.rule, self.recipe.seed, self.stage),
            seconds=self.recipe.seconds,
            most=self.recipe.most,
        )
        return Trace(recipe)


class Score(NamedTuple):
    """How far a rule came."""

    challenge: Challenge
    survived: Mapping[str, int]  # storms, by stage
    broken: Broken | None  # the first one; None: the rule holds
    shrunk: Broken | None = None  # the shortest run that was found

    @property
    def storms(self) -> int:
        return sum(self.survived.values())

    def __str__(self) -> str:
        stages = ", ".join(f"{name} {count}" for name, count in self.survived.items())
        if self.broken is None:
            return f"It holds: {self.storms} storms ({stages}). Now read {self.challenge.read}."
        short = self.shrunk or self.broken
        where = f"In stage “{self.broken.stage.name}”, storm {short.recipe.seed}"
        faults = f", after {short.faults} fault{'s' * (short.faults != 1)}"
        return f"{where}{'' if short.by_itself else faults}: {short.text}"


def judge(
    challenge: Challenge,
    rule: type,
    *,
    first: int = 0,
    seeds: int = SEEDS,
    say: Callable[[str], object] = lambda text: None,
    shrinks: bool = True,
) -> Score:
    """StormStage by stage, until a promise is broken; `shrinks`: then look for a shorter run."""
    if missing := [name for name in challenge.methods if not callable(getattr(rule, name, None))]:
        raise RuleFailure(f"{rule.__name__} has no method {missing[0]}.")
    survived: dict[str, int] = {}
    for stage in STAGES:
        survived[stage.name] = 0
        for number, seed in enumerate(challenge.storms(stage, first, seeds), 1):
            say(f"{stage.name}: storm {number} of {seeds}")
            broken = _storm(challenge, rule, stage, seed)
            if broken is not None:
                if not shrinks:
                    return Score(challenge, survived, broken)
                say("a promise is broken: looking for a shorter run")
                return Score(challenge, survived, broken, shrink(broken))
            survived[stage.name] += 1
    return Score(challenge, survived, None)


def _storm(
    challenge: Challenge, rule: type, stage: StormStage, seed: int, **how: Any
) -> Broken | None:
    """None: the rule has survived."""
    guard, recipe = challenge.recipe(rule, seed, stage, **how)
    run = recipe.run()
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
        for node in run.world.nodes.values():
            if node.is_up:
                node.kill()  # its unfinished tasks are nobody's concern
        text = str(guard.failure)
    if not text:
        return None
    by_itself = guard.failure is not None
    return Broken(challenge, rule, stage, recipe, text, run.storm.faults, by_itself)


def shrink(broken: Broken) -> Broken | None:
    """A run with fewer faults, at most a third, that breaks the same; None: none was found."""
    if broken.by_itself or broken.faults < FEWER:
        return None
    for most in range(1, broken.faults // FEWER + 1):
        for seed in _seeds(broken.challenge):
            found = _storm(*(broken.challenge, broken.rule, broken.stage, seed), most=most)
            if found is not None and not found.by_itself:
                return found
    return None


def _seeds(challenge: Challenge) -> Iterator[int]:
    return (challenge.seed(number, 1000) for number in range(TRIES))


def _is_method(name: str, it: object) -> bool:
    return callable(it) and not name.startswith("_")
