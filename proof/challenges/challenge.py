"""A challenge: a rule of Kafka's that a learner writes, and its judgement.

    calm ──> slow network ──> crashes ──> everything      a stage is some attempts, by their seeds
                                 x
                                 └──> the first one that breaks a promise: shrunk to the smallest
                                      that still does, which can be looked at

What an attempt is depends on the rule (trial.py): a storm for what brokers say to each other, a log
or a group that is drawn by a seed for what one part decides alone.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple

from proof.challenges.guard import RuleFailure
from proof.challenges.storm_trial import StormTrial
from proof.challenges.trial import RuleTrial
from proof.storms.trace import Trace

SEEDS = 12  # attempts of a stage
FEWER = 3  # a shrunk failure has at most a third of the size


class AttemptStart(NamedTuple):
    """One more attempt begins; as a text: calm: storm 3 of 12."""

    stage: str
    number: int
    attempts: int  # of the stage
    noun: str

    def __str__(self) -> str:
        return f"{self.stage}: {self.noun} {self.number} of {self.attempts}"


Say = Callable[[AttemptStart | str], object]


class Challenge(NamedTuple):
    name: str
    title: str
    idea: str
    interface: type  # with the methods of a rule, and what they mean
    trial: RuleTrial
    naive: str  # a rule that passes a calm run: its text
    hints: tuple[str, str, str]
    read: str  # the engine's own

    @property
    def methods(self) -> list[str]:
        return [name for name, it in vars(self.interface).items() if _is_method(name, it)]


class Broken(NamedTuple):
    """An attempt that a rule did not survive."""

    challenge: Challenge
    rule: type
    stage: str
    seed: int
    most: int | None  # the size that was allowed; None: any
    text: str  # what was promised, and what happened
    size: int  # of what happened until then: faults, batches ...
    by_itself: bool  # an error of the rule: no promise was broken yet
    shown: str  # the case, for a reader; "": a storm, see `trace`

    def trace(self) -> Trace:
        """The storm, to be stepped through. RuleFailure if the rule failed by itself, or if the run
        ends otherwise when it is repeated."""
        trial = self.challenge.trial
        if self.by_itself or not isinstance(trial, StormTrial):
            raise RuleFailure(self.text)
        return trial.trace(self.rule, self.stage, self.seed, self.most, broken=self.text)

    def __str__(self) -> str:
        trial = self.challenge.trial.of(self.stage)
        how = ", with" if self.shown else ", after"
        sized = "" if self.by_itself else f"{how} {counted(self.size, trial.unit)}"
        return f"In stage “{self.stage}”, {trial.noun} {self.seed}{sized}: {self.text}"


class Score(NamedTuple):
    """How far a rule came."""

    challenge: Challenge
    survived: Mapping[str, int]  # attempts, by stage
    broken: Broken | None  # the first one; None: the rule holds
    shrunk: Broken | None = None  # the smallest one that was found

    @property
    def attempts(self) -> int:
        return sum(self.survived.values())

    def __str__(self) -> str:
        if self.broken is not None:
            return str(self.shrunk or self.broken)
        stages = ", ".join(f"{name} {count}" for name, count in self.survived.items())
        nouns = Counter[str]()
        for name, count in self.survived.items():
            nouns[self.challenge.trial.of(name).noun] += count
        total = " and ".join(counted(count, noun) for noun, count in nouns.items())
        return f"It holds: {total} ({stages}). Now read {self.challenge.read}."


def judge(
    challenge: Challenge,
    rule: type,
    *,
    first: int = 0,
    seeds: int = SEEDS,
    say: Say = lambda text: None,
    shrinks: bool = True,
) -> Score:
    """Stage by stage, until a promise is broken; `shrinks`: then look for a smaller failure."""
    check_methods(challenge, rule)
    survived: dict[str, int] = {}
    for stage in challenge.trial.stages:
        survived[stage], trial = 0, challenge.trial.of(stage)
        for number, seed in enumerate(trial.seeds(stage, first, seeds), 1):
            say(AttemptStart(stage, number, seeds, trial.noun))
            broken = _attempt(challenge, rule, stage, seed)
            if broken is not None:
                return Score(challenge, survived, broken, shrink(broken, say) if shrinks else None)
            survived[stage] += 1
    return Score(challenge, survived, None)


def check_methods(challenge: Challenge, rule: object) -> None:
    if not isinstance(rule, type):
        raise RuleFailure("run() wants the class, not an object of it.")
    missing = [name for name in challenge.methods if not callable(getattr(rule, name, None))]
    if missing:
        raise RuleFailure(f"{rule.__name__} has no method {missing[0]}.")


def shrink(broken: Broken, say: Say = lambda text: None) -> Broken | None:
    """A failure of the same stage with at most a third of the size; None: none was found."""
    if broken.by_itself:
        return None
    trial = broken.challenge.trial.of(broken.stage)
    for most, seed in trial.smaller(broken.size // FEWER):
        say(f"a promise is broken: with {counted(most, trial.unit)}, too?")
        found = _attempt(broken.challenge, broken.rule, broken.stage, seed, most)
        if found is not None and not found.by_itself:
            return found
    return None


def _attempt(
    challenge: Challenge, rule: type, stage: str, seed: int, most: int | None = None
) -> Broken | None:
    """None: the rule has survived."""
    failure = challenge.trial.of(stage).attempt(rule, stage, seed, most)
    if failure is None:
        return None
    text, size, by_itself, shown = failure
    return Broken(challenge, rule, stage, seed, most, text, size, by_itself, shown)


def counted(count: int, noun: str) -> str:
    """3 faults, 1 batch, 2 batches."""
    many = f"{noun}es" if noun.endswith("ch") else f"{noun}s"
    return f"{count} {noun if count == 1 else many}"


def _is_method(name: str, it: object) -> bool:
    return callable(it) and not name.startswith("_")
