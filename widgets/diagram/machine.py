"""State machines, as the engine's modules have them: an Enum and one table.

    BEFORE       {State.ONLINE: frozenset({State.NEW, ...}), ...}    to each state, from which
    TRANSITIONS  {State.NEW: frozenset({State.ONLINE, ...}), ...}    from each state, to which
    any name     {(Stage.FETCHING, StageChange.FENCED): Stage.WAITING}   by state and event

The meaning of a state is written once, where it is declared: in a line of the module's docstring,
in the comment behind the member, or as its value, if that is a sentence.

    EMPTY        no members; offsets may be kept       <- the docstring
    NONE = "none"  # a log, if there is one            <- the comment

Invariant: the first state of an Enum is the one in which a machine begins.
"""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from types import ModuleType
from typing import NamedTuple

BACKWARDS, FORWARDS = "BEFORE", "TRANSITIONS"
SENTENCE = 25  # a value as long as this is one


class TransitionRow(NamedTuple):
    source: str
    target: str
    word: str = ""  # the event; a table without events has one step between two states


class Anywhere(NamedTuple):
    """The same step from every state: one arrow stands for all of them."""

    target: str
    words: tuple[str, ...]
    itself: bool  # from the target, too

    @property
    def origin(self) -> str:
        return "any state" if self.itself else "any other"


@dataclass(frozen=True)
class Machine:
    module: ModuleType
    table: str  # its name in the module
    states: type[Enum]
    steps: tuple[TransitionRow, ...]
    alone: bool  # the only table of its module

    @property
    def name(self) -> str:
        """Of its files: controller-partitions"""
        parts = self.module.__name__.split(".")[1:]
        return "-".join(parts if self.alone else [*parts, self.states.__name__.lower()])

    @property
    def source(self) -> str:
        return self.module.__name__.replace(".", "/") + ".py"

    @property
    def title(self) -> str:
        text = vars(self.states).get("__doc__") or self.module.__doc__ or self.name
        first = " ".join(text.partition("\n\n")[0].split())
        return re.split(r"[:.](?:\s|$)|, and ", first, maxsplit=1)[0]

    @property
    def names(self) -> list[str]:
        return [state.name for state in self.states]

    @cached_property
    def anywhere(self) -> list[Anywhere]:
        """Steps that are possible in every state, or in every other one."""
        found: dict[tuple[str, bool], list[str]] = {}
        for target in self.names if len(self.names) > 2 else ():
            for word in sorted({step.word for step in self.steps}):
                sources = {it.source for it in self.steps if (it.target, it.word) == (target, word)}
                if sources >= set(self.names) - {target}:
                    found.setdefault((target, target in sources), []).append(word)
        return [Anywhere(target, tuple(words), own) for (target, own), words in found.items()]

    @cached_property
    def arrows(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """All other steps: from, to, and the words for it."""
        said = {(each.target, word) for each in self.anywhere for word in each.words}
        found: dict[tuple[str, str], tuple[str, ...]] = {}
        for source, target, word in self.steps:
            if (target, word) not in said:
                known = found.get((source, target), ())
                found[source, target] = (*known, word) if word else known
        return found

    @cached_property
    def meanings(self) -> dict[str, str]:
        told = _documented(self.module.__doc__ or "", self.names) | _comments(self.states)
        for state in self.states:
            value = str(state.value)
            if len(value) > SENTENCE and " " in value:
                told.setdefault(state.name, value)
        return told


def machines(package: ModuleType) -> list[Machine]:
    """The machines of every module below a package, without tables that a module imports."""
    found = []
    for info in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if info.name.rpartition(".")[2] != "__main__":  # which would run
            found += list(_of(importlib.import_module(info.name)))
    return sorted(found, key=lambda machine: machine.name)


def _of(module: ModuleType) -> Iterator[Machine]:
    read = {name: _steps(name, value) for name, value in vars(module).items()}
    own = {
        name: found
        for name, found in read.items()
        if found is not None and found[0].__module__ == module.__name__
    }
    for name, (states, steps) in own.items():
        yield Machine(module, name, states, tuple(steps), len(own) == 1)


def _steps(name: str, value: object) -> tuple[type[Enum], list[TransitionRow]] | None:
    """The steps of a table, if it is one of a state machine."""
    if not isinstance(value, Mapping) or not value:
        return None
    rows = dict(value)
    if all(_is_pair(key) and isinstance(to, Enum) for key, to in rows.items()):
        states = type(next(iter(rows.values())))
        if all(isinstance(key[0], states) for key in rows):
            return states, [
                TransitionRow(key[0].name, to.name, _word(key[1])) for key, to in rows.items()
            ]
    if all(isinstance(key, Enum) and isinstance(others, frozenset) for key, others in rows.items()):
        states = type(next(iter(rows)))
        if all(isinstance(other, states) for others in rows.values() for other in others):
            assert name in (BACKWARDS, FORWARDS), f"{name}: {BACKWARDS} or {FORWARDS}?"
            back = name == BACKWARDS
            order = [*states.__members__.values()]
            return states, [
                TransitionRow(other.name, key.name) if back else TransitionRow(key.name, other.name)
                for key, others in rows.items()
                for other in sorted(others, key=order.index)
            ]
    return None


def _is_pair(key: object) -> bool:
    return isinstance(key, tuple) and len(key) == 2 and isinstance(key[1], Enum)


def _word(heard: Enum) -> str:
    return str(heard.value)


# -- the meaning of a state ------------------------------------------------------------------------


def _documented(docstring: str, names: list[str]) -> dict[str, str]:
    """From lines such as `to NEW, ONLINE   what it means`, which may go on, further in."""
    one = "|".join(sorted(names, key=len, reverse=True))
    line = re.compile(rf"^(    (?:to )?((?:{one})(?:, (?:{one}))*) {{2,}})(\w.*)$")
    told: dict[str, str] = {}
    open_for: list[str] = []
    column = 0
    for text in docstring.splitlines():
        if found := line.match(text):
            open_for, column = found[2].split(", "), len(found[1])
            told.update(dict.fromkeys(open_for, found[3]))
        elif open_for and text[:column].isspace() and text[column:].strip():
            told.update({name: f"{told[name]} {text.strip()}" for name in open_for})
        else:
            open_for = []
    return {name: re.sub(r"\s{2,}", " ", text) for name, text in told.items()}


def _comments(states: type[Enum]) -> dict[str, str]:
    found = re.findall(r"^    ([A-Z_]+) = .*?  # (.+)$", inspect.getsource(states), re.M)
    return dict(found)
