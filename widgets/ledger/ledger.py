"""A lab's verdicts, found by running it.

    ledger = Ledger("02_replication")
    ledger.decide("C056", when="acks=all",
        borne_out={"the HW moved after the last copy was stored": hw > copied},
        otherwise={"acks=1 is answered without any copy": quick < copied})
    ledger.decide("C069", refuted={"one led that was not first in the list": leader != first})
    ledger.decide(C001={"a record of orders is not in users": True}, C002={...})
    ledger.decide("C056", ...) + ledger.decide("C069", ...)       both are shown
    ledger.table()

A case is a sentence, and whether this run has shown it. The verdict follows from the cases:

    borne_out    sentences that are true if the claim is       all: holds
    refuted      sentences that are true if it is not          all: wrong
    otherwise    the same, where the condition is not met      one of these: conditional

In the short form, for claims that need no condition, a case says whether it bears the claim out. A
claim that was true in an older release is outdated where today refutes it: that the older release
did so is told by the documents, unless `older` shows it. An opinion is not decided: what was seen
is shown beside it.

If that isn't the verdict in labs/claims.json, the card says so: with other numbers a claim may come
out otherwise. With BROKERLAB_STRICT set, as in the tests, it is a Contradiction: then either the
experiment is to be mended or, with a reason, the verdict.

A card says what the claim rests on, in a line (basis.py): whether the run could have come out
otherwise, and where it was seen. In the tests, and so in what a notebook saves, it is left out.

Invariant: holds, conditional and wrong are computed from cases of this run alone. Two things are
copied from the file: that a claim is an opinion, and that what does not hold today is outdated.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from engine.errors import ApiException, invalid_request
from widgets import stills
from widgets.ledger.basis import with_basis
from widgets.ledger.chips import COLORS
from widgets.ledger.claims import FILE, ArticleClaim, load
from widgets.ledger.table import VerdictTable

MIME = "application/vnd.brokerlab.verdicts+json"
STRICT = "BROKERLAB_STRICT"
CARD = "margin: 4px 0; padding: 2px 10px; line-height: 1.5; border-left: 4px solid"
CHIP = "color: white; border-radius: 9px; padding: 1px 9px; font-size: 90%; background:"

Cases: TypeAlias = Mapping[str, object]  # each is true or false
NONE: Cases = {}


class Contradiction(AssertionError):
    """An experiment says otherwise than the ledger."""


class Case(NamedTuple):
    words: str
    truth: bool
    supports: bool  # the claim, if it is true


@dataclass(frozen=True)
class ClaimVerdict:
    """What came of one claim."""

    claim: ArticleClaim
    cases: tuple[Case, ...]
    when: str = ""  # the condition under which it holds
    older: tuple[Case, ...] = ()  # what was seen of an older behaviour

    @property
    def verdict(self) -> str:
        """By the cases alone, but for what no experiment can know: opinions and older releases."""
        if self.claim.verdict == "opinion":
            return "opinion"
        met = [it.truth for it in self.cases if it.supports]
        failed = [it.truth for it in self.cases if not it.supports]
        if self.when:
            found = "wrong" if not all(met) else "conditional" if any(failed) else "holds"
        elif all(met) and not any(failed):
            found = "holds"
        else:
            found = "conditional" if any(met) or not all(failed) else "wrong"
        outdated = self.claim.verdict == "outdated" and found != "holds"
        return "outdated" if outdated else found

    @property
    def agrees(self) -> bool:
        return self.verdict == self.claim.verdict

    @property
    def condition(self) -> str:
        return f"holds when {self.when}" if self.when and self.verdict == "conditional" else ""

    @property
    def origin(self) -> str:
        """Where a verdict comes from that no run of this release can find."""
        if self.verdict == "opinion":
            return "no experiment decides an opinion; this was seen"
        if self.verdict == "outdated" and not self.older:
            return "that an older release did so is told by the documents"
        return ""

    @property
    def note(self) -> str:
        """What to do if the verdict is another than in the file."""
        if self.agrees:
            return ""
        words = {"holds": "holds", "wrong": "does not hold"}
        found, known = (words.get(it, f"is {it}") for it in (self.verdict, self.claim.verdict))
        return (
            f"With these numbers the claim {found}; for Kafka 2.8 it {known}. If "
            "you have changed nothing, run this section once more from its heading."
        )

    def lines(self) -> Iterator[str]:
        plain = [it for it in self.cases if it.supports or not self.when]
        without = [it for it in self.cases if not (it.supports or not self.when)]
        yield from map(_case, plain)
        if without:
            yield "otherwise:"
            yield from map(_case, without)
        if self.older:
            yield "in older releases:"
            yield from map(_case, self.older)

    def __str__(self) -> str:
        head = f"{self.claim.id} {self.verdict}: {self.claim.claim}"
        extra = [each for each in (self.condition, self.origin, self.note) if each]
        return "\n".join([head, *extra, *self.lines()])

    def html(self) -> str:
        color = COLORS[self.verdict]
        chip = f'<span style="{CHIP} {color}">{self.verdict}</span>'
        extra = [each for each in (self.condition, self.origin, self.note) if each]
        said = "".join(f"<div><i>{escape(each)}</i></div>" for each in extra)
        rows = [escape(each) for each in self.lines()]
        rows.append(f"<b>Why</b> {escape(self.claim.why)}")
        if self.claim.later:
            rows.append(f"<b>After 2.8</b> {escape(self.claim.later)}")
        fold = "<details" + ("" if self.agrees else " open") + ">"
        cases = "".join(f"<div>{each}</div>" for each in rows)
        return (
            f'<div id="{self.claim.id}" style="{CARD} {color}">'
            f"<b>{self.claim.id}</b> {chip} {escape(self.claim.claim)}{said}"
            f"{fold}<summary>the cases, and why</summary>{cases}</details></div>"
        )


def _case(case: Case) -> str:
    return f"{'✓' if case.truth else '✗'} {case.words}"


class Findings:
    """What a cell has decided, to be shown."""

    def __init__(self, found: list[ClaimVerdict]) -> None:
        self._found = found

    def __iter__(self) -> Iterator[ClaimVerdict]:
        return iter(self._found)

    def __add__(self, other: "Findings") -> "Findings":
        """The findings of both, for a cell that decides claims by cases of several kinds."""
        return Findings([*self, *other])

    def __repr__(self) -> str:
        return "\n".join(map(str, self._found))

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        cards = "".join(each.html() for each in self._found)
        if stills.PLACE in os.environ:
            cards = with_basis(cards, {each.claim.id: each.claim for each in self._found})
        return {
            "text/plain": repr(self),
            "text/html": cards,
            MIME: {each.claim.id: each.verdict for each in self._found},
        }


class Ledger:
    def __init__(self, lab: str, path: Path = FILE) -> None:
        claims = load(path)
        self.lab = lab
        self.claims = {key: claim for key, claim in claims.items() if claim.lab == lab}
        self.findings: dict[str, ClaimVerdict] = {}
        if not self.claims:
            labs = ", ".join(sorted({claim.lab for claim in claims.values()}))
            raise _refused(f"no claim belongs to {lab!r}; the labs are {labs}")

    def decide(
        self,
        claim: str = "",
        /,
        *,
        when: str = "",
        borne_out: Cases = NONE,
        otherwise: Cases = NONE,
        refuted: Cases = NONE,
        older: Cases = NONE,
        **short: Cases,
    ) -> Findings:
        """Decide one claim by cases of several kinds, or several claims in the short form."""
        if claim:
            cases = [*_cases(borne_out, True), *_cases({**refuted, **otherwise}, False)]
            found = [self._find(claim, cases, when, tuple(_cases(older, True)))]
        else:
            found = [self._find(key, _cases(each, True)) for key, each in short.items()]
        self.findings |= {each.claim.id: each for each in found}
        wrong = [each for each in found if not each.agrees]
        if wrong and os.environ.get(STRICT):
            raise Contradiction("\n".join(map(_contradiction, wrong)))
        return Findings(found)

    def table(self) -> VerdictTable:
        """Every claim of the lab, with what this run made of it."""
        return VerdictTable(
            self.lab, self.claims, {k: it.verdict for k, it in self.findings.items()}
        )

    def _find(
        self, key: str, cases: Sequence[Case], when: str = "", older: tuple[Case, ...] = ()
    ) -> ClaimVerdict:
        if key not in self.claims:
            raise _refused(f"{key} is no claim of {self.lab}")
        if not cases:
            raise _refused(f"{key} needs at least one case that bears it out, or doesn't")
        if when and all(case.supports for case in cases):
            raise _refused(f"{key} holds when {when}: it needs a case where that is not so")
        return ClaimVerdict(self.claims[key], tuple(cases), when, older)


def _cases(cases: Cases, supports: bool) -> list[Case]:
    return [Case(words, bool(truth), supports) for words, truth in cases.items()]


def _contradiction(finding: ClaimVerdict) -> str:
    return (
        f"This run finds {finding.claim.id} {finding.verdict}, and labs/claims.json says "
        f"{finding.claim.verdict}: {finding.claim.why}\n{finding}"
    )


def _refused(what: str) -> ApiException:
    return invalid_request(what)
