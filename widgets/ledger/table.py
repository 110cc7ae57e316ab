"""The verdict table at the end of a lab: each claim, what this run made of it, and where.

What this run has left out is told: a claim whose cell was not run is not decided.
"""

from collections import Counter
from collections.abc import Mapping
from html import escape
from typing import Any

from widgets.ledger.claims import ArticleClaim

OPEN = "not run yet"
HEAD = "<tr><th>claim</th><th>verdict</th><th style='text-align: left'>what is claimed</th></tr>"


class VerdictTable:
    def __init__(
        self, lab: str, claims: Mapping[str, ArticleClaim], found: Mapping[str, str]
    ) -> None:
        self.lab, self.claims = lab, claims
        self.verdicts = {key: found.get(key, OPEN) for key in claims}
        self.contradicted = [k for k, it in found.items() if it != claims[k].verdict]

    def __repr__(self) -> str:
        counts = Counter(self.verdicts.values())
        told = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
        left = [key for key, verdict in self.verdicts.items() if verdict == OPEN]
        lines = [f"{len(self.claims)} claims of {self.lab}: {told}."]
        if left:
            lines.append(f"Run the cells of {', '.join(left)} too.")
        if self.contradicted:
            lines.append(f"Contradicted: {', '.join(self.contradicted)}.")
        return "\n".join(lines)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        rows = "".join(self._row(key, verdict) for key, verdict in self.verdicts.items())
        words = escape(repr(self)).replace("\n", "<br>")
        html = f"<table>{HEAD}{rows}</table><p>{words}</p>"
        return {"text/plain": repr(self), "text/html": html}

    def _row(self, key: str, verdict: str) -> str:
        cell = f"<td style='text-align: left'>{escape(self.claims[key].claim)}</td>"
        name = key if verdict == OPEN else _link(key)
        shown = escape(verdict) + (" ✗" if key in self.contradicted else "")
        return f"<tr><td>{name}</td><td style='white-space: nowrap'>{shown}</td>{cell}</tr>"


def _link(key: str) -> str:
    """To the cell that decided it."""
    return f'<a href="#{key}">{key}</a>'
