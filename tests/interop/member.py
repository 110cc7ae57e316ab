"""A member of a group, a process of its own around any client: reads, tells, and then commits.

    python -m tests.interop.member CLIENT BOOTSTRAP GROUP TOPIC STRATEGY

It writes a line for whatever happens. What was read is told before it is committed; so of one
that is killed, everything that it has committed is known.

    owns t-0 t-1      its partitions, whenever they are others
    read VALUE
    failed WHAT       a commit, or a poll
    closed

SIGTERM ends it in good order: it leaves its group.
"""

import asyncio
import signal
import sys
import warnings
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

SESSION, HEARTBEAT = 3000, 200  # milliseconds
BATCH = 50  # records that are committed together

# Where the strategies of clients in Python are, in their own packages.
ASSIGNORS = {
    "range": "range:RangePartitionAssignor",
    "roundrobin": "roundrobin:RoundRobinPartitionAssignor",
    "sticky": "sticky.sticky_assignor:StickyPartitionAssignor",
    "cooperative-sticky": "cooperative_sticky:CooperativeStickyAssignor",  # kafka-python's alone
}


def say(*words: object) -> None:
    print(*words, flush=True)


class Told:
    """Says what is owned when that changes, and what was read."""

    def __init__(self) -> None:
        self._owned: list[str] | None = None

    def owns(self, partitions: Iterable[Any]) -> None:
        owned = sorted(f"{each.topic}-{each.partition}" for each in partitions)
        if owned != self._owned:
            self._owned = owned
            say("owns", *owned)

    def read(self, values: Iterable[bytes]) -> None:
        text = "".join(f"read {value.decode()}\n" for value in values)
        sys.stdout.write(text)
        sys.stdout.flush()


class Ending:
    """Whether it was asked to end."""

    def __init__(self) -> None:
        self.asked = False
        signal.signal(signal.SIGTERM, self._ask)

    def _ask(self, number: int, frame: object) -> None:
        self.asked = True


def run_confluent(package: str, bootstrap: str, group: str, topic: str, strategy: str) -> None:
    """The same lines for both: this is what having the same methods is for."""
    ending, told, home = Ending(), Told(), import_module(package)
    consumer = home.Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": SESSION,
            "heartbeat.interval.ms": HEARTBEAT,
            "partition.assignment.strategy": strategy,
            "topic.metadata.refresh.interval.ms": 1000,
            "socket.timeout.ms": 4000,
        }
    )
    consumer.subscribe([topic])
    while not ending.asked:
        try:
            messages = consumer.consume(BATCH, 0.1)
            told.owns(consumer.assignment())
            good = [each for each in messages if each.error() is None]
            for each in messages:
                if each.error() is not None:
                    say("failed", each.error())
            if good:
                told.read(each.value() for each in good)
                consumer.commit(asynchronous=False)
        except home.KafkaException as error:
            say("failed", error)
    consumer.close()


def settings(package: str, bootstrap: str, group: str, strategy: str) -> dict[str, Any]:
    """What kafka-python and aiokafka have in common."""
    module, _, name = ASSIGNORS[strategy].partition(":")
    assignor = getattr(import_module(f"{package}.coordinator.assignors.{module}"), name)
    return {
        "bootstrap_servers": bootstrap.split(","),
        "group_id": group,
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
        "session_timeout_ms": SESSION,
        "heartbeat_interval_ms": HEARTBEAT,
        "partition_assignment_strategy": [assignor],
        "metadata_max_age_ms": 1000,
        "max_poll_records": BATCH,
    }


def run_kafka_python(package: str, bootstrap: str, group: str, topic: str, strategy: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # it reads its schemas in an old way
        kafka = import_module(package)
    ending, told = Ending(), Told()
    consumer = kafka.KafkaConsumer(topic, **settings(package, bootstrap, group, strategy))
    while not ending.asked:
        try:
            rows = consumer.poll(timeout_ms=100)
            told.owns(consumer.assignment())
            if rows:
                told.read(each.value for these in rows.values() for each in these)
                consumer.commit()
        except kafka.errors.KafkaError as error:
            say("failed", error)
    consumer.close()


def run_aiokafka(*arguments: str) -> None:
    asyncio.run(_run_aiokafka(*arguments))


async def _run_aiokafka(
    package: str, bootstrap: str, group: str, topic: str, strategy: str
) -> None:
    aiokafka = import_module(package)
    ending, told = Ending(), Told()
    consumer = aiokafka.AIOKafkaConsumer(topic, **settings(package, bootstrap, group, strategy))
    await consumer.start()
    while not ending.asked:
        try:
            rows = await consumer.getmany(timeout_ms=100)
            told.owns(consumer.assignment())
            if rows:
                told.read(each.value for these in rows.values() for each in these)
                await consumer.commit()
        except aiokafka.errors.KafkaError as error:
            say("failed", error)
    await consumer.stop()


Run = Callable[[str, str, str, str, str], None]

CLIENTS: dict[str, tuple[Run, str]] = {
    "ours": (run_confluent, "engine"),
    "confluent": (run_confluent, "confluent_kafka"),
    "kafka-python": (run_kafka_python, "kafka"),
    "aiokafka": (run_aiokafka, "aiokafka"),
}

if __name__ == "__main__":
    client, *arguments = sys.argv[1:]
    run, package = CLIENTS[client]
    run(package, *arguments)
    say("closed")
