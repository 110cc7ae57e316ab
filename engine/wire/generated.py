"""Functions that are made from lines of source code.

    schema of a message ──> lines ──> one function for all its fields

A reader or writer that is put together from a function for each field spends most of its time on
calling them: a Produce request takes some forty calls. `dataclasses` makes `__init__` in the same
way. Lines that stand for one field are added by readers.py and writers.py; objects that they use
get a name here, so the lines hold nothing but names and plain numbers.
"""

from collections.abc import Callable
from typing import Any


class FunctionSource:
    """The lines of one function, and the objects that they name."""

    def __init__(self, arguments: str) -> None:
        self._lines = [f"def made({arguments}):"]
        self._names: dict[str, Any] = {}

    def name(self, value: Any) -> str:
        """A name for an object, to be used in a line."""
        name = f"_{len(self._names)}"
        self._names[name] = value
        return name

    def add(self, *lines: str) -> None:
        self._lines += [f"    {line}" for line in lines]

    def function(self) -> Callable[..., Any]:
        exec("\n".join(self._lines), self._names)
        made: Callable[..., Any] = self._names["made"]
        return made
