"""What is kept where: the records of __consumer_offsets, and the nodes of ZooKeeper.

broker-1/__consumer_offsets-49/*.log    read as files, from the leader's own directory
zookeeper                               asked by a client of our own
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from kazoo.client import KazooClient

from engine import Cluster
from engine.client.admin.values import AlterConfigOpType, ConfigEntry, ConfigResource
from engine.coordinator.groups import partition_of
from engine.coordinator.records import OffsetKey, decode_key, decode_value
from engine.storage import records
from engine.storage.batch import scan
from rebalance import stand
from rebalance.stand import OFFSETS

PARTITIONS = 50  # of __consumer_offsets


class Entry(NamedTuple):
    """A record of __consumer_offsets, decoded."""

    at: int  # its own offset
    key: Any
    value: Any  # None: a tombstone


def log(cluster: Cluster, partition: int) -> list[Entry]:
    """What the leader's files hold of one partition of __consumer_offsets."""
    leader = stand.leaders(cluster.state(), OFFSETS)[partition]
    directory = cluster.directory(leader) / f"{OFFSETS}-{partition}"
    while True:
        try:
            return [it for path in sorted(directory.glob("*.log")) for it in _entries(path)]
        except FileNotFoundError:
            continue  # the cleaner has just put another file in its place: look again


def _entries(path: Path) -> list[Entry]:
    data, found = path.read_bytes(), []
    for position, header in scan(data):
        for record in records.decode(data[position : position + header.size]):
            key = decode_key(record.key or b"")
            value = None if record.value is None else decode_value(key, record.value)
            found.append(Entry(record.offset, key, value))
    return found


def commits(cluster: Cluster, group: str) -> list[Entry]:
    """Those of one group."""
    found = log(cluster, partition_of(group, PARTITIONS))
    return [it for it in found if isinstance(it.key, OffsetKey) and it.key.group == group]


def configure(cluster: Cluster, settings: dict[str, str]) -> None:
    """Of __consumer_offsets."""
    changes = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        for name, value in settings.items()
    ]
    resource = ConfigResource("topic", OFFSETS, incremental_configs=changes)
    cluster.admin.incremental_alter_configs([resource])[resource].result()


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


def znodes(cluster: Cluster) -> dict[str, int]:
    """Every node of ZooKeeper, and by which transaction it was written last.

    But for the states of partitions: if a replica falls behind just now, that is another story.
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
