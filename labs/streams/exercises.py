"""The exercises of 04_streams, from easy to hard. Answers are in labs/answers/streams.py.

1  a topic that is a table            4  the windows of an event
2  the fold of a changelog, at work   5  what is too late
3  a table as a stream                6  SQL
                                     7  exactly once, by hand
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from lab import settings

from engine import Cluster
from engine.cluster.event_stream import ClusterEvent
from engine.cluster.state import ClusterState
from engine.model import TopicPartition
from engine.table import Table
from streams import sample, stand
from streams.stand import TextRecord
from widgets import Check, Trial
from widgets.exercise import Code, agrees_with

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SEATS = "seats"
WANTED = {"Mei": "terrace", "Tom": "bar"}
MOVED, GONE = "Tom", "Lisi"

Changes = Sequence[tuple[str, int | None]]
Snapshot = Mapping[str, int]

# -- 1: a topic that is a table --------------------------------------------------------------


def seats(cluster: Cluster) -> Check:
    looks = Looks(cluster)
    return Check(
        f"The compacted topic {SEATS} says where guests sit: Mei on the terrace, Tom at the bar, "
        f"where he has moved from the garden, and {GONE}, who sat at the window, has gone",
        cluster,
        looks.missing,
        hint="Records of key and value: bar is Tom's second one, and Lisi's last has no value.",
    )


class Looks:
    """Reads the topic again only when there is something new in it."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._seen: list[TextRecord] = []
        self._end = 0

    def missing(self, state: ClusterState, events: Sequence[ClusterEvent]) -> str:
        found = state.partitions.get(TopicPartition(SEATS, 0))
        if found is None or found.leader not in found.replicas:
            return f"there is no topic {SEATS}"
        if TopicPartition(SEATS, 1) in state.partitions:
            return f"{SEATS} has more than one partition"
        if self._policy() != "compact":
            return f"{SEATS} is not compacted"
        end = found.replicas[found.leader].high_watermark
        if end > self._end:
            self._seen, self._end = stand.read(self._cluster, SEATS), end
        return lacking(self._seen)

    def _policy(self) -> str:
        return settings(self._cluster, SEATS)["cleanup.policy"]


def lacking(records: Iterable[TextRecord]) -> str:
    """What the records lack, to be that table with that past."""
    past: dict[str, list[str | None]] = {}
    for it in records:
        past.setdefault(it.key, []).append(it.value)
    now = {key: values[-1] for key, values in past.items()}
    for guest, seat in WANTED.items():
        if now.get(guest) != seat:
            return f"{guest} sits {now.get(guest) or 'nowhere'}"
    if "garden" not in past[MOVED]:
        return f"{MOVED} was never in the garden"
    if "window" not in past.get(GONE, []):
        return f"{GONE} never sat at the window"
    if now[GONE] is not None:
        return f"{GONE} is still at the {now[GONE]}"
    others = sorted(key for key, value in now.items() if key not in WANTED and value)
    return f"nobody knows {', '.join(others)}" if others else ""


# -- 2: the fold, which then brings back a processor's table ---------------------------------


def fold() -> Trial:
    return Trial(
        'Write fold(changes): the table that changes like ("Mei", 16) make; ("Mei", None) takes '
        "Mei out of it",
        agrees_with(table_of, _changes()),
        hint="Of each key the last change counts. And a tombstone for a key that is not there?",
    )


def table_of(changes: Changes) -> dict[str, int]:
    """The last value of each key, and no tombstones."""
    return {key: value for key, value in dict(changes).items() if value is not None}


def _changes() -> list[tuple[Changes]]:
    some: list[Changes] = [
        [],
        [("Mei", 3)],
        [("Mei", 3), ("Tom", 5), ("Mei", 4)],
        [("Mei", 3), ("Mei", None)],
        [("Tom", None)],
        [("Mei", 3), ("Mei", None), ("Mei", 0)],
    ]
    chance = Random(5)
    for _ in range(20):
        guests = [chance.choice(sample.GUESTS) for _ in range(30)]
        some.append([(it, chance.choice([None, 0, 1, 2, 3])) for it in guests])
    return [(each,) for each in some]


@dataclass
class Restored:
    """What the learner's fold makes of a real topic, before and after cleaning."""

    rows: list[tuple[str, object, object]]

    def __repr__(self) -> str:
        return repr(Table(("", "records read", "the table is back"), self.rows))


def restore(cluster: Cluster, fold: Code) -> Restored:
    """A table is lost, and brought back by the learner's code; then once more, compacted.

    Code that is not right yet is told so, and nothing is lost.
    """
    if wrong := agrees_with(table_of, _changes())(fold):
        return Restored([("not yet", 0, wrong)])
    topic = cluster.topic("balances", segment_bytes=4000)
    events = [(guest, str(place)) for place, (guest, _) in enumerate(sample.some_cards(600))]
    gone: list[tuple[str, str | None]] = [("Mei", None)]
    stand.send(cluster, topic, [*events, *gone])
    truth = {key: int(value) for key, value in dict(events).items() if key != "Mei"}
    every = stand.read(cluster, topic)
    few = stand.cleaned(cluster, topic, len(every) // 2)
    rows: list[tuple[str, object, object]] = []
    for name, records in {"every change": every, "compacted": few}.items():
        changes = [(it.key, None if it.value is None else int(it.value)) for it in records]
        number: object = len(records) if name == "every change" else "fewer than half"
        rows.append((name, number, dict(fold(changes)) == truth))
    return Restored(rows)


# -- 3: a table as a stream ------------------------------------------------------------------


def as_stream() -> Trial:
    return Trial(
        "Write changes(before, after): what has to be sent so that a table that was `before` is "
        "`after`, sorted by key; nothing for what stays as it is",
        agrees_with(changes, _snapshots()),
        hint="Three kinds: new, another value, gone. What is gone needs a record, too.",
    )


def changes(before: Snapshot, after: Snapshot) -> list[tuple[str, int | None]]:
    keys = sorted({*before, *after})
    return [(key, after.get(key)) for key in keys if before.get(key) != after.get(key)]


def _snapshots() -> list[tuple[Snapshot, Snapshot]]:
    chance = Random(3)

    def some() -> Snapshot:
        guests = chance.sample(sample.GUESTS, chance.randrange(6))
        return {guest: chance.randrange(3) for guest in guests}

    return [({}, {}), ({}, {"Mei": 0}), ({"Mei": 0}, {}), *((some(), some()) for _ in range(40))]


# -- 4 and 5: time ---------------------------------------------------------------------------


def windows() -> Trial:
    return Trial(
        "Write windows(at, size, every): the starts of all windows of `size` seconds, one of which "
        "begins every `every` seconds (from 0 on), that an event at `at` belongs to, in order",
        agrees_with(belongs, _times()),
        hint="A window holds its start and not its end. With size = every there is just one.",
    )


def belongs(at: int, size: int, every: int) -> list[int]:
    """As Spark's window() does it: the last start not after it, and those before that reach it."""
    last = at - at % every
    return [start for start in range(last, at - size, -every) if start >= 0][::-1]


def _times() -> list[tuple[int, int, int]]:
    kinds = [(10, 10), (10, 5), (60, 20), (7, 7), (30, 10)]
    return [(at, *kind) for kind in kinds for at in (0, 4, 5, 9, 10, 11, 59, 60, 61, 100)]


Batches = Sequence[Sequence[int]]


def late() -> Trial:
    return Trial(
        "Write late(batches, delay): the events that come too late, in order. Each batch is a list "
        "of event times; an event is late if it is older than the watermark, which is the newest "
        "time of all batches before, less the delay",
        agrees_with(dropped, _batches()),
        hint="The watermark moves between batches only, and never back.",
    )


def dropped(batches: Batches, delay: int) -> list[int]:
    found: list[int] = []
    watermark = None
    for batch in batches:
        found += [at for at in batch if watermark is not None and at < watermark]
        times = [*batch, *([] if watermark is None else [watermark + delay])]
        watermark = max(times) - delay if times else None
    return found


def _batches() -> list[tuple[Batches, int]]:
    told: list[tuple[Batches, int]] = [
        ([], 5),
        ([[10, 1, 20]], 5),
        ([[10], [4, 5, 6]], 5),
        ([[10], [], [4]], 5),
        ([[30], [10], [24, 25, 40], [34, 35]], 5),
    ]
    chance = Random(9)
    for _ in range(20):
        told.append(([[chance.randrange(60) for _ in range(4)] for _ in range(5)], 10))
    return told


# -- 7: exactly once -------------------------------------------------------------------------


class CrashError(Exception):
    """The machine is gone; what was written is written."""


class Paper:
    """A topic of bills, whose writer crashes at one moment: before a write, or just after it."""

    def __init__(self, crash: int) -> None:
        self.bills: list[tuple[int, str]] = []
        self._left = crash  # steps until then

    def read(self) -> list[tuple[int, str]]:
        return list(self.bills)

    def write(self, epoch: int, row: str) -> None:
        self._step()
        self.bills.append((epoch, row))
        self._step()

    def _step(self) -> None:
        self._left -= 1
        if not self._left:
            raise CrashError


EPOCHS = [["oolong", "sencha", "oolong"], [], ["oolong"], ["jasmine", "jasmine"]]


def exactly_once() -> Trial:
    return Trial(
        "Write publish(epoch, rows, topic): each row is in the topic once, in order, although it "
        "is called again after a crash. topic.read() gives all (epoch, row) there are so far, "
        "topic.write(epoch, row) adds one. Two guests may order the same",
        published,
        hint="How many rows of this epoch are there already?",
    )


def published(code: Code) -> str:
    """What is wrong with the learner's function, by the earliest crash that shows it."""
    truth = [(number, row) for number, rows in enumerate(EPOCHS) for row in rows]
    for crash in range(2 * len(truth) + 2):  # 0: there is none
        topic = Paper(crash)
        for number, rows in enumerate(EPOCHS):
            try:
                _call(code, number, rows, topic)
            except CrashError:
                try:
                    _call(code, number, rows, topic)  # started again
                except _WrongError as error:
                    return str(error)
            except _WrongError as error:
                return str(error)
        if topic.bills != truth:
            when = f"after a crash at step {crash} " if crash else ""
            return f"{when}the topic has {_pairs(topic.bills)}; wanted: {_pairs(truth)}"
    return ""


def _pairs(rows: Sequence[tuple[int, str]]) -> str:
    return ", ".join(f"{number} {name}" for number, name in rows) or "nothing"


class _WrongError(Exception):
    pass


def _call(code: Code, epoch: int, rows: Sequence[str], topic: Paper) -> None:
    try:
        code(epoch, list(rows), topic)
    except CrashError:
        raise
    except Exception as error:  # the learner's, and told
        raise _WrongError(f"it raises {type(error).__name__}: {error}") from error


# -- 6: SQL ----------------------------------------------------------------------------------

MENU = [("Mei", "oolong", 2), ("Tom", "sencha", 1), ("Mei", "jasmine", 1), ("Lisi", "oolong", 3)]
MENU += [("Tom", "oolong", 1), ("Mei", "oolong", 1), ("Lisi", "jasmine", 2), ("Tom", "jasmine", 0)]


def thirsty(spark: "SparkSession") -> Trial:
    """Judged by what Spark makes of it, over two tables that differ."""
    return Trial(
        "Write query(): SQL that finds, in orders(guest, tea, cups), the guests with more than two "
        "cups of oolong, and how many, the thirstiest first",
        lambda code: _asked(spark, code),
        hint="WHERE, GROUP BY, HAVING, ORDER BY, in this order.",
    )


def _asked(spark: "SparkSession", code: Callable[[], Any]) -> str:
    more = [*MENU, ("Tom", "oolong", 8), ("Zhangsan", "sencha", 9), ("Wangwu", "oolong", 1)]
    for orders in (MENU, more):
        sums: dict[str, int] = {}
        for guest, tea, cups in orders:
            if tea == "oolong":
                sums[guest] = sums.get(guest, 0) + cups
        truth = sorted(((n, guest) for guest, n in sums.items() if n > 2), reverse=True)
        view = spark.createDataFrame(orders, "guest STRING, tea STRING, cups INT")
        view.createOrReplaceTempView("orders")
        try:
            found = [(int(row[1]), str(row[0])) for row in spark.sql(code()).collect()]
        except Exception as error:  # the learner's, and told
            return f"it raises {type(error).__name__}: {str(error).splitlines()[0]}"
        if sorted(found) != sorted(truth) or [n for n, _ in found] != [n for n, _ in truth]:
            return f"in {len(orders)} orders it finds {_pairs(found)}; wanted: {_pairs(truth)}"
    return ""
