"""ListOffsets: the ends of partitions, and offsets by time."""

from engine.client.consuming.offset_lookup import (
    EARLIEST,
    LATEST,
    NEWS_TAKES,
    FoundOffset,
    MissingPartition,
)
from engine.client.values import KafkaError
from engine.errors import ErrorCode
from engine.model import TopicPartition
from engine.wire.apis import Api
from tests.unit.client.logs import P0, P1, Reading


def find(it, *wanted):
    """What is found for partitions and timestamps, in the end."""
    found = {}
    for number, (partition, timestamp) in enumerate(wanted):
        it.offsets.find(partition, timestamp, lambda at, n=number: found.__setitem__(n, at))
    it.settle()
    return found


def test_the_first_the_last_and_the_one_of_a_time():
    it = Reading()
    it.logs[P0].append("a", "b", at=[100, 200])
    it.logs[P0].append("c", at=[300])
    it.logs[P0].start = 1
    found = find(it, (P0, EARLIEST), (P0, LATEST), (P0, 150), (P0, 301))
    assert [found[n].offset for n in range(4)] == [1, 3, 1, -1]
    assert found[2] == FoundOffset(1, 200, 0)


def test_one_request_to_each_leader_unless_a_partition_is_wanted_twice():
    it = Reading()
    find(it, (P0, EARLIEST), (P1, EARLIEST), (P0, LATEST))
    sizes = [len(each.topics[0].partitions) for each in it.requests(Api.LIST_OFFSETS)]
    assert sizes == [2, 1]


def test_a_leader_that_moved_is_found():
    it = Reading()
    find(it, (P0, LATEST))
    it.logs[P0].elect(2)
    found = find(it, (P0, LATEST))
    assert not found
    it.pass_time(1)
    assert found[0].offset == 0
    assert it.asked[-1].to == 2


def test_an_election_is_waited_for():
    it = Reading()
    it.brokers = {2}
    found = find(it, (P0, LATEST))
    it.pass_time(20)
    assert not found
    it.brokers = {1, 2}
    it.pass_time(1)
    assert found[0].offset == 0


def test_what_is_not_there_is_given_up_when_the_news_had_time_to_come_round():
    it = Reading()
    other = TopicPartition("nowhere", 0)
    found = find(it, (other, LATEST), (TopicPartition("t", 5), LATEST))
    it.pass_time(NEWS_TAKES - 0.2)
    assert not found
    it.pass_time(1)
    assert found[0] == MissingPartition(
        ErrorCode.unknown_topic_or_partition, "there is no topic nowhere"
    )
    assert found[1] == MissingPartition(
        KafkaError._UNKNOWN_PARTITION, "t-5: the topic has 2 partitions"
    )


def test_who_waits_no_more_is_not_told():
    it = Reading()
    it.brokers = set()
    told = []
    lookup = it.offsets.find(P0, LATEST, told.append)
    it.pass_time(1)
    it.offsets.forget([lookup])
    it.brokers = {1, 2}
    it.pass_time(1)
    assert not told
    assert not it.requests(Api.LIST_OFFSETS)
