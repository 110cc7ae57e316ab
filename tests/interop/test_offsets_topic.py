"""__consumer_offsets, compacted: whoever reads it afterwards finds every offset that counts."""

import os
from struct import unpack_from

import pytest

from engine.model import TopicPartition
from engine.storage.records import Record
from tests.interop.raw_member import Member
from tests.interop.watch import until

OFFSETS = "__consumer_offsets"
CONFIG = {
    "offsets.topic.num.partitions": "1",
    "offsets.topic.segment.bytes": "20000",
    "log.cleaner.backoff.ms": "50",
    "log.cleaner.min.cleanable.ratio": "0.01",
}
GROUPS = [f"group-{number}" for number in range(5)]
ROUNDS = 200


def key_by_hand(key: bytes) -> tuple[int, str, str, int] | None:
    """(version, group, topic, partition) of an offset's key; None for a group's."""
    (version,) = unpack_from(">h", key)
    if version > 1:
        return None
    at, texts = 2, []
    for _ in range(2):
        (size,) = unpack_from(">h", key, at)
        texts.append(key[at + 2 : at + 2 + size].decode())
        at += 2 + size
    (partition,) = unpack_from(">i", key, at)
    assert at + 4 == len(key)
    return version, texts[0], texts[1], partition


def offset_by_hand(value: bytes) -> int:
    """Version 3: offset, leader epoch, metadata, commit timestamp."""
    version, offset, epoch, size = unpack_from(">hqih", value)
    assert version == 3 and epoch == -1
    (committed_at,) = unpack_from(">q", value, 16 + size)
    assert 16 + size + 8 == len(value) and committed_at > 1_600_000_000_000
    return int(offset)


def offsets_by_hand(records: list[Record]) -> dict[tuple[str, TopicPartition], int]:
    """The newest of each group and partition, by nothing but Kafka's published format."""
    found: dict[tuple[str, TopicPartition], int] = {}
    for record in records:
        key = key_by_hand(record.key or b"")
        if key is not None and key[2] != "":
            place = key[1], TopicPartition(key[2], key[3])
            if record.value is None:
                found.pop(place, None)
            else:
                found[place] = offset_by_hand(record.value)
    return found


@pytest.fixture
def committed(cluster, topic):
    """Each group commits again and again, to two partitions; and one group goes."""
    last = {}
    for number, group in enumerate(GROUPS):
        with Member(cluster.bootstrap, group) as member:
            member.coordinator()
            for turn in range(ROUNDS):
                offset = 1000 * number + turn
                assert member.commit(topic, offset, partition=turn % 2) == 0
                last[group, TopicPartition(topic, turn % 2)] = offset
    with Member(cluster.bootstrap, GROUPS[0]) as member:
        assert member.delete() == 0
    return {place: offset for place, offset in last.items() if place[0] != GROUPS[0]}


def test_compaction_loses_no_offset(cluster, client, topic, committed):
    before = client.end_offset(OFFSETS)
    assert before > len(GROUPS) * ROUNDS
    until(lambda: len(client.read(OFFSETS)) < before // 4)
    records = client.read(OFFSETS)
    assert offsets_by_hand(records) == committed
    assert client.end_offset(OFFSETS) >= before  # what is left has the offset that it had

    cluster.kill(1)
    cluster.restart(1)
    for (group, partition), offset in committed.items():
        with Member(cluster.bootstrap, group) as again:
            again.coordinator()
            assert again.committed(topic, partition.partition) == offset
    with Member(cluster.bootstrap, GROUPS[0]) as gone:
        assert gone.committed(topic) == -1
    names = os.listdir(cluster.directory(1) / f"{OFFSETS}-0")
    assert sum(name.endswith(".log") for name in names) < before * 100 // 20000
