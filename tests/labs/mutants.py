"""Experiments that are changed on purpose, and claims that then come out otherwise.

A mutant runs some cells of a lab: with lines that somebody has changed, as a learner would, or on
an engine with a defect. The verdicts that the lab finds then have to differ from labs/claims.json
for the claims that the mutant names, and for no others. The tests of each lab hold a table of them,
MUTANTS; test_mutants.py sees that no claim is missing.

    Mutant(
        "the link is cut for longer than the limit",
        "C050",
        "isr-predict heir heir-run heir-verdict",
        [("short.run(2)", "short.run(7)")],
    )
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from tests.labs.reader import Reader
from widgets.ledger.ledger import STRICT


@dataclass(frozen=True, eq=False)
class Mutant:
    what: str  # is otherwise than in the lab
    claims: str  # that come out otherwise
    cells: str  # that are run, in order
    changes: Sequence[tuple[str, str]] = ()  # in the text of these cells: old, new
    defect: Callable[[pytest.MonkeyPatch], None] | None = None  # of the engine, in this process
    given: Mapping[str, Any] = field(default_factory=dict)  # what cells that are not run find


def parameters(mutants: Sequence[Mutant]) -> list[Any]:
    """For pytest.mark.parametrize: the first in `make test`, all of them in `make long`."""
    names = {it: re.sub(r"\W+", "-", it.what) for it in mutants}
    return [
        pytest.param(it, id=name, marks=[] if it is mutants[0] else [pytest.mark.long])
        for it, name in names.items()
    ]


def otherwise(reader: Reader, mutant: Mutant, patch: pytest.MonkeyPatch) -> dict[str, str]:
    """The claims whose verdicts the mutant has changed, and what they are now."""
    patch.delenv(STRICT)  # a verdict is compared here, and does not end the cell
    reader.names.clear()
    reader.names |= mutant.given
    left, decided = {old for old, _ in mutant.changes}, set[str]()
    if mutant.defect:
        mutant.defect(patch)
    for name in mutant.cells.split():
        source = reader.cell(name).source
        for old, new in mutant.changes:
            if old in source:
                source = source.replace(old, new)
                left.discard(old)
        reader.run(SimpleNamespace(id=name, source=source))
        decided |= set(re.findall(r"\bC\d{3}\b", source))
    assert not left, f"no cell has {left}"
    found = reader.names["ledger"].findings
    return {key: it.verdict for key, it in found.items() if key in decided and not it.agrees}


def check(reader: Reader, mutant: Mutant, patch: pytest.MonkeyPatch) -> None:
    found = otherwise(reader, mutant, patch)
    assert found.keys() == set(mutant.claims.split()), found
