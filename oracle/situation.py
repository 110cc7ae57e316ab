"""A kind of question: a situation, what happens to it, and the answers that one can believe in.

    class Survivors(Situation):
        __init__   draws its numbers: how many records, who lags, who is killed
        facts      what a learner is told; `table` has the replicas
        answers    each with the belief of whoever chooses it, and the outcome that it stands for
        outcome    runs it, and returns what came out
        reason     one sentence on an outcome

    ask(Survivors, "survivors", seed) ──> OracleQuestion: options in random order, one is right

Invariant: a question is asked only if `outcome` is the same with every timing, and is the outcome
of exactly one answer. A situation that depends on luck is drawn anew.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from random import Random
from typing import ClassVar, NamedTuple

from engine.table import Table

TIMINGS = (0, 1, 2)  # of the same order of events; see cluster_situation
DRAWS = 50  # until a situation does not depend on luck
FEWEST = 3  # answers that differ


class Answer(NamedTuple):
    text: str
    outcome: Hashable  # of a run in which this answer is right
    belief: str = ""  # of somebody who chooses it, in one sentence


class Situation:
    """What one question is about. Its numbers are drawn when it is made."""

    level: ClassVar[int]  # 1 to 3
    idea: ClassVar[str]  # for the score
    section: ClassVar[str]  # where a lab shows it: the lab's name, and the cell of its heading
    happens: str
    asks: str

    def __init__(self, chance: Random) -> None:
        self.chance = chance

    def facts(self) -> list[str]:
        return []

    def table(self) -> Table | None:
        return None

    def answers(self) -> Sequence[Answer]:
        raise AssertionError("each kind has its answers")

    def outcome(self, timing: int) -> Hashable:
        raise AssertionError("each kind runs its situation")

    def reason(self, outcome: Hashable) -> str:
        raise AssertionError("each kind says why")


class OracleQuestion(NamedTuple):
    """As it is asked."""

    kind: str
    seed: int
    draw: int  # of the situation; the ones before depended on luck
    level: int
    idea: str
    section: str
    facts: list[str]
    table: Table | None
    happens: str
    asks: str
    options: list[Answer]
    right: int  # the place of the right answer in `options`
    why: str

    def situation(self, kinds: Mapping[str, Callable[[Random], Situation]]) -> Situation:
        """The situation once more, to look at its run."""
        return kinds[self.kind](_chance(self.kind, self.seed, self.draw))

    def verdict(self, choice: int) -> str:
        """The sentences for somebody who chose the option at this place; -1 is no answer."""
        right = self.options[self.right].text
        if choice == self.right:
            return f"Right. {self.why}"
        if choice < 0:
            return f"It is: {right}. {self.why}"
        return f"No: {right}. {self.options[choice].belief} {self.why}"


def ask(kind: Callable[[Random], Situation], name: str, seed: int) -> OracleQuestion:
    """The question of this kind and seed, always the same."""
    for draw in range(DRAWS):
        chance = _chance(name, seed, draw)
        situation = kind(chance)
        answers = list(situation.answers())
        outcomes = {situation.outcome(timing) for timing in TIMINGS}
        if len(outcomes) != 1:
            continue
        outcome = outcomes.pop()
        right = [answer for answer in answers if answer.outcome == outcome]
        outcomes = {answer.outcome for answer in answers}
        if len(right) != 1 or len(outcomes) != len(answers) or len(answers) < FEWEST:
            continue
        chance.shuffle(answers)
        return OracleQuestion(
            *(name, seed, draw, situation.level, situation.idea, situation.section),
            *(situation.facts(), situation.table(), situation.happens, situation.asks),
            *(answers, answers.index(right[0]), situation.reason(outcome)),
        )
    raise AssertionError(f"{name} {seed}: {DRAWS} situations, and luck decides each of them")


def _chance(name: str, seed: int, draw: int) -> Random:
    return Random(f"{name} {seed} {draw}")


def numbers(right: int, *others: int, count: int = 4) -> list[int]:
    """The right number and plausible wrong ones, all different and none below zero."""
    found = list(dict.fromkeys(number for number in (right, *others) if number >= 0))
    spare = 0
    while len(found) < count:
        if spare not in found:
            found.append(spare)
        spare += 1
    return found[:count]


def around(chance: Random, right: int, *others: int, count: int = 4) -> list[int]:
    """The right number among others, so that its rank tells nothing: plausible ones come first."""
    rank = chance.randrange(count)
    below = [*(number for number in others if 0 <= number < right), *range(right - 1, -1, -1)]
    above = [*(number for number in others if number > right), *range(right + 1, right + count)]
    fewer = list(dict.fromkeys(below))[:rank]
    return [right, *fewer, *list(dict.fromkeys(above))[: count - 1 - len(fewer)]]
