"""An exam: questions drawn by a seed, so that a whole class can have the same.

    exam(seed=7, count=20)      every kind once before one comes again, the easy ones first

A score counts by idea, and names the sections of the labs that show what was missed.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from random import Random
from typing import NamedTuple

from oracle.kinds import KINDS
from oracle.situation import OracleQuestion, ask

LEVELS = (1, 2, 3)


def exam(seed: int, count: int, levels: Sequence[int] = LEVELS) -> list[OracleQuestion]:
    """The questions, in the order in which they are asked."""
    return [ask(KINDS[name], name, its) for name, its in drawn_questions(seed, count, levels)]


def drawn_questions(seed: int, count: int, levels: Sequence[int] = LEVELS) -> list[tuple[str, int]]:
    """The kind and the seed of each question, which need not be made yet; ValueError if none can
    be drawn."""
    if unknown := [level for level in levels if level not in LEVELS]:
        raise ValueError(f"there is no level {unknown[0]}, only {', '.join(map(str, LEVELS))}")
    if count < 1:
        raise ValueError(f"{count} questions are too few: ask for 1 or more")
    names = sorted(name for name, kind in KINDS.items() if kind.level in levels)
    chance = Random(f"exam {seed}")
    drawn: list[str] = []
    while len(drawn) < count:
        chance.shuffle(names)
        drawn += names
    first = Counter[str]()
    questions = []
    for name in sorted(drawn[:count], key=lambda name: KINDS[name].level):
        questions.append((name, seed * 1000 + first[name]))
        first[name] += 1
    return questions


class IdeaScore(NamedTuple):
    idea: str
    right: int
    asked: int
    sections: tuple[str, ...]  # of what was missed


def scores(answered: Iterable[tuple[OracleQuestion, int]]) -> list[IdeaScore]:
    """By idea, in the order in which the ideas came; `answered`: each question, and the choice."""
    by_idea: dict[str, list[tuple[OracleQuestion, int]]] = {}
    for question, choice in answered:
        by_idea.setdefault(question.idea, []).append((question, choice))
    found = []
    for idea, rows in by_idea.items():
        missed = [question.section for question, choice in rows if choice != question.right]
        right = len(rows) - len(missed)
        found.append(IdeaScore(idea, right, len(rows), tuple(dict.fromkeys(missed))))
    return found
