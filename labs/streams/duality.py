"""A stream folds into a table; the table's changes are a stream again.

cards     Mei +20   Tom +20   Mei -4  ...          fold
table     Mei 16    Tom 20                          ^  |
changes   Mei 20    Tom 20    Mei 16  ...           └──┘  replay, also of what compaction leaves
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lab import configure, until
from table import Table

from engine import Cluster
from streams import house, stand
from streams.stand import Record
from streams.unbounded import Cases

Balances = dict[str, int]


def folded(changes: Iterable[Record]) -> Balances:
    """The table that a stream of changes makes: the last value of each key, and no tombstones."""
    table: Balances = {}
    for it in changes:
        if it.value is None:
            table.pop(it.key, None)
        else:
            table[it.key] = int(it.value)
    return dict(sorted(table.items()))


def summed(cards: Iterable[Record]) -> Balances:
    """The table that a stream of amounts makes."""
    return house.balances((it.key, it.value or 0) for it in cards)


def changes(events: Iterable[tuple[str, int]]) -> Iterator[tuple[str, str]]:
    """What happens to the table with each event: the key's new value."""
    table: Balances = {}
    for guest, amount in events:
        table[guest] = table.get(guest, 0) + amount
        yield guest, str(table[guest])


# -- events as a source ----------------------------------------------------------------------


@dataclass
class Sourced:
    """A hundred top-ups and payments, folded up to three offsets."""

    found: dict[int, Balances]  # from the topic, by offset
    expected: dict[int, Balances]  # from what was written

    def __repr__(self) -> str:
        rows = [(upto, *table.values()) for upto, table in self.found.items()]
        return repr(Table(("up to offset", *sorted(house.GUESTS)), rows))

    def verdicts(self) -> Cases:
        return {
            "C163": {
                f"folded up to offset {upto} it is the table of that moment": self.found[upto]
                == table
                for upto, table in self.expected.items()
            }
        }


def sourced(cluster: Cluster, *offsets: int) -> Sourced:
    events = house.some_cards(100)
    topic = stand.topic(cluster, "cards")
    stand.send(cluster, topic, house.pairs(events))
    found = {upto: summed(stand.read(cluster, topic, upto)) for upto in offsets}
    return Sourced(found, {upto: house.balances(events[:upto]) for upto in offsets})


# -- there and back --------------------------------------------------------------------------


@dataclass
class Back:
    """Cards into a table, its changes into a topic, and those into a table again."""

    first: Balances
    second: Balances
    other: Balances  # of another stream

    def __repr__(self) -> str:
        rows = [
            ("from the cards", *self.first.values()),
            ("from its changes", *self.second.values()),
            ("from other cards", *self.other.values()),
        ]
        return repr(Table(("the table", *self.first), rows))

    def verdicts(self) -> Cases:
        return {
            "C162": {
                "a stream makes a table": bool(self.first),
                "the table's changes make the same table again": self.first == self.second,
                "the table tells which stream it came from": self.first != self.other,
            }
        }


def back(cluster: Cluster) -> Back:
    events = house.some_cards(200)
    cards, others = stand.topic(cluster, "cards"), stand.topic(cluster, "others")
    stand.send(cluster, cards, house.pairs(events))
    records = stand.read(cluster, cards)
    updates = stand.topic(cluster, "changes")
    stand.send(cluster, updates, changes((it.key, int(it.value or 0)) for it in records))
    sums = house.balances(events)  # paid and topped up in one go, by each guest
    stand.send(cluster, others, house.pairs(sums.items()))
    return Back(
        summed(records),
        folded(stand.read(cluster, updates)),
        summed(stand.read(cluster, others)),
    )


# -- what compaction leaves ------------------------------------------------------------------

KEYS, UPDATES = 50, 1000


@dataclass
class Compacted:
    """A thousand changes for fifty keys, cleaned until little more than a table is left."""

    written: int
    left: int  # records in the topic, afterwards
    tables: list[Balances]  # the table itself; rebuilt before cleaning; rebuilt after it
    halfway: bool  # the table of a moment is the newest value of each key by then

    def __repr__(self) -> str:
        rows = [
            ("changes written", self.written),
            ("fewer than a third are left", self.left < self.written / 3),
            ("keys of the table", len(self.tables[0])),
            ("rebuilt from all changes: equal", self.tables[1] == self.tables[0]),
            ("rebuilt from what is left: equal", self.tables[2] == self.tables[0]),
        ]
        return repr(Table(("", ""), rows))

    def verdicts(self) -> Cases:
        table, before, after = self.tables
        return {
            "C166": {
                "the table of a moment has the newest value of each key": self.halfway,
                "its changes, as a stream, make it again": before == table,
                "so does the little that compaction leaves of them": after == table
                and self.left < self.written / 3,
            }
        }


def compacted(cluster: Cluster) -> Compacted:
    events = [(f"guest-{number * 7 % KEYS:02}", number) for number in range(UPDATES)]
    topic = stand.topic(cluster, "changes", segment_bytes=4000)
    table: Balances = {}
    half: Balances = {}
    for number, (guest, value) in enumerate(events, 1):
        table[guest] = value
        if number == UPDATES // 2:
            half = dict(table)
    stand.send(cluster, topic, [(guest, str(value)) for guest, value in events])
    every = stand.read(cluster, topic)
    configure(cluster, topic, **stand.COMPACTED)
    left = until("the cleaner", lambda: _cleaned(cluster, topic))
    tables = [dict(sorted(table.items())), folded(every), folded(left)]
    halfway = folded(every[: UPDATES // 2]) == dict(sorted(half.items()))
    return Compacted(UPDATES, len(left), tables, halfway)


def _cleaned(cluster: Cluster, topic: str) -> list[Record]:
    """What is in the topic, once that is little."""
    found = stand.read(cluster, topic)
    return found if len(found) < UPDATES / 3 else []
