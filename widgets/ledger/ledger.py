"""A lab's verdicts, found by running it.

    ledger = Ledger("01_storage")
    ledger.decide(
        C009={
            "a closed segment is the same after more writes": before == after,
            "no record ever leaves the log": first_offset == 0,
        })
    ledger.table()

A claim is put to several cases, each of which bears it out or doesn't. The verdict follows:

    ✓ ✓ ✓   holds          ✗ ✗ ✗   wrong, or outdated, if an older release did so
    ✓ ✗ ✓   conditional    an opinion is not decided; what was seen is shown beside it

If that isn't the verdict that labs/claims.json expects, `decide` raises Contradiction: then either
the experiment is to be mended or, with a reason, the verdict.

Invariant: a verdict is computed from cases of this run; nothing copies it from the file.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, TypeAlias

from engine.errors import ErrorCode, KafkaError
from widgets.ledger.claims import FILE, Claim, load
from widgets.ledger.table import Table

MIME = "application/vnd.brokerlab.verdicts+json"

Cases: TypeAlias = Mapping[str, bool]


class Contradiction(AssertionError):
    """An experiment says otherwise than the ledger."""


@dataclass(frozen=True)
class Finding:
    """What came of one claim."""

    claim: Claim
    cases: tuple[tuple[str, bool], ...]

    @property
    def verdict(self) -> str:
        """By the cases alone, but for what no experiment can know: opinions and older releases."""
        truths = {truth for _, truth in self.cases}
        if self.claim.verdict == "opinion":
            return "opinion"
        if truths == {True}:
            return "holds"
        if self.claim.verdict == "outdated":
            return "outdated"
        return "wrong" if truths == {False} else "conditional"

    def __str__(self) -> str:
        lines = [f"{'✓' if truth else '✗'} {case}" for case, truth in self.cases]
        return "\n".join([f"{self.claim.id} {self.verdict}: {self.claim.claim}", *lines])

    def html(self) -> str:
        rows = "".join(
            f"<div>{'✓' if truth else '✗'} {escape(case)}</div>" for case, truth in self.cases
        )
        head = f"<b>{self.claim.id} · {self.verdict}</b> · {escape(self.claim.claim)}"
        style = "margin: 4px 0 8px; line-height: 1.5"
        return f'<div id="{self.claim.id}" style="{style}">{head}{rows}</div>'


class Findings:
    """What a cell has decided, to be shown."""

    def __init__(self, found: list[Finding]) -> None:
        self._found = found

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._found)

    def __repr__(self) -> str:
        return "\n".join(map(str, self._found))

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        return {
            "text/plain": repr(self),
            "text/html": "".join(each.html() for each in self._found),
            MIME: {each.claim.id: each.verdict for each in self._found},
        }


class Ledger:
    def __init__(self, lab: str, path: Path = FILE) -> None:
        claims = load(path)
        self.lab = lab
        self.claims = {key: claim for key, claim in claims.items() if claim.lab == lab}
        self.findings: dict[str, Finding] = {}
        if not self.claims:
            labs = ", ".join(sorted({claim.lab for claim in claims.values()}))
            raise _refused(f"no claim belongs to {lab!r}; the labs are {labs}")

    def decide(self, **cases: Cases) -> Findings:
        """Claims by id, each with the cases that bear it out (True) or don't."""
        found = [self._find(key, each) for key, each in cases.items()]
        self.findings |= {each.claim.id: each for each in found}
        wrong = [each for each in found if each.verdict != each.claim.verdict]
        if wrong:
            raise Contradiction("\n".join(map(_contradiction, wrong)))
        return Findings(found)

    def table(self) -> Table:
        """Every claim of the lab, with what this run made of it."""
        return Table(self.lab, self.claims, {k: it.verdict for k, it in self.findings.items()})

    def _find(self, key: str, cases: Cases) -> Finding:
        if key not in self.claims:
            raise _refused(f"{key} is no claim of {self.lab}")
        if not cases:
            raise _refused(f"{key} needs at least one case that bears it out, or doesn't")
        return Finding(self.claims[key], tuple((case, bool(it)) for case, it in cases.items()))


def _contradiction(finding: Finding) -> str:
    return (
        f"This run finds {finding.claim.id} {finding.verdict}, and labs/claims.json says "
        f"{finding.claim.verdict}: {finding.claim.why}\n{finding}\n"
        "Was a cell of this section run twice, or before its turn? Then run the section once more, "
        "from its heading. If it says so again, the experiment is to be mended or, with a reason, "
        "the verdict."
    )


def _refused(what: str) -> KafkaError:
    return KafkaError(ErrorCode.invalid_request, what)
