"""The claims of the five articles, each with its experiment and the verdict to be expected.

    id  lab  claim        in our words; `sources` says where it was read
    verdict  why          for Apache Kafka 2.8 with ZooKeeper
    experiment  needs     what decides it, and what that takes
    later                 what changed after 2.8; not every claim has one

Verdicts: holds; conditional (under stated conditions, or in part); outdated (it was so in an older
release); wrong; opinion (no experiment settles it).
"""

import json
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).parents[2] / "labs" / "claims.json"
VERDICTS = ("holds", "conditional", "outdated", "wrong", "opinion")


@dataclass(frozen=True)
class ArticleClaim:
    id: str
    lab: str
    claim: str
    sources: tuple[tuple[str, str], ...]  # (article, section)
    verdict: str
    why: str
    experiment: str
    needs: str  # "core": the engine; or "spark", "ensemble", "security" ...
    later: str = ""


def load(path: Path = FILE) -> dict[str, ArticleClaim]:
    """All claims by id, in the order of the file."""
    found = {}
    for row in json.loads(path.read_text(encoding="utf-8")):
        claim = ArticleClaim(**row | {"sources": tuple((it[0], it[1]) for it in row["sources"])})
        assert claim.verdict in VERDICTS, f"{claim.id}: there is no verdict {claim.verdict!r}"
        assert claim.id not in found, f"{claim.id} is there twice"
        found[claim.id] = claim
    return found
