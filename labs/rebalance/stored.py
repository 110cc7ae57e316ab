"""What is stored where: records of __consumer_offsets, and the nodes of ZooKeeper.

broker-1/__consumer_offsets-49/*.log    read as files, from the leader's own directory
zookeeper                               asked by a session of its own
"""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from kazoo.client import KazooClient
from lab import LOOK, configure

from engine import Cluster
from engine.coordinator.records import OffsetKey, decode_key, decode_value
from engine.storage import records
from engine.storage.batch import scan
from rebalance.stand import OFFSETS, partitions

SMALL = {"segment_bytes": "2000", "min_cleanable_dirty_ratio": "0.01"}
USUAL = {"segment_bytes": "104857600", "min_cleanable_dirty_ratio": "0.5"}
PATIENCE = 20.0  # seconds for the cleaner, which looks for work every 200 ms


class OffsetsRecord(NamedTuple):
    """A record of __consumer_offsets, decoded."""

    partition: int
    at: int  # its own offset
    key: Any
    value: Any  # None: a tombstone


def commits(cluster: Cluster, group: str) -> list[OffsetsRecord]:
    """The commits of a group, from whichever of all the partitions they are in."""
    found = (
        record
        for number in places(cluster, group)
        for data in _files(cluster, number)
        for record in _records(number, data)
    )
    return [it for it in found if isinstance(it.key, OffsetKey) and it.key.group == group]


def after_cleaning(cluster: Cluster, group: str, fewer_than: float) -> list[OffsetsRecord]:
    """What the cleaner leaves of a group's commits; all of them, if it does nothing in time."""
    deadline = time.monotonic() + PATIENCE
    while len(left := commits(cluster, group)) >= fewer_than and time.monotonic() < deadline:
        time.sleep(LOOK)
    return left


def places(cluster: Cluster, group: str) -> list[int]:
    """The partitions of __consumer_offsets whose leader's files contain these letters."""
    found, letters = [], group.encode()
    for number in range(partitions(cluster, OFFSETS)):
        if any(letters in data for data in _files(cluster, number)):
            found.append(number)
    return found


def _files(cluster: Cluster, partition: int) -> list[bytes]:
    leader = cluster.leader(OFFSETS, partition)
    directory = cluster.directory(leader) / f"{OFFSETS}-{partition}"
    while True:
        try:
            return [path.read_bytes() for path in sorted(directory.glob("*.log"))]
        except FileNotFoundError:
            continue  # the cleaner has just put another file in its place: look again


def _records(partition: int, data: bytes) -> Iterator[OffsetsRecord]:
    for position, header in scan(data):
        for record in records.decode(data[position : position + header.size]):
            key = decode_key(record.key or b"")
            value = None if record.value is None else decode_value(key, record.value)
            yield OffsetsRecord(partition, record.offset, key, value)


@contextmanager
def small_segments(cluster: Cluster) -> Iterator[None]:
    """So that the cleaner has something to do: it never touches the segment that is written to."""
    configure(cluster, OFFSETS, **SMALL)
    try:
        yield
    finally:
        configure(cluster, OFFSETS, **USUAL)


# -- ZooKeeper ---------------------------------------------------------------------------------


@contextmanager
def zookeeper(cluster: Cluster) -> Iterator[KazooClient]:
    """A session with ZooKeeper."""
    keeper = KazooClient(cluster.zookeeper)
    keeper.start()
    try:
        yield keeper
    finally:
        keeper.stop()
        keeper.close()


def connections(cluster: Cluster) -> int:
    """How many clients are connected to ZooKeeper, as its four-letter word srvr says."""
    with zookeeper(cluster) as keeper:
        said = keeper.command(b"srvr")
    found = re.search(r"Connections: (\d+)", said)
    assert found, "so ZooKeeper answers to srvr"
    return int(found[1])


def znodes(cluster: Cluster) -> dict[str, int]:
    """Every node of ZooKeeper, and by which transaction it was written last.

    Except the states of partitions: a replica may leave or join an ISR at any time.
    """
    found, todo = {}, ["/"]
    with zookeeper(cluster) as keeper:
        while todo:
            path = todo.pop()
            for name in keeper.get_children(path):
                below = f"{path.rstrip('/')}/{name}"
                stat = keeper.exists(below)
                if stat is not None and not re.search("/state$|isr_change", below):
                    found[below] = stat.mzxid
                    todo.append(below)
    return found
