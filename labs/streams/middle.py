"""Services that know only topics: one is away, one comes later, one speaks another language.

the till ──> orders ──> the kitchen     away for a while
                   └──> the books       comes a week later
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from lab import until
from table import Table

from engine import Cluster
from streams import house, stand
from streams.unbounded import Cases

ORDERS = 60


class Service:
    """Reads orders as one of its group, and goes when it is told to."""

    def __init__(self, cluster: Cluster, topic: str, name: str) -> None:
        self._cluster, self._topic, self._name = cluster, topic, name
        self.read: list[str] = []

    def work(self, number: int) -> None:
        """Come, read until it has read so many in all, and go."""
        facts = {"group.id": f"{self._name}-{self._topic}", "auto.offset.reset": "earliest"}
        with self._cluster.consumer(facts) as consumer:
            consumer.subscribe([self._topic])

            def enough() -> bool:
                self.read += [it.value or "" for it in stand.poll(consumer)]
                return len(self.read) >= number

            until(f"{number} orders for {self._name}", enough)
            consumer.commit(asynchronous=False)


@dataclass
class Decoupled:
    sent: list[str]
    kitchen: list[str]  # which was away
    books: list[str]  # which came later
    acknowledged: list[int]  # of the till's orders, while the kitchen is there, away, and back
    kept: int  # orders that a service finds after retention
    understood: int  # by a service that knows the old names, when the till has new ones

    def __repr__(self) -> str:
        rows = [
            ("the kitchen, away for a while", len(self.kitchen)),
            ("the books, added later", len(self.books)),
            ("the audit, added after retention", self.kept),
            ("the kitchen, after the till renamed a field", self.understood),
        ]
        return repr(Table(("a service", f"orders that it got, of {len(self.sent)}"), rows))

    def verdicts(self) -> Cases:
        return {
            "C177": {
                "one that was away finds all it has missed": self.kitchen == self.sent,
                "the till notices nothing": self.acknowledged == [ORDERS // 3] * 3,
                "one that is added later finds all": self.books == self.sent,
                "one that is added after retention finds all": self.kept == len(self.sent),
                "the till renames a field, and nobody else has to change": self.understood
                == len(self.sent),
            }
        }


def decoupled(cluster: Cluster) -> Decoupled:
    topic = stand.topic(cluster, "orders")
    orders = house.orders(ORDERS)
    acknowledged = []
    sent = [json.dumps({"guest": guest, "tea": tea}) for guest, tea in orders]
    kitchen, books = (Service(cluster, topic, name) for name in ("kitchen", "books"))
    for step in range(3):  # the kitchen is away during the second
        part = orders[step * 20 : step * 20 + 20]
        acknowledged.append(till(cluster, topic, part, "tea"))
        if step != 1:
            kitchen.work(20 * (step + 1))
    books.work(ORDERS)
    kept = _after_retention(cluster, sent)
    renamed = stand.topic(cluster, "orders")
    till(cluster, renamed, orders, "drink")
    understood = sum(_understood(it.value or "") for it in stand.read(cluster, renamed))
    return Decoupled(sent, kitchen.read, books.read, acknowledged, kept, understood)


def till(cluster: Cluster, topic: str, orders: Iterable[house.Pair], name: str) -> int:
    """Writes orders, with this name for the tea; how many of them are acknowledged."""
    records = [(guest, json.dumps({"guest": guest, name: tea})) for guest, tea in orders]
    return stand.send(cluster, topic, records)


def _understood(order: str) -> bool:
    """Does the kitchen know what to brew?"""
    return "tea" in json.loads(order)


def _after_retention(cluster: Cluster, orders: list[str]) -> int:
    """What is left in a topic that keeps a second of two days."""
    topic = stand.topic(cluster, "orders", retention_ms=1000, segment_ms=500)
    stand.send(cluster, topic, [("", it) for it in orders])
    return until("retention", lambda: _fewer(cluster, topic, len(orders)))[0]


def _fewer(cluster: Cluster, topic: str, number: int) -> tuple[int, ...]:
    left = len(stand.read(cluster, topic))
    return (left,) if left < number else ()
