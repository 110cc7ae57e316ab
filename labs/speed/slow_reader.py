"""Four readers of one topic, one of them slow: what the brokers served to them, and who is slow.

    served = slow_reader.read(cluster, CASES[0])     a row for each Fetch that brought records
    slow_reader.slow(served)                         "" or a sentence about the slow reader

    name      Fetches that brought records      what is planted
    anna      |    |    |    |
    ben       | | | | | | | | | | | | ...       each of them brings little
    carla     |    |    |    |
    dora      |        |        |        |      the broker holds each of them

Spoiler: CASES are what the exercise "find the slow reader" plants.

Invariant: who is slow is told by counts, and by what all of a reader's Fetches have in common: one
that is slow because the machine is busy does not count.
"""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from engine import Cluster, TopicPartition
from speed import shared

NAMES = ("anna", "ben", "carla", "dora")
RECORDS, SIZE = 600, 200  # of the topic, about 120 KB
HELD = 500  # ms, by fetch.max.wait.ms
SETTINGS = {"max.partition.fetch.bytes": 30_000, "fetch.max.wait.ms": HELD}  # of all of them
SMALL = {"max.partition.fetch.bytes": 1000}
LATE = {"fetch.min.bytes": 1_000_000}
CASES: Sequence[Mapping[str, Mapping[str, Any]]] = ({"ben": SMALL}, {"dora": LATE}, {"anna": SMALL})


def read(
    cluster: Cluster, planted: Mapping[str, Mapping[str, Any]]
) -> list[shared.TracedPartition]:
    """One after the other reads a topic to its end; `planted`: settings of some of them."""
    topic = cluster.topic("slow", replicas=[1])
    cluster.write(topic, ["x" * SIZE] * RECORDS, linger_ms=1000, batch_size=1000)
    with shared.traced(cluster, topic) as served:
        for name in NAMES:
            own = {"client.id": name, "group.id": shared.fresh(name), **planted.get(name, {})}
            consumer = cluster.consumer(SETTINGS | own)
            try:
                consumer.assign([TopicPartition(topic, 0, 0)])
                found = 0
                while found < RECORDS:
                    found += len(consumer.consume(RECORDS - found, 1))
            finally:
                consumer.close()
    return [it for it in served if it.client in NAMES and it.api == "FETCH" and it.bytes]


def slow(served: Sequence[shared.TracedPartition]) -> str:
    """What makes one of them slow still."""
    times = {name: [it.took for it in served if it.client == name] for name in NAMES}
    usual = median(map(len, times.values()))
    for name, took in times.items():
        if len(took) > 3 * usual:
            return f"{name} still needs many more answers than the others"
        if min(took) >= HELD:
            return f"the broker still holds each Fetch of {name}"
    return ""
