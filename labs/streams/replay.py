"""The state goes with its process. Where its changes are in a topic, it comes back.

          half of the cards     SIGKILL          the other half
cards ──> count {Mei: 12, ...} ──x      count {}                  forgetful
            └──> counts ────────────>   count {Mei: 12, ...}      reads back what it wrote
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from lab import configure, until
from table import Table

from engine import Cluster
from streams import house, stand
from streams.crew import Crew
from streams.duality import folded
from streams.unbounded import Cases

HALF = 600  # updates before the kill, and after it
LATE = 400  # of them are surely written when it is killed

Counts = dict[str, int]


@dataclass
class Killed:
    """What a counting processor knows after it was killed and started again."""

    truth: Counts
    found: dict[str, Counts]
    replayed: dict[str, int]  # records read back, where some were

    def __repr__(self) -> str:
        rows = [(name, self.replayed.get(name, 0) > 0, *self._row(name)) for name in self.found]
        rows.append(("never killed", False, *self.truth.values()))
        return repr(Table(("the processor", "reads back", *self.truth), rows))

    def _row(self, name: str) -> Iterable[object]:
        """What is wrong depends on the moment of the kill, so it is not shown."""
        found = self.found[name]
        return [found[key] if found[key] == it else "wrong" for key, it in self.truth.items()]

    def verdicts(self) -> Cases:
        forgetful, changelog, compacted = self.found.values()
        return {
            "C170": {
                "what only the processor knew is lost with it": forgetful != self.truth,
                "with its changes read back it is as if nothing had happened": changelog
                == self.truth,
                "so it is with the little that compaction leaves": compacted == self.truth
                and self.replayed["compacted"] < self.replayed["changelog"] / 2,
            }
        }


def killed(cluster: Cluster) -> Killed:
    """Three processors do the same, each on topics of its own, and share one fate."""
    events = house.some_cards(2 * HALF)
    cards, counts, facts = {}, {}, {}
    for name in ("forgetful", "changelog", "compacted"):
        cards[name] = stand.topic(cluster, "cards")
        counts[name] = stand.topic(cluster, "counts", segment_bytes=4000)
        facts[name] = {"source": cards[name], "target": counts[name], "group": stand.fresh("g")}
        stand.send(cluster, cards[name], house.pairs(events[:HALF]))
    with Crew(cluster) as crew:

        def start(name: str) -> None:
            restore = name != "forgetful"
            crew.start(name, restore=restore, steps="count", **facts[name])

        for name in cards:
            start(name)
        for name in cards:
            stand.wait_for(cluster, counts[name], LATE)
            crew.kill(name)
        configure(cluster, counts["compacted"], **stand.COMPACTED)
        until("the cleaner", lambda: len(stand.read(cluster, counts["compacted"])) < LATE / 2)
        for name, topic in cards.items():
            stand.send(cluster, topic, house.pairs(events[HALF:]))
            start(name)
        for name in cards:
            until("the last card", partial(_done, cluster, counts[name]))
        replayed = {name: _restored(crew.said(name)) for name in cards if name != "forgetful"}
    found = {name: folded(stand.read(cluster, counts[name])) for name in cards}
    return Killed(house.counts(events), found, replayed)


def _restored(said: str) -> int:
    """How many records it has read back, by its own account."""
    return int(said.partition("restored from ")[2].split()[0])


def _done(cluster: Cluster, topic: str) -> bool:
    """The last card was counted."""
    newest = stand.last(cluster, topic)
    return newest is not None and int(newest.headers["from"]) == 2 * HALF - 1
