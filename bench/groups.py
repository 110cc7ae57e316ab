"""Consumer groups: python -m bench.groups

    assignors    1,000 members share 10,000 partitions, and one of them leaves: the time of the
                 leader, and the number of partitions that move, beside kafka-python's sticky
                 assignor
    rebalances   a group of three, which a fourth member joins and leaves: the time until every
                 partition is read again, and the longest pause of one that did not move

Without a rebalance delay. The fewest possible moves of an even assignment are the partitions of the
member that left. A pause is measured from one record of a partition to the next, while a producer
writes to all of them all the time; so it contains the pace of that producer, which is shown beside
it.
"""

import argparse
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from itertools import pairwise
from typing import Any, NamedTuple

import confluent_kafka
from kafka.coordinator.assignors.sticky.sticky_assignor import (
    StickyAssignmentExecutor,
    StickyAssignorMemberMetadataV1,
)
from kafka.structs import TopicPartition as KafkaPythonPartition

import engine
from bench.table import number, table
from engine.assignors import ASSIGNORS, Subscriber
from engine.cluster.cluster import Cluster
from engine.model import TopicPartition

TOPIC = "orders"
MEMBERS, PARTITIONS = 1_000, 10_000
GROUP, SHARED = 3, 12  # members before one comes, partitions that they share
PACE = 0.005  # seconds between two records of a partition
PATIENCE = 60.0

Shares = Mapping[str, Iterable[TopicPartition]]


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.groups", description=__doc__)
    parser.add_argument("--members", type=int, default=MEMBERS)
    parser.add_argument("--partitions", type=int, default=PARTITIONS)
    options = parser.parse_args()
    print(f"{options.members} members, {options.partitions} partitions, one member goes\n")
    print(table(["", "s", "moved", "fewest"], assignors(options.members, options.partitions)))
    print(f"\nA group of {GROUP} and {SHARED} partitions; a fourth member comes, and goes\n")
    head = ["", "all read again, s", "... when it goes", "silence of those that stay", "pace"]
    print(table(head, rebalances()))


# -- assignors -------------------------------------------------------------------------------


def assignors(members: int, partitions: int) -> list[list[str]]:
    ours = {
        name: lambda held, assign=each.assign: assign(
            [
                Subscriber(name, (TOPIC,), tuple(owned), generation=1)
                for name, owned in held.items()
            ],
            {TOPIC: partitions},
        )
        for name, each in ASSIGNORS.items()
        if name != "cooperative-sticky"  # the same in the end, in two rounds
    }
    rows = []
    for name, assign in {**ours, "kafka-python's sticky": _kafka_python(partitions)}.items():
        names = [f"member-{each:04}" for each in range(members)]
        before = {name: tuple(owned) for name, owned in assign(dict.fromkeys(names, ())).items()}
        gone = before.pop(names[members // 2])
        began = time.perf_counter()
        after = assign(before)
        took = time.perf_counter() - began
        rows.append([name, number(took), str(len(moves(before, after))), str(len(gone))])
    return rows


def moves(before: Shares, after: Shares) -> list[TopicPartition]:
    """The partitions that have another owner, with those of the member that left."""
    old = {each: name for name, share in before.items() for each in share}
    return [each for name, share in after.items() for each in share if old.get(each) != name]


def _kafka_python(partitions: int) -> Callable[[Shares], Shares]:
    class Metadata:
        """The part of kafka-python's cluster metadata that it reads."""

        def topics(self) -> set[str]:
            return {TOPIC}

        def partitions_for_topic(self, topic: str) -> set[int]:
            return set(range(partitions))

    def assign(held: Shares) -> Shares:
        told = {
            name: StickyAssignorMemberMetadataV1(
                partitions=[KafkaPythonPartition(*each) for each in owned],
                generation=1,
                subscription=[TOPIC],
            )
            for name, owned in held.items()
        }
        work = StickyAssignmentExecutor(Metadata(), told)
        work.perform_initial_assignment()
        work.balance()
        return {
            name: [
                TopicPartition(topic, each)
                for topic, numbers in work.get_final_assignment(name)
                for each in numbers
            ]
            for name in held
        }

    return assign


# -- rebalances ------------------------------------------------------------------------------


class Reading(NamedTuple):
    """A record arrived."""

    at: float
    member: str
    partition: int


class Reader(threading.Thread):
    """A member, from its start until it is stopped; it records what it reads."""

    def __init__(self, name: str, kind: Any, settings: dict[str, Any], seen: list[Reading]) -> None:
        super().__init__(name=name, daemon=True)
        self._consumer = kind(settings)
        self._seen = seen
        self._going = threading.Event()

    def run(self) -> None:
        self._consumer.subscribe([TOPIC])
        while not self._going.is_set():
            for message in self._consumer.consume(100, 0.05):
                if message.error() is None:
                    reading = Reading(time.perf_counter(), self.name, message.partition())
                    self._seen.append(reading)
        self._consumer.close()

    def go(self) -> None:
        self._going.set()
        self.join(PATIENCE)


def rebalances() -> list[list[str]]:
    rows = []
    for client, kind in (("ours", engine.Consumer), ("confluent", confluent_kafka.Consumer)):
        for strategy in ("range", "roundrobin", "sticky", "cooperative-sticky"):
            if client == "confluent" and strategy == "sticky":
                continue  # librdkafka has none
            rows.append([f"{client}, {strategy}", *_rebalance(kind, strategy)])
    return rows


def _rebalance(kind: Any, strategy: str) -> list[str]:
    with ExitStack() as stack:
        cluster = stack.enter_context(Cluster(1, config={"num.partitions": str(SHARED)}))
        seen: list[Reading] = []
        stack.enter_context(Writing(cluster.bootstrap))
        settings = {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "bench",
            "partition.assignment.strategy": strategy,
            "heartbeat.interval.ms": 100,
            "auto.offset.reset": "latest",
        }
        readers = [Reader(f"member-{each}", kind, settings, seen) for each in range(GROUP + 1)]
        *members, late = readers
        for each in members:
            each.start()
            stack.callback(each.go)
        _await_all(seen, 0.0, {each.name for each in members})
        time.sleep(1)  # some records of the calm, to compare with
        calm = _longest_silence(seen, time.perf_counter() - 1, time.perf_counter())
        came = time.perf_counter()
        late.start()
        read = _await_all(seen, came, {each.name for each in readers})
        stays = _stayed(seen, came, read)
        went = time.perf_counter()
        late.go()
        left = _await_all(seen, went, {each.name for each in members})
        silence = _longest_silence(seen, came, read, stays)
        return [number(read - came), number(left - went), number(silence), number(calm)]


class Writing:
    """Records to every partition, all the time."""

    def __init__(self, bootstrap: str) -> None:
        self._producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> None:
        self._producer.produce(TOPIC, b"x")  # which creates it
        self._producer.flush(PATIENCE)
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(PACE):
            for partition in range(SHARED):
                self._producer.produce(TOPIC, b"x", partition=partition)
            self._producer.poll(0)
        self._producer.flush(PATIENCE)


def _await_all(seen: list[Reading], since: float, members: set[str]) -> float:
    """The time at which every partition was read again, by a group of exactly these members."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        owners: dict[int, str] = {}
        for at, member, partition in list(seen):
            if at > since:
                owners[partition] = member
        if len(owners) == SHARED and set(owners.values()) == members:
            first: dict[tuple[int, str], float] = {}
            for at, member, partition in list(seen):
                if at > since and owners[partition] == member:
                    first.setdefault((partition, member), at)
            return max(first.values())
        time.sleep(0.01)
    raise TimeoutError(f"{members} did not share all partitions in {PATIENCE:.0f} s")


def _stayed(seen: list[Reading], since: float, until: float) -> set[int]:
    """The partitions that the same member read before and after."""
    owners: dict[int, set[str]] = {}
    for at, member, partition in seen:
        if since - 1 < at <= until:
            owners.setdefault(partition, set()).add(member)
    return {partition for partition, names in owners.items() if len(names) == 1}


def _longest_silence(
    seen: list[Reading], since: float, until: float, partitions: Iterable[int] = range(SHARED)
) -> float:
    longest = 0.0
    for partition in partitions:
        times = [at for at, _, each in seen if each == partition and since - 1 <= at <= until + 1]
        longest = max([longest, *(b - a for a, b in pairwise(times))])
    return longest


if __name__ == "__main__":
    main()
