"""Our consumer at a real broker, in a group: subscription, commits, and callbacks."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from engine.client.consumer import Consumer
from engine.client.values import OFFSET_END, KafkaError, TopicPartition
from engine.cluster.cluster import Cluster
from tests.interop import readers
from tests.interop.readers import SOON, Make, Produce, code_of, take, text
from tests.interop.watch import until

CONFIG = readers.CONFIG


@pytest.fixture
def make(cluster: Cluster) -> Iterator[Make]:
    with readers.consumers(cluster) as make:
        yield make


@pytest.fixture
def produce(cluster: Cluster) -> Produce:
    return readers.producing(cluster)


def test_a_subscription_by_name_and_by_pattern(make, produce, topic):
    produce(topic, b"a")
    heard: list[Any] = []
    for group, wanted in (("by-name", topic), ("by-pattern", f"^{topic}$")):
        consumer = make(group_id=f"{group}-{topic}")
        consumer.subscribe(
            [wanted],
            on_assign=lambda _, given: heard.append(("assigned", sorted(given))),
            on_revoke=lambda _, taken: heard.append(("revoked", sorted(taken))),
        )
        assert consumer.poll(SOON).value() == b"a"
        assert consumer.memberid()
        consumer.close()
    both = [TopicPartition(topic, 0), TopicPartition(topic, 1)]
    assert heard == [("assigned", both), ("revoked", both)] * 2


def test_what_was_committed_is_where_the_next_one_begins(make, produce, topic):
    produce(topic, *map(text, range(6)))
    place, group = TopicPartition(topic, 0), f"group-{topic}"
    first = make(group_id=group, enable_auto_commit=False)
    first.subscribe([topic])
    messages = take(first, 3)
    (told,) = first.commit(message=messages[1], asynchronous=False)
    assert (told.offset, told.error) == (2, None)
    first.close()
    second = make(group_id=group, enable_auto_commit=False)
    assert second.committed([place], timeout=SOON)[0].offset == 2
    second.subscribe([topic])
    assert second.poll(SOON).value() == b"2"


def test_who_collects_messages_gets_them_before_a_rebalance(make, produce, topic, monkeypatch):
    """Or others read them again, and a transaction that commits their offsets writes twice."""
    group = {"group_id": f"group-{topic}", "heartbeat_interval_ms": 100}
    log: list[Any] = []
    first, second = make(**group), make(**group)
    first.subscribe([topic], on_revoke=lambda *_: log.append("revoked"))
    produce(topic, b"0")
    assert first.consume(1, SOON)
    produce(topic, b"1")
    holds, over, take = threading.Event(), threading.Event(), first._delivery.take

    def noted(limit):
        if found := take(limit):
            holds.set()
        return found

    def join():
        holds.wait(SOON)
        second.subscribe([topic])  # a rebalance of its own: the first one has its partition
        while not over.is_set():
            second.poll(0.05)

    monkeypatch.setattr(first._delivery, "take", noted)
    with ThreadPoolExecutor() as pool:
        joining = pool.submit(join)
        try:  # to collect more than there is
            log += [it.value() for it in first.consume(100, SOON)]
            assert log == [b"1"]
            until(lambda: first.consume(100, 0.05) or "revoked" in log)
        finally:
            over.set()
    joining.result()


def test_auto_commit_while_polling_and_when_closing(make, produce, topic):
    produce(topic, *map(text, range(6)))
    place, group = TopicPartition(topic, 0), f"group-{topic}"
    told: list[Any] = []
    consumer = make(
        group_id=group, auto_commit_interval_ms=50, on_commit=lambda *it: told.append(it)
    )
    consumer.subscribe([topic])
    take(consumer, 4)

    def committed_last():
        consumer.poll(0.05)
        return [each.offset for _, places in told[-1:] for each in places if each == place]

    until(lambda: committed_last() == [6])
    assert [error for error, _ in told if error is not None] == []
    produce(topic, b"6")
    take(consumer, 1)
    consumer.close()
    assert make(group_id=group).committed([place], timeout=SOON)[0].offset == 7


def test_stored_offsets_are_what_is_committed(make, produce, topic):
    produce(topic, *map(text, range(6)))
    consumer = make(group_id=f"group-{topic}", enable_auto_offset_store=False)
    consumer.assign([TopicPartition(topic, 0, 0)])
    messages = take(consumer, 6)
    assert code_of(lambda: consumer.commit(asynchronous=False)) == KafkaError._NO_OFFSET
    consumer.store_offsets(message=messages[2])
    (told,) = consumer.commit(asynchronous=False)
    assert told.offset == 3


def test_an_asynchronous_commit_is_told_of_in_a_later_poll(make, produce, topic):
    produce(topic, b"a")
    told: list[Any] = []
    consumer = make(
        group_id=f"group-{topic}", enable_auto_commit=False, on_commit=lambda *it: told.append(it)
    )
    consumer.assign([TopicPartition(topic, 0)])
    message = consumer.poll(SOON)
    assert consumer.commit(message=message) is None
    assert not told
    until(lambda: consumer.poll(0.05) is None and told)
    error, (place,) = told[0]
    assert (error, place.offset) == (None, 1)


def test_without_a_group_nothing_is_committed_or_subscribed(make, topic):
    consumer = make()
    offsets = [TopicPartition(topic, 0, 1)]
    for call in (
        lambda: consumer.subscribe([topic]),
        lambda: consumer.commit(offsets=offsets),
        lambda: consumer.committed(offsets),
    ):
        assert code_of(call) == KafkaError.INVALID_GROUP_ID
    assert consumer.memberid() is None


def test_a_callback_may_assign_from_elsewhere(make, produce, topic):
    produce(topic, b"a", b"b", b"c")

    def on_assign(consumer: Consumer, given: list[TopicPartition]) -> None:
        for each in given:
            each.offset = 2 if each.partition == 0 else OFFSET_END
        consumer.assign(given)

    consumer = make(group_id=f"group-{topic}")
    consumer.subscribe([topic], on_assign=on_assign)
    assert consumer.poll(SOON).value() == b"c"


def test_a_callback_that_raises_raises_from_poll_and_the_consumer_goes_on(make, produce, topic):
    produce(topic, b"a")
    consumer = make(group_id=f"group-{topic}")

    def on_assign(*_: Any) -> None:
        raise LookupError("of the application")

    consumer.subscribe([topic], on_assign=on_assign)
    with pytest.raises(LookupError, match="of the application"):
        consumer.poll(SOON)
    assert consumer.poll(SOON).value() == b"a"


def test_commits_that_nobody_waited_for_are_done_when_it_closes(make, produce, topic):
    """Each of them, and their callbacks: a member that has left may not commit."""
    produce(topic, *map(text, range(6)))
    told: list[Any] = []
    group, place = f"group-{topic}", TopicPartition(topic, 0)
    for subscribes in (True, False):
        consumer = make(
            group_id=group,
            enable_auto_commit=False,
            on_commit=lambda error, rows: told.append((error, rows[0].offset)),
        )
        if subscribes:
            consumer.subscribe([topic])
        else:
            consumer.assign([TopicPartition(topic, 0, 3)])
        for message in take(consumer, 3):
            consumer.commit(message=message)
        consumer.close()
    assert told == [(None, offset) for offset in range(1, 7)]
    assert make(group_id=group).committed([place], timeout=SOON)[0].offset == 6
