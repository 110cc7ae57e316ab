"""Two streams meet, and a stream meets a table.

orders    7: Mei, oolong   ─┐ by order, within a minute              C157
payments  7: 4             ─┴─> 7: Mei, oolong, paid 4

orders    Mei: oolong      ─┐ by guest                               C176
guests    Mei: terrace      ─┴─> Mei: oolong, to the terrace         (guests is a compacted topic)
"""

import inspect
import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from lab import until
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from table import Table

from engine import Cluster
from engine.streams.tables import enrich, from_changelog
from engine.streams.windows import join
from streams import house, pipes, stand
from streams.crew import Crew
from streams.loop import large
from streams.stand import Record
from streams.unbounded import Cases

# -- a stream and a table --------------------------------------------------------------------

SEATS = [("Mei", "terrace"), ("Tom", "garden"), ("Lisi", "window"), ("Tom", "bar"), ("Lisi", None)]


@dataclass
class Enriched:
    """Orders, with the seat that a compacted topic knows for their guests."""

    seats: dict[str, str]
    found: list[dict[str, str]]
    expected: list[dict[str, str]]

    def __repr__(self) -> str:
        served = Counter((it["guest"], it["seat"]) for it in self.found)
        rows = [(*who, number) for who, number in sorted(served.items())]
        return repr(Table("guest, seat, orders that go there", rows))

    def verdicts(self) -> Cases:
        return {
            "C176": {
                "each order of a guest with a seat has it, and nothing else was written": sorted(
                    map(str, self.found)
                )
                == sorted(map(str, self.expected)),
                "the seat is the newest, and one that was given up is none": self.seats
                == {"Mei": "terrace", "Tom": "bar"},
            }
        }


def enriched(cluster: Cluster, spark: SparkSession) -> Enriched:
    guests, source = stand.compacted(cluster, "guests"), stand.topic(cluster, "orders")
    target, orders = stand.topic(cluster, "served"), house.orders(40)
    stand.send(cluster, guests, SEATS)
    changes = from_changelog(spark, cluster.bootstrap, guests)
    seats = changes.select("key", F.col("value").alias("seat"))
    stand.send(cluster, source, orders)
    served = enrich(pipes.stream(spark, cluster, source), seats, "key").where("seat IS NOT NULL")
    row = F.struct(F.col("key").alias("guest"), F.col("value").alias("tea"), "seat")
    query = pipes.to_topic(served.select("key", F.to_json(row).alias("value")), cluster, target)
    pipes.settle(query)
    query.stop()
    table = {str(row["key"]): str(row["seat"]) for row in seats.collect()}
    found = [json.loads(it.value or "") for it in stand.read(cluster, target)]
    expected = [
        {"guest": guest, "tea": tea, "seat": table[guest]}
        for guest, tea in orders
        if guest in table
    ]
    return Enriched(dict(sorted(table.items())), found, expected)


# -- two streams -----------------------------------------------------------------------------

PAID = 24  # orders, each with a payment that comes later


class ByHand:
    """A join of two topics within a minute, as one writes it with a consumer."""

    def __init__(self) -> None:
        self.waiting: dict[str, dict[str, tuple[int, str]]] = {"orders": {}, "payments": {}}

    def came(self, side: str, other: str, record: Record) -> str | None:
        """A pair, if the other half is there already; else it waits."""
        self.forget(record.at)
        match = self.waiting[other].pop(record.key, None)
        if match is None:
            self.waiting[side][record.key] = (record.at, record.value or "")
            return None
        return " ".join(sorted([match[1], record.value or ""]))

    def forget(self, now: int) -> None:
        """Halves whose minute is over: without this it would keep them for ever."""
        for table in self.waiting.values():
            late = [key for key, (at, _) in table.items() if at < now - 60_000]
            for key in late:
                del table[key]


def by_spark(orders: DataFrame, payments: DataFrame) -> DataFrame:
    """The same, told to Spark."""
    pairs = join(orders, payments, "key", "1 minute")
    return pairs.select("key", F.concat_ws(" ", "right_value", "value").alias("value"))


@dataclass
class Joined:
    """Orders come first, payments after a restart in between."""

    expected: set[str]
    calm: set[str]  # by hand, without a restart
    hand: set[str]  # by hand, with one
    spark: set[str]  # by Spark, with one
    filtered: bool  # a filter by hand, with a restart, lost nothing
    lines: dict[str, int]  # of code

    def __repr__(self) -> str:
        rows = [
            ("filter by hand, restarted", self.filtered, self.lines["filter"]),
            ("join by hand", self.calm == self.expected, self.lines["hand"]),
            ("join by hand, restarted", self.hand == self.expected, self.lines["hand"]),
            ("join by Spark, restarted", self.spark == self.expected, self.lines["spark"]),
        ]
        return repr(Table(("", "all that belongs there", "lines of code"), rows))

    def verdicts(self) -> Cases:
        return {
            "C157": {
                "a filter by hand is a line or two, and a restart does it no harm": self.filtered
                and self.lines["filter"] <= 2,
                "a join by hand has buffers and time-outs of its own": self.calm == self.expected
                and self.lines["hand"] > 5 * self.lines["filter"],
                "and a restart loses what waits in them": self.hand < self.expected,
                "the library's join is shorter, and loses nothing": self.spark == self.expected
                and self.lines["spark"] < self.lines["hand"],
            }
        }


def joined(cluster: Cluster, spark: SparkSession) -> Joined:
    orders, payments = stand.topic(cluster, "orders"), stand.topic(cluster, "payments")
    target, at = stand.topic(cluster, "paid"), pipes.place("paid")
    left = [(f"{number:02}", f"tea-{number:02}") for number in range(PAID)]
    right = [(f"{number:02}", f"{number:02}-paid") for number in range(PAID)]
    streams = [pipes.stream(spark, cluster, it) for it in (orders, payments)]
    stand.send(cluster, orders, left)
    stand.send(cluster, payments, right[:4])
    for step in range(2):
        query = pipes.to_topic(by_spark(*streams), cluster, target, at)
        pipes.settle(query)
        query.stop()
        if not step:
            stand.send(cluster, payments, right[4:])
    found = {it.value or "" for it in stand.read(cluster, target)}
    first, second = stand.read(cluster, orders), stand.read(cluster, payments)
    one = ByHand()
    calm = _pairs(one, "orders", first) | _pairs(one, "payments", second)
    early, late = ByHand(), ByHand()  # the second is what a restart leaves of the first
    hand = _pairs(early, "orders", first) | _pairs(early, "payments", second[:4])
    hand |= _pairs(late, "payments", second[4:])
    expected = {" ".join(sorted([a[1], b[1]])) for a, b in zip(left, right, strict=True)}
    return Joined(expected, calm, hand, found, filters(cluster), _lines())


def _pairs(join: ByHand, side: str, records: Iterable[Record]) -> set[str]:
    other = "payments" if side == "orders" else "orders"
    return {pair for it in records if (pair := join.came(side, other, it))}


def filters(cluster: Cluster) -> bool:
    """A filter by hand, killed half-way: whether all is there that belongs there."""
    cards, out = stand.topic(cluster, "cards"), stand.topic(cluster, "out")
    events, group = house.some_cards(200), stand.fresh("filter")
    expected = {str(place) for place, (_, amount) in enumerate(events) if abs(amount) >= 5}
    facts: dict[str, str] = {"source": cards, "target": out, "steps": "large", "group": group}
    stand.send(cluster, cards, house.pairs(events[:100]))
    with Crew(cluster) as crew:
        crew.start("first", restore=False, **facts)
        stand.wait_for(cluster, out, 10)
        crew.kill("first")
        stand.send(cluster, cards, house.pairs(events[100:]))
        crew.start("second", restore=False, **facts)
        until("the filter", lambda: expected <= _origins(cluster, out))
    return _origins(cluster, out) == expected


def _origins(cluster: Cluster, topic: str) -> set[str]:
    return {it.headers["from"] for it in stand.read(cluster, topic)}


def _lines() -> dict[str, int]:
    """Of code: no comments, no blank lines, no heads of functions."""
    parts: dict[str, Callable[..., object]] = {"filter": large, "hand": ByHand, "spark": by_spark}
    return {name: _count(inspect.getsource(it)) for name, it in parts.items()}


def _count(source: str) -> int:
    lines = [line.strip() for line in source.splitlines()]
    return sum(bool(it) and not it.startswith(("#", '"""', "def ", "class ")) for it in lines)
