"""Transactions, as the stock clients and ours use them: all of it counts, or nothing.

Each client writes, and every client reads what each has written.
"""

from collections.abc import Callable, Iterator
from contextlib import closing

import confluent_kafka
import pytest

from engine.cluster.cluster import Cluster
from tests.interop.plain import new_name
from tests.interop.raw import Raw, batch
from tests.interop.transacting import ALL, READERS, WRITERS, Writer
from tests.interop.watch import until

CONFIG = {
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "100",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
}
UNCOMMITTED, COMMITTED = "read_uncommitted", "read_committed"

each_client = pytest.mark.parametrize("name", WRITERS)


@pytest.fixture
def till() -> str:
    """A transactional id."""
    return new_name()


@pytest.fixture
def writer(cluster: Cluster, name: str, till: str) -> Iterator[Writer]:
    with WRITERS[name](cluster.bootstrap, till) as writer:
        yield writer


def stable(client: Raw, topic: str) -> int:
    """Before this offset every transaction has ended."""
    return client.end_offset(topic, isolation=1)


def committed(cluster: Cluster, group: str, topic: str) -> int:
    """How far a group has read, as soon as nothing about it is undecided."""
    with closing(
        confluent_kafka.Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": group})
    ) as consumer:
        place = confluent_kafka.TopicPartition(topic, 0)
        return int(consumer.committed([place], timeout=ALL)[0].offset)


def failure(work: Callable[[], object]) -> BaseException:
    with pytest.raises(Exception) as caught:  # noqa: PT011  each client has its own
        work()
    return caught.value


def go_on(writer: Writer, topic: str) -> None:
    """Some clients learn by the first of the two what others learn by the second."""
    writer.send(topic, b"from the grave")
    writer.commit()


@each_client
def test_what_is_committed_counts_and_what_is_aborted_does_not(cluster, topic, name, writer):
    evening = [
        (writer.abort, [b"a cup that breaks", b"another"]),
        (writer.commit, [b"tea", b"cake"]),
        (writer.abort, [b"a second thought"]),
        (writer.commit, [b"the bill"]),
    ]
    for end, values in evening:
        writer.begin()
        for value in values:
            writer.send(topic, value)
        end()
    everything = [value for _, values in evening for value in values]
    counts = [value for end, values in evening if end == writer.commit for value in values]
    for reader, read in READERS.items():
        assert read(cluster.bootstrap, topic, len(counts), COMMITTED) == counts, reader
        assert read(cluster.bootstrap, topic, len(everything), UNCOMMITTED) == everything, reader


@each_client
def test_an_open_transaction_holds_up_all_that_comes_behind_it(
    cluster, client, topic, name, writer
):
    writer.begin()
    writer.send(topic, b"not yet")
    client.produce(topic, batch("later"))
    assert (client.end_offset(topic), stable(client, topic)) == (2, 0)
    writer.commit()
    until(lambda: stable(client, topic) == 3)  # the marker is a record, too
    assert READERS["confluent"](cluster.bootstrap, topic, 2, COMMITTED) == [b"not yet", b"later"]


@each_client
def test_who_takes_an_id_over_ends_what_was_begun_under_it(
    cluster, client, topic, name, writer, till
):
    writer.begin()
    writer.send(topic, b"from the past")
    with WRITERS["confluent"](cluster.bootstrap, till) as heir:
        assert stable(client, topic) == client.end_offset(topic) == 2
        assert writer.is_fenced(failure(lambda: go_on(writer, topic))) or (
            writer.is_fenced(failure(writer.abort))  # as Java's, which asks the coordinator first
        )
        heir.begin()
        heir.send(topic, b"from today")
        heir.commit()
    assert READERS["confluent"](cluster.bootstrap, topic, 1, COMMITTED) == [b"from today"]


@each_client
def test_offsets_count_with_the_records_that_were_made_of_them(cluster, topic, name, writer):
    group = new_name()
    writer.begin()
    writer.send(topic, b"half a dish")
    writer.offsets(topic, 5, group)
    writer.abort()
    assert committed(cluster, group, topic) == confluent_kafka.OFFSET_INVALID
    writer.begin()
    writer.send(topic, b"a dish")
    writer.offsets(topic, 7, group)
    writer.commit()
    assert committed(cluster, group, topic) == 7


def test_who_forgets_a_transaction_loses_it(cluster, client, topic, till):
    """Nobody is kept waiting for ever: the coordinator ends it."""
    settings = {"transaction.timeout.ms": 1000}
    with WRITERS["confluent"](cluster.bootstrap, till, **settings) as writer:
        writer.begin()
        writer.send(topic, b"and then")
        until(lambda: stable(client, topic) == 2)
        assert writer.is_fenced(failure(writer.commit))
    client.produce(topic, batch("silence"))
    assert READERS["ours"](cluster.bootstrap, topic, 1, COMMITTED) == [b"silence"]


@each_client
def test_a_transaction_outlives_the_broker(cluster, topic, name, writer):
    """It was killed in the middle of one: whoever leads then has read what was going on."""
    writer.begin()
    writer.send(topic, b"before")
    cluster.kill(1)
    cluster.restart(1)
    writer.send(topic, b"after")
    writer.commit()
    read = READERS["confluent"]
    assert read(cluster.bootstrap, topic, 2, COMMITTED) == [b"before", b"after"]
