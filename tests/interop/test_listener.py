"""Listener containers on a real broker: commits, kills, acknowledgments, start offsets, groups."""

import threading
from itertools import count
from typing import Any

import pytest

from engine import (
    AckMode,
    Acknowledgment,
    ListenerContainer,
    PartitionOffset,
    TopicPartition,
)
from engine.client.values import OFFSET_INVALID, KafkaException, Message
from engine.cluster.cluster import Cluster
from engine.errors import ApiException
from tests.interop.watch import threads, until

_numbers = count()
FOREVER = 10_000.0  # seconds: a limit that is not reached


@pytest.fixture
def group() -> str:
    return f"listeners-{next(_numbers)}"


def filled(cluster: Cluster, records: int, partitions: int = 1) -> str:
    """A topic with so many records in each partition."""
    topic = cluster.topic("listened", partitions=partitions, replicas=1)
    for partition in range(partitions):
        cluster.write(topic, map(str, range(records)), partition=partition)
    return topic


def settings(cluster: Cluster, **more: Any) -> dict[str, Any]:
    keys = {key.replace("_", "."): value for key, value in more.items()}
    return {"bootstrap.servers": cluster.bootstrap, "auto.offset.reset": "earliest", **keys}


def committed(cluster: Cluster, group: str, topic: str, partition: int = 0) -> int:
    with cluster.consumer({"group.id": group}) as consumer:
        return consumer.committed([TopicPartition(topic, partition)])[0].offset


def members(cluster: Cluster, group: str) -> int:
    (described,) = cluster.admin.describe_consumer_groups([group]).values()
    return len(described.result().members)


# What is committed when the process dies in the 7th of 10 records, which come in polls of 5. A
# listener with a manual mode has acknowledged that one, too.
AT_DEATH = {
    AckMode.RECORD: 6,
    AckMode.BATCH: 5,
    AckMode.TIME: OFFSET_INVALID,
    AckMode.COUNT: 5,
    AckMode.COUNT_TIME: OFFSET_INVALID,
    AckMode.MANUAL: 5,
    AckMode.MANUAL_IMMEDIATE: 7,
}
LIMITS = {AckMode.COUNT: 4, AckMode.COUNT_TIME: 120}


@pytest.mark.parametrize("mode", AckMode)
def test_what_is_committed_and_comes_again_when_a_process_dies_in_its_7th_record(
    cluster: Cluster, group: str, mode: AckMode
) -> None:
    topic = filled(cluster, 10)
    died = threading.Event()

    def work(record: Message, ack: Acknowledgment | None = None) -> None:
        if ack is not None:
            ack.acknowledge()
        if record.offset() == 6 and not died.is_set():
            container.kill()
            died.set()

    container = ListenerContainer(
        settings(cluster, max_poll_records=5),
        work,
        partitions=[(topic, 0)],
        group_id=group,
        ack_mode=mode,
        ack_time=FOREVER,
        ack_count=LIMITS.get(mode, 1),
    )
    container.start()
    assert died.wait(30)
    assert container.calls() == [f"{topic}-0@{offset}" for offset in range(7)]
    assert committed(cluster, group, topic) == AT_DEATH[mode]

    first = max(AT_DEATH[mode], 0)
    with container:
        until(lambda: len(container.calls()) == 7 + 10 - first)
    assert container.calls()[7:] == [f"{topic}-0@{offset}" for offset in range(first, 10)]
    assert committed(cluster, group, topic) == 10  # a stop commits what is ready


def test_a_commit_follows_each_record_or_each_poll(cluster: Cluster, group: str) -> None:
    topic = filled(cluster, 100)
    found = {}
    for mode in ("RECORD", "BATCH"):
        container = ListenerContainer(
            settings(cluster, max_poll_records=50),
            lambda record: None,
            partitions=[(topic, 0)],
            group_id=f"{group}-{mode}",
            ack_mode=mode,
        )
        with container:
            until(lambda it=container: len(it.calls()) == 100)
        found[mode] = [offsets[f"{topic}-0"] for offsets in container.commits()]
    assert found == {"RECORD": [*range(1, 101)], "BATCH": [50, 100]}


def test_acknowledge_of_another_thread_ends_the_poll_and_is_committed_at_once(
    cluster: Cluster, group: str
) -> None:
    topic = filled(cluster, 3)
    acks: list[Acknowledgment] = []
    container = ListenerContainer(
        settings(cluster),
        lambda record, ack: acks.append(ack),
        partitions=[(topic, 0)],
        group_id=group,
        ack_mode="MANUAL_IMMEDIATE",
        poll_timeout=FOREVER,
    )
    with container:
        until(lambda: len(acks) == 3)
        assert container.commits() == []
        acks[1].acknowledge()
        until(lambda: container.commits() == [{f"{topic}-0": 2}])
        acks[0].acknowledge()  # goes back
        until(lambda: container.commits()[1:] == [{f"{topic}-0": 1}])
    assert committed(cluster, group, topic) == 1


def test_a_start_offset_counts_at_each_start(cluster: Cluster, group: str) -> None:
    topic = filled(cluster, 150, partitions=2)

    def first(*partitions: PartitionOffset | TopicPartition | tuple[str, int]) -> dict[int, int]:
        """The first record of each partition. It and maybe records after it are committed."""
        seen: dict[int, int] = {}
        one = settings(cluster, max_poll_records=1)
        container = ListenerContainer(
            one,
            lambda record: seen.setdefault(record.partition(), record.offset()),
            partitions=partitions,
            group_id=group,
        )
        with container:
            until(lambda: len(seen) == len(partitions))
        return seen

    assert first((topic, 0), PartitionOffset(topic, 1, 100)) == {0: 0, 1: 100}
    assert committed(cluster, group, topic, 1) > 100
    assert first(TopicPartition(topic, 1, 100)) == {1: 100}
    assert first(PartitionOffset(topic, 1, -10)) == {1: 140}
    now = committed(cluster, group, topic, 1)
    assert first(PartitionOffset(topic, 1, -5, relative=True)) == {1: now - 5}
    now = committed(cluster, group, topic, 1)
    cluster.write(topic, ["more", "and more"], partition=1)  # the last run may have come to the end
    assert first(PartitionOffset(topic, 1, 1, relative=True)) == {1: now + 1}
    now = committed(cluster, group, topic, 0)
    assert first((topic, 0)) == {0: now}
    assert members(cluster, group) == 0


def test_consumers_without_a_partition_are_idle(cluster: Cluster, group: str) -> None:
    topic = filled(cluster, 10, partitions=4)
    common = {"group_id": group, "concurrency": 6}
    subscribed = ListenerContainer(settings(cluster), len, topics=topic, **common)
    with subscribed:
        until(lambda: sorted(map(len, subscribed.assignments())) == [0, 0, 1, 1, 1, 1])
        until(lambda: len(subscribed.calls()) == 40)
        assert members(cluster, group) == 6
        subscribed.events.clear()
        shares = subscribed.assignments()
        for partition in range(4):
            cluster.write(topic, ["more"], partition=partition)
        until(lambda: len(subscribed.calls()) == 4)
    busy = {it.data["consumer"] for it in subscribed.events if it.kind == "listener.called"}
    assert busy == {number for number, share in enumerate(shares) if share}

    by_hand = ListenerContainer(
        settings(cluster), len, partitions=[(topic, n) for n in range(4)], **common
    )
    assert by_hand.concurrency == 4
    shared = ListenerContainer(
        settings(cluster), len, partitions=[(topic, n) for n in range(4)], concurrency=3
    )
    assert [[it.partition for it in share] for share in shared._shares()] == [[0], [1], [2, 3]]


def test_the_group_is_told_of_a_stop_and_not_of_a_kill(cluster: Cluster, group: str) -> None:
    topic = filled(cluster, 1)
    container = ListenerContainer(settings(cluster), len, topics=topic, group_id=group)
    for end, left in ((container.stop, 0), (container.kill, 1)):
        container.start()
        until(lambda: container.assignments() == [[TopicPartition(topic, 0)]])
        end()
        assert not container.running
        assert members(cluster, group) == left


def test_what_is_ready_is_committed_before_other_consumers_get_the_partition(
    cluster: Cluster, group: str
) -> None:
    """Nothing is due by itself here; yet no record comes twice when a second container joins."""
    topic = filled(cluster, 50, partitions=2)
    common = {"topics": topic, "group_id": group, "ack_mode": "TIME", "ack_time": FOREVER}
    one, two = (ListenerContainer(settings(cluster), len, **common) for _ in range(2))
    with one:
        until(lambda: len(one.calls()) == 100)
        assert one.commits() == []
        with two:
            until(lambda: two.assignments()[0])
            cluster.write(topic, ["more"], partition=0)
            cluster.write(topic, ["more"], partition=1)
            until(lambda: len(one.calls()) + len(two.calls()) == 102)
    calls = one.calls() + two.calls()
    assert len({*calls}) == len(calls)


def test_a_revocation_commits_what_is_ready_of_all_partitions(cluster: Cluster, group: str) -> None:
    """A cooperative rebalance leaves one of the two where it is."""
    topic = filled(cluster, 50, partitions=2)
    config = settings(cluster, partition_assignment_strategy="cooperative-sticky")
    common = {"topics": topic, "group_id": group, "ack_mode": "TIME", "ack_time": FOREVER}
    one, two = (ListenerContainer(config, len, **common) for _ in range(2))
    with one:
        until(lambda: len(one.calls()) == 100)
        with two:
            until(lambda: two.assignments()[0])
            assert one.commits() == [{f"{topic}-0": 50, f"{topic}-1": 50}]


def test_a_new_group_that_begins_at_the_end_commits_that(cluster: Cluster, group: str) -> None:
    """Else it passes over what is written between a death without a commit and the next start."""
    topic = filled(cluster, 10)
    found = {}
    for reset in ("latest", "earliest"):
        config = settings(cluster, auto_offset_reset=reset)
        name = f"{group}-{reset}"
        container = ListenerContainer(config, len, topics=topic, group_id=name, ack_mode="MANUAL")
        container.start()
        until(lambda it=container: [each for each in it.events if each.kind.endswith("assigned")])
        container.kill()
        found[reset] = committed(cluster, name, topic)
    assert found == {"latest": 10, "earliest": OFFSET_INVALID}


def test_who_acknowledges_after_the_partition_went_changes_nothing(
    cluster: Cluster, group: str
) -> None:
    """The other consumer may have committed more; an older offset would bring records back."""
    topic = filled(cluster, 5, partitions=2)
    acks: list[tuple[int, Acknowledgment]] = []
    one = ListenerContainer(
        settings(cluster),
        lambda record, ack: acks.append((record.partition(), ack)),
        topics=topic,
        group_id=group,
        ack_mode="MANUAL",
    )
    two = ListenerContainer(settings(cluster), len, topics=topic, group_id=group)
    with one:
        until(lambda: len(acks) == 10)
        with two:
            (lost,) = [it.partition for it in until(lambda: two.assignments()[0])]
            until(lambda: committed(cluster, group, topic, lost) == 5)
            for _, ack in acks:
                ack.acknowledge()
            until(lambda: one.commits() == [{f"{topic}-{1 - lost}": 5}])
            next(ack for partition, ack in acks if partition == lost).acknowledge()
    assert one.commits() == [{f"{topic}-{1 - lost}": 5}]
    assert committed(cluster, group, topic, lost) == 5


def test_groups_of_their_own_each_get_every_record(cluster: Cluster, group: str) -> None:
    topic = filled(cluster, 10)
    config = settings(cluster, group_id=group)
    groups = [None, f"{group}-zhuge", f"{group}-tuling"]
    containers = [
        ListenerContainer(config, len, topics=topic, group_id=each).start() for each in groups
    ]
    until(lambda: all(len(each.calls()) == 10 for each in containers))
    for each in containers:
        each.stop()
    names = [each.group_id or "" for each in containers]
    assert names == [group, *groups[1:]]
    assert [committed(cluster, name, topic) for name in names] == [10, 10, 10]


def test_an_error_of_the_listener_stops_the_container_and_is_raised(
    cluster: Cluster, group: str
) -> None:
    topic = filled(cluster, 10)

    def work(record: Message) -> None:
        if record.offset() == 3:
            raise LookupError("poison")

    container = ListenerContainer(settings(cluster), work, topics=topic, group_id=group)
    container.start()
    until(lambda: [it for it in container.events if it.kind == "listener.failed"])
    with pytest.raises(LookupError, match="poison"):
        container.stop()
    assert committed(cluster, group, topic) == 3
    container.stop()  # once is enough


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"topics": ()}, "a container has topics or partitions"),
        ({"partitions": [("t", 0)]}, "a container has topics or partitions"),
        ({"concurrency": 0}, "numbers from 1 on"),
        ({"ack_mode": "SOON"}, "there is no ack mode SOON"),
        ({"config": {"enable.auto.commit": True}}, "configured for auto commit for ackMode MANUAL"),
        ({"config": {"fetch.min.byte": 1}}, "did you mean fetch.min.bytes?"),
    ],
)
def test_a_container_that_makes_no_sense(change: dict[str, Any], words: str) -> None:
    given = {"config": {}, "topics": ["t"], "ack_mode": "MANUAL"} | change
    config = {"bootstrap.servers": "127.0.0.1:1", **given.pop("config")}
    with pytest.raises(ApiException, match=words):
        ListenerContainer(config, len, **given)


def test_a_start_that_fails_leaves_nothing_behind(cluster: Cluster, group: str) -> None:
    config = settings(cluster, default_api_timeout_ms=200, allow_auto_create_topics=False)
    nowhere = PartitionOffset("nowhere", 0, -1)
    container = ListenerContainer(config, len, partitions=[nowhere], group_id=group)
    before = threads("brokerlab-client")
    with pytest.raises(KafkaException, match="timed out"):
        container.start()
    assert not container.running
    until(lambda: threads("brokerlab-client") <= before)
