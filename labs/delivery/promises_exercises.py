"""The exercises of 07_promises, judged by what the cluster holds afterwards.

settings       of a producer, in a storm of the real cluster
stored_once    a program with a consumer and a database, killed before each of its calls once
copied_once    a program with a consumer and a producer, killed in the same way
since          a consumer that shall read all partitions from a time on
"""

import sqlite3
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from typing import Any

from delivery.shared import await_markers, fresh
from engine import Cluster, Consumer, Producer
from engine.wire.apis import Api
from widgets import Trial
from widgets.exercise import Code

ORDERS = [f"order {number}" for number in range(100)]
CALM = 60  # of them are sent before the leader is cut off
LONG = 10.0  # seconds for followers to copy them
PATIENCE = 60.0  # seconds for a producer that tries again


# -- settings ----------------------------------------------------------------------------------


def settings(cluster: Callable[[], Cluster]) -> Trial:
    return Trial(
        "Settings of a producer with which each of a hundred records is stored once, in order",
        lambda code: _storm(cluster(), code),
        hint="Who must have the record before the answer counts? And how does a broker know that "
        "it has a record already?",
    )


def _storm(cluster: Cluster, code: Code) -> str:
    topic = cluster.topic("storm", replicas=[1, 2, 3])
    try:
        producer = cluster.producer(code())
    except Exception as error:  # the learner's, and told
        return f"no producer takes these settings: {type(error).__name__}: {error}"
    try:
        producer.produce(topic, ORDERS[0], partition=0)
    except Exception as error:  # such as a transaction that nobody has begun
        producer.close(0)
        return f"the first record is not sent: {type(error).__name__}: {error}"
    producer.flush(PATIENCE)
    for number, value in enumerate(ORDERS[1:CALM], 1):
        if number in (20, 40):
            cluster.drop_next_answer(1, Api.PRODUCE)
        producer.produce(topic, value, partition=0)
        producer.flush(PATIENCE)
    try:  # until the followers have copied them
        cluster.wait("the first records", lambda: len(cluster.read(topic)) >= CALM, LONG)
    except TimeoutError:
        return "some are lost before a broker fails"
    cluster.cut(1, 2)
    cluster.cut(1, 3)
    for value in ORDERS[CALM:]:
        producer.produce(topic, value, partition=0)
    producer.flush(1.0)
    cluster.kill(1)
    cluster.heal()
    cluster.wait("another leader", lambda: cluster.leader(topic) in (2, 3))
    producer.flush(PATIENCE)
    producer.close(0)
    cluster.mend()
    return _compared(cluster.read(topic))


def _compared(found: list[str]) -> str:
    wrong = {
        "some are lost": set(ORDERS) > set(found),
        "some are there twice": len(set(found)) < len(found),
        "they are not in order": sorted(found, key=ORDERS.index) != found,
    }
    return ", ".join(what for what, is_so in wrong.items() if is_so)


# -- programs that are killed ------------------------------------------------------------------

VALUES = ["two teas", "one coffee"]
MOST_CALLS = 60  # of a program for two records


class Killed(BaseException):
    """No program can catch this: it is dead."""


class Countdown:
    """How many more calls a program may make before it is killed."""

    def __init__(self, calls: int) -> None:
        self.left = calls

    def call(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Killed


class Watched:
    """A client or a database whose every call is counted."""

    def __init__(self, thing: Any, countdown: Countdown) -> None:
        self._thing, self._countdown = thing, countdown

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            self._countdown.call()
            return getattr(self._thing, name)(*given, **named)

        return call

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *raised: Any) -> Any:
        """Of a database: the end of `with`, which commits if nothing was raised."""
        if raised[0] is None:
            self._countdown.call()
        return self._thing.__exit__(*raised)


def _killed_everywhere(
    run: Callable[[int, Countdown], None], found: Callable[[int], list[str]]
) -> str:
    """Kill a program before its first call, its second ..., and begin it again each time."""
    for calls in range(MOST_CALLS):
        try:
            countdown = Countdown(calls)
            try:
                run(calls, countdown)
            except Killed:
                run(calls, Countdown(MOST_CALLS))
        except (Killed, Exception) as error:  # the learner's, and told
            return f"killed at call {calls + 1} and begun again, it raises {error!r}"
        if sorted(found(calls)) != sorted(VALUES):
            return (
                f"killed at call {calls + 1}, it leaves {' and '.join(found(calls)) or 'nothing'}"
            )
        if countdown.left >= 0:
            return ""
    return f"it makes more than {MOST_CALLS} calls"


def _consumer(cluster: Cluster, group: str) -> Consumer:
    settings = {"auto.offset.reset": "earliest", "enable.auto.commit": False}
    where = {"bootstrap.servers": cluster.bootstrap, "group.id": group}
    return Consumer({**settings, **where, "enable.partition.eof": True})


def stored_once(cluster: Callable[[], Cluster]) -> Trial:
    return Trial(
        "A program that stores each value once, however often it is killed",
        lambda code: _stored(cluster(), code),
        hint="Which offset is the right one after a crash: the group's, or the one in the "
        "database? TopicPartition(topic, 0, offset) says where to begin.",
    )


def _stored(cluster: Cluster, code: Code) -> str:
    topic, name = cluster.topic("values"), fresh("stored")
    databases: dict[int, sqlite3.Connection] = {}
    cluster.write(topic, VALUES)

    def run(calls: int, countdown: Countdown) -> None:
        if calls not in databases:
            databases[calls] = end.enter_context(closing(_database()))
        database = databases[calls]
        consumer = _consumer(cluster, f"{name}-{calls}")
        try:
            code(Watched(consumer, countdown), Watched(database, countdown), topic)
        finally:
            database.rollback()  # what was not committed dies with the program

    def found(calls: int) -> list[str]:
        return [value for (value,) in databases[calls].execute("SELECT value FROM results")]

    with ExitStack() as end:
        return _killed_everywhere(run, found)


def _database() -> sqlite3.Connection:
    made = sqlite3.connect(":memory:")
    made.executescript(
        "CREATE TABLE results(value); CREATE TABLE place(next); INSERT INTO place VALUES (0)"
    )
    return made


def copied_once(cluster: Callable[[], Cluster]) -> Trial:
    return Trial(
        "A program that copies each value once, however often it is killed",
        lambda code: _copied(cluster(), code),
        hint="What has to be committed together? See send_offsets_to_transaction.",
    )


def _copied(cluster: Cluster, code: Code) -> str:
    source, name, targets = cluster.topic("values"), fresh("copied"), dict[int, str]()
    cluster.write(source, VALUES)

    def run(calls: int, countdown: Countdown) -> None:
        target = targets.get(calls) or cluster.topic("copies")
        targets[calls] = target
        mine = f"{name}-{calls}"
        consumer = _consumer(cluster, mine)
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "transactional.id": mine})
        code(Watched(consumer, countdown), Watched(producer, countdown), source, target)

    def found(calls: int) -> list[str]:
        await_markers(cluster)
        return cluster.read(targets[calls], isolation_level="read_committed")

    return _killed_everywhere(run, found)


# -- since -------------------------------------------------------------------------------------

TIME = 1_600_000_000_000  # ms
AGES = {0: (-2000, -1000, 0, 1000), 1: (-1000, 500, 2000), 2: (-3000, -2000)}  # by partition
YOUNGER = {(0, "0"), (0, "1000"), (1, "500"), (1, "2000")}
MISSING = 10.0  # seconds after which a record that has not come is missing
MOMENT, QUIET = 0.2, 1.5  # seconds to wait for records: one of many times, and at the end


def since(cluster: Callable[[], Cluster]) -> Trial:
    return Trial(
        "A consumer that reads all partitions from a time on",
        lambda code: _since(cluster(), code),
        hint="How often may assign be called? And what does offsets_for_times find in a partition "
        "that has no such record?",
    )


def _since(cluster: Cluster, code: Code) -> str:
    topic = cluster.topic("visits", partitions=len(AGES))
    for partition, ages in AGES.items():
        for age in ages:
            cluster.write(topic, [str(age)], partition=partition, timestamp=TIME + age)
    consumer = _consumer(cluster, fresh("since"))
    try:
        code(consumer, topic, TIME)
    except Exception as error:  # the learner's, and told
        return f"it raises {type(error).__name__}: {error}"
    if missing := _differs(_read(consumer, YOUNGER), YOUNGER):
        return missing
    for partition in AGES:
        cluster.write(topic, ["new"], partition=partition)
    new = {(partition, "new") for partition in AGES}
    return _differs(_read(consumer, new), new)


def _read(consumer: Consumer, wanted: set[tuple[Any, str]]) -> set[tuple[Any, str]]:
    """What is wanted, however slowly it comes, and what else comes in a moment."""
    found, deadline = set[tuple[Any, str]](), time.monotonic() + MISSING
    while not wanted <= found and time.monotonic() < deadline:
        found |= _records(consumer, MOMENT)
    return found | _records(consumer, QUIET)


def _records(consumer: Consumer, seconds: float) -> set[tuple[Any, str]]:
    found = consumer.consume(100, seconds)
    return {(it.partition(), it.value().decode()) for it in found if it.error() is None}


def _differs(found: set[tuple[Any, str]], wanted: set[tuple[Any, str]]) -> str:
    for partition, value in sorted(wanted - found):
        return f"the record {value!r} of partition {partition} is not read"
    for partition, value in sorted(found - wanted):
        return f"the record {value!r} of partition {partition} is read, and is too old"
    return ""
