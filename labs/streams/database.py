"""A database whose changes are a stream: each is published, and whoever reads has the table, too.

    prices (SQLite) ── triggers ──> changes ── publish ──> topic ──> another table
         └─ its own log on the disk (-wal), for itself

SQLite stands in for MySQL (binlog) and Redis (AOF): triggers write down each change.
"""

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from table import Table

from engine import Cluster
from engine.cluster.scratch import Scratch
from streams import house, stand
from streams.stand import Record
from streams.unbounded import Cases

TABLE = "CREATE TABLE prices (tea TEXT PRIMARY KEY, price INTEGER NOT NULL)"
LOGGED = "CREATE TABLE changes (number INTEGER PRIMARY KEY, tea TEXT, price INTEGER)"
TRIGGERS = {
    "INSERT": "INSERT INTO changes (tea, price) VALUES (new.tea, new.price)",
    "UPDATE": "INSERT INTO changes (tea, price) VALUES (new.tea, new.price)",
    "DELETE": "INSERT INTO changes (tea, price) VALUES (old.tea, NULL)",
}

Prices = dict[str, int]


class Database:
    """The tea house's price list, and what it tells of its changes."""

    def __init__(self, path: Path | str = ":memory:", triggers: bool = True) -> None:
        self.path = Path(path)
        self.asked = 0  # statements, by whomever
        self._base = sqlite3.connect(path, isolation_level=None)
        self._base.execute("PRAGMA journal_mode = WAL")
        self._base.execute(TABLE)
        self._base.execute(LOGGED)
        if triggers:
            for deed, then in TRIGGERS.items():
                self.run(f"CREATE TRIGGER on_{deed} AFTER {deed} ON prices BEGIN {then}; END")
        self._published = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._base.close()

    def run(self, statement: str, *values: object) -> list[tuple[str, int]]:
        self.asked += 1
        return list(self._base.execute(statement, values))

    def table(self) -> Prices:
        return dict(self.run("SELECT tea, price FROM prices ORDER BY tea"))

    def changes(self) -> list[tuple[str, str | None]]:
        """New ones, in order: the tea and its price; None: it is no more."""
        rows = list(
            self._base.execute("SELECT * FROM changes WHERE number > ?", (self._published,))
        )
        self._published = rows[-1][0] if rows else self._published
        return [(tea, None if price is None else str(price)) for _, tea, price in rows]

    @property
    def own_log(self) -> int:
        """Bytes that it has written to its log on the disk."""
        log = self.path.with_name(f"{self.path.name}-wal")
        return log.stat().st_size if log.exists() else 0


def work(database: Database) -> None:
    """A day at the tea house: prices come, change, and go."""
    for tea, price in house.PRICES.items():
        database.run("INSERT INTO prices VALUES (?, ?)", tea, price)
    database.run("UPDATE prices SET price = price + 1 WHERE tea <> 'oolong'")
    database.run("DELETE FROM prices WHERE tea = 'sencha'")
    database.run("INSERT INTO prices VALUES ('matcha', 8)")


def apply(changes: Iterable[Record], database: Database) -> None:
    """As a replica does: change by change."""
    for it in changes:
        if it.value is None:
            database.run("DELETE FROM prices WHERE tea = ?", it.key)
        else:
            database.run("INSERT OR REPLACE INTO prices VALUES (?, ?)", it.key, int(it.value))


# -- a replica -------------------------------------------------------------------------------


@dataclass
class Replica:
    """A day of changes published; one more change that is only in the database's own log."""

    published: int
    source: Prices
    replica: Prices
    logged: int  # bytes of the own log, because of that one more change
    later: Prices  # the source with it
    unmoved: Prices  # the replica, once it has read all there is

    def __repr__(self) -> str:
        rows = [
            ("after a day", self.source, self.replica),
            ("and a change that is only logged", self.later, self.unmoved),
        ]
        return repr(Table(("", "the database", "its replica"), rows))

    def verdicts(self) -> Cases:
        return {
            "C164": {
                "each change is sent, and the replica is equal (a binlog)": self.published > 0
                and self.source == self.replica,
                "what is only in the database's own log gets there, too (an AOF)": self.logged > 0
                and self.later == self.unmoved,
            }
        }


def replica(cluster: Cluster) -> Replica:
    topic, scratch = stand.topic(cluster, "prices"), Scratch()
    with closing(_Removed(scratch)), Database(scratch.path / "shop") as shop, Database() as other:
        work(shop)
        published = stand.send(cluster, topic, shop.changes())
        apply(stand.read(cluster, topic), other)
        source, copy, size = shop.table(), other.table(), shop.own_log
        shop.run("DROP TRIGGER on_UPDATE")
        shop.run("UPDATE prices SET price = 9 WHERE tea = 'oolong'")
        stand.send(cluster, topic, shop.changes())
        apply(stand.read(cluster, topic), other)
        return Replica(published, source, copy, shop.own_log - size, shop.table(), other.table())


class _Removed:
    """A directory, while it is needed."""

    def __init__(self, scratch: Scratch) -> None:
        self.close = scratch.remove


# -- tables rebuilt elsewhere ----------------------------------------------------------------


@dataclass
class Broadcast:
    """Two processors rebuild the price list from its changes, and put prices to orders."""

    source: Prices
    rebuilt: dict[str, Prices]
    bills: dict[str, list[tuple[str, str, int]]]  # guest, tea, price
    expected: list[tuple[str, str, int]]
    asked: int  # statements that the database got from them

    def __repr__(self) -> str:
        rows = [("the database", self.source, "-"), *self._rows()]
        return repr(Table(("", "its price list", "orders with a price"), rows))

    def _rows(self) -> list[tuple[object, ...]]:
        return [(name, table, len(self.bills[name])) for name, table in self.rebuilt.items()]

    def verdicts(self) -> Cases:
        return {
            "C171": {
                "both have rebuilt the table": all(
                    it == self.source for it in self.rebuilt.values()
                ),
                "every order has the price that the database has": all(
                    it == self.expected for it in self.bills.values()
                ),
                "without asking the database anything": self.asked == 0,
            }
        }


def broadcast(cluster: Cluster) -> Broadcast:
    prices, orders = stand.compacted(cluster, "prices"), stand.topic(cluster, "orders")
    with Database() as shop:
        work(shop)
        stand.send(cluster, prices, shop.changes())
        source = shop.table()
        ordered = [(guest, tea) for guest, tea in house.orders(120) if tea in source]
        stand.send(cluster, orders, ordered)
        before = shop.asked
        rebuilt, bills = {}, {}
        for name in ("the till", "the kitchen"):
            with Database(triggers=False) as own:
                apply(stand.read(cluster, prices), own)
                table = rebuilt[name] = own.table()
            bills[name] = [
                (it.key, it.value or "", table[it.value or ""])
                for it in stand.read(cluster, orders)
            ]
        asked = shop.asked - before
    expected = [(guest, tea, source[tea]) for guest, tea in ordered]
    return Broadcast(source, rebuilt, bills, expected, asked)
