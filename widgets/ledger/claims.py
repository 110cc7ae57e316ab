"""The claims of the five articles, each with its experiment and the verdict to be expected.

    id  lab  claim        in our words; `sources` says where it was read
    verdict  why          for Apache Kafka 2.8 with ZooKeeper
    kind  seen  against   what the verdict rests on, where it was seen, what turned it
    experiment  needs     what was planned to decide it, and what that takes
    later  since          what changed after 2.8: on the card, or on the article's page alone
    today                 a second verdict, if a cluster without ZooKeeper gives another one

Verdicts: holds; conditional (under stated conditions, or in part); outdated (it was so in an older
release); wrong; opinion (no experiment settles it).

Kinds, by what the experiment can say:

    shown        It could have come out otherwise, by what brokers, clients, ZooKeeper, the system
                 or another product did. The tests change the experiment or the engine so that
                 it does; `against` says how.
    definition   The words mean it, or the experiment was built so: it shows what is meant.
    told         An opinion, history, or something that the labs don't run. Documents tell it.

Places are those of PLACES. One that is followed by a test, `kafka test_tools.py::test_topics` for
instance, names a test in tests/real, where the same was seen with Kafka itself. `engine` says that
nothing but our own engine has shown it.

A second verdict names what shows it: a cell ("10_kraft active") or a test, from the root of the
repository. A claim whose `needs` is "zookeeper" is decided in a cluster that has one, whatever a
lab's switch says.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).parents[2] / "labs" / "claims.json"
VERDICTS = ("holds", "conditional", "outdated", "wrong", "opinion")
KINDS = ("shown", "definition", "told")
PLACES = {
    "cluster": "on this cluster",
    "simulator": "in the simulator",
    "functions": "in the engine's code, without a broker",
    "tools": "with our own command-line tools",
    "client": "with a stock client",
    "zookeeper": "on real ZooKeeper servers",
    "machine": "on the machine itself",
    "database": "on SQLite",
    "spark": "on Spark",
    "peers": "on other brokers, recorded",
    "documents": "by documents",
    "kafka": "with Apache Kafka 2.8.2",
    "streams": "with Kafka Streams 2.8.2",
    "spring": "with Spring for Apache Kafka 2.7",
    "engine": "only our engine",
}
OURS = {"cluster", "simulator", "functions", "tools"}  # alone they are no proof about Kafka
TESTED = {"kafka", "streams", "spring"}  # by a test in tests/real


class Place(NamedTuple):
    name: str
    test: str = ""  # "test_tools.py::test_topics", in tests/real

    @property
    def words(self) -> str:
        return PLACES[self.name]

    @property
    def file(self) -> str:
        return self.test.partition("::")[0]


class VerdictToday(NamedTuple):
    """What becomes of a claim in a cluster without ZooKeeper."""

    verdict: str
    words: str
    shown: str  # "10_kraft active": a lab and its cell; or a test, from the root of the repository

    @property
    def is_test(self) -> bool:
        return "::" in self.shown


@dataclass(frozen=True)
class ArticleClaim:
    id: str
    lab: str
    claim: str
    sources: tuple[tuple[str, str], ...]  # (article, section)
    verdict: str
    why: str
    kind: str
    seen: tuple[Place, ...]
    experiment: str
    needs: str  # "core": the engine; or "spark", "ensemble", "security" ...
    later: str = ""
    since: str = ""
    against: str = ""  # what turned the verdict, when it was tried; only of what is shown
    today: VerdictToday | None = None


def load(path: Path = FILE) -> dict[str, ArticleClaim]:
    """All claims by id, in the order of the file."""
    found = {}
    for row in json.loads(path.read_text(encoding="utf-8")):
        read = {
            "sources": tuple((it[0], it[1]) for it in row["sources"]),
            "seen": tuple(Place(*it.split()) for it in row["seen"]),
            "today": VerdictToday(**row["today"]) if "today" in row else None,
        }
        claim = ArticleClaim(**row | read)
        assert claim.verdict in VERDICTS, f"{claim.id}: there is no verdict {claim.verdict!r}"
        assert claim.kind in KINDS, f"{claim.id}: there is no kind {claim.kind!r}"
        assert claim.seen, f"{claim.id}: it says nowhere where it was seen"
        assert all(it.name in PLACES for it in claim.seen), f"{claim.id}: {claim.seen}"
        assert not claim.today or claim.today.verdict in VERDICTS, f"{claim.id}: {claim.today}"
        assert claim.id not in found, f"{claim.id} is there twice"
        found[claim.id] = claim
    return found
