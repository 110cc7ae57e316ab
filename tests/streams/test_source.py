"""What the source answers when Spark asks it: how far to go, in which tasks."""

import json
from collections.abc import Callable

import pytest
from pyspark.sql.datasource import InputPartition

from engine.client.admin.values import NewPartitions
from engine.cluster.cluster import Cluster
from engine.errors import ApiException
from sparkstreams.source import KafkaLab
from tests.interop.watch import until
from tests.streams.query import NONE, SCHEMA, Query, batch, produce

Start = Callable[..., Query]


# -- what is read ----------------------------------------------------------------------------


def test_each_record_is_read_once_in_one_micro_batch_after_the_other(
    cluster: Cluster, topic: str, start: Start
) -> None:
    first = produce(cluster, topic, "a", "b") + produce(cluster, topic, "c", partition=1)
    query = start()

    assert query.trigger() == first
    assert query.trigger() == NONE
    more = produce(cluster, topic, "d", partition=1)
    assert query.trigger() == more
    assert query.at == json.dumps({topic: {"0": 2, "1": 2}})


def test_a_stream_begins_at_the_latest_a_batch_at_the_earliest(
    cluster: Cluster, topic: str, options: dict[str, str], start: Start
) -> None:
    old = produce(cluster, topic, "old", "older")
    query = start(startingOffsets=None)
    new = produce(cluster, topic, "new")

    assert query.trigger() == new
    del options["startingOffsets"]
    assert query.read(batch(options)) == old + new


def test_a_restarted_query_goes_on_where_its_checkpoint_says(
    cluster: Cluster, topic: str, start: Start
) -> None:
    produce(cluster, topic, "a", "b")
    query = start()
    query.trigger()
    more = produce(cluster, topic, "c")
    before = query.at
    end, splits = query.plan()
    query.reader.stop()  # it dies before the batch is done

    restarted = start(at=before)
    assert restarted.splits(before, end) == splits
    assert restarted.read(splits) == more
    restarted.at = end
    assert restarted.trigger() == NONE


def test_offsets_can_be_given_one_by_one(cluster: Cluster, topic: str, start: Start) -> None:
    produce(cluster, topic, "a", "b", "c")
    last = produce(cluster, topic, "d")
    produce(cluster, topic, "e", partition=1)

    assert start(startingOffsets=json.dumps({topic: {"0": 3, "1": -1}})).trigger() == last


def test_a_time_is_as_good_as_an_offset(cluster: Cluster, topic: str, start: Start) -> None:
    produce(cluster, topic, "old", at=1000)
    new = produce(cluster, topic, "new", at=3000) + produce(
        cluster, topic, "newest", partition=1, at=5000
    )

    assert start(startingTimestamp="2000").trigger() == new
    each = json.dumps({topic: {"0": 3001, "1": 1}})
    by = {"startingOffsetsByTimestamp": each, "startingOffsetsByTimestampStrategy": "latest"}
    assert start(**by).trigger() == new[1:]
    with pytest.raises(ApiException, match=f"no record of {topic}-0 is as new as 3001; with start"):
        start(startingOffsetsByTimestamp=each)


def test_a_batch_ends_where_it_is_told(
    cluster: Cluster, topic: str, options: dict[str, str]
) -> None:
    produce(cluster, topic, "a", "b", "c", at=1000)
    produce(cluster, topic, "d", at=2000)

    def planned(**more: str) -> list[tuple[int, int]]:
        return [(split.start, split.end) for split in batch(options | more)]

    assert planned() == [(0, 4)]
    assert planned(minPartitions="2") == [(0, 2), (2, 4)]
    assert planned(endingTimestamp="1500") == [(0, 3)]
    assert planned(endingOffsets=json.dumps({topic: {"0": 2, "1": -1}})) == [(0, 2)]
    with pytest.raises(
        ApiException, match=f"endingOffsets: 5 of {topic}-0 is beyond its end, which"
    ):
        planned(endingOffsets=json.dumps({topic: {"0": 5, "1": -1}}))
    late, early = json.dumps({topic: {"0": 3, "1": 0}}), json.dumps({topic: {"0": 1, "1": 0}})
    with pytest.raises(ApiException, match=f"{topic}-0 would begin at 3, after its end 1"):
        planned(startingOffsets=late, endingOffsets=early)


def test_where_nothing_is_there_is_nothing_to_read(options: dict[str, str]) -> None:
    assert batch(options) == []
    spark_asks_all_the_same = KafkaLab(options).reader(SCHEMA).read(InputPartition(None))
    assert list(spark_asks_all_the_same) == []


# -- how much at once ------------------------------------------------------------------------


def test_a_limit_is_shared_out_and_the_lag_is_told(
    cluster: Cluster, topic: str, start: Start
) -> None:
    produce(cluster, topic, *map(str, range(30)))
    produce(cluster, topic, *map(str, range(10)), partition=1)
    query = start(maxOffsetsPerTrigger="20")

    query.trigger()
    assert json.loads(query.at) == {topic: {"0": 15, "1": 5}}
    assert query.lag() == 20
    query.trigger()
    query.trigger()
    assert query.lag() == 0


def test_a_micro_batch_waits_for_its_least_number_of_records(
    cluster: Cluster, topic: str, start: Start
) -> None:
    query = start(minOffsetsPerTrigger="3", maxTriggerDelay="1h")
    first = produce(cluster, topic, "a")
    assert query.trigger() == first, "the first one doesn't wait"

    more = produce(cluster, topic, "b", "c")
    assert query.trigger() == NONE
    more += produce(cluster, topic, "d")
    assert query.trigger() == more
    hasty = start(query.at, minOffsetsPerTrigger="3", maxTriggerDelay="0ms")
    last = produce(cluster, topic, "e")
    assert hasty.trigger() == last


def test_available_now_goes_to_what_was_there_at_its_start_and_no_further(
    cluster: Cluster, topic: str, start: Start
) -> None:
    wanted = produce(cluster, topic, "a", "b", "c")
    query = start(now=True, maxOffsetsPerTrigger="2", minOffsetsPerTrigger="2")
    later = produce(cluster, topic, "e")
    add_partition(cluster, topic)
    produce(cluster, topic, "f", partition=2)

    read = query.trigger() + query.trigger()
    assert read == wanted, "the last one is less than minOffsetsPerTrigger, and comes all the same"
    assert query.trigger() == NONE
    restarted = start(query.at, now=True)
    assert restarted.trigger() == [*later, (2, 0, "f")]
    assert restarted.trigger() == NONE


# -- what comes, while the query runs --------------------------------------------------------


def add_partition(cluster: Cluster, topic: str) -> None:
    cluster.admin.create_partitions([NewPartitions(topic, 3)])[topic].result()


def test_a_new_partition_is_read_from_its_beginning(
    cluster: Cluster, topic: str, start: Start
) -> None:
    query = start(maxOffsetsPerTrigger="1")
    query.trigger()
    add_partition(cluster, topic)
    late = produce(cluster, topic, "first", "second", partition=2)

    found = until(query.trigger)
    assert [*found, *until(query.trigger)] == late


def test_a_pattern_takes_in_new_topics_and_no_internal_ones(
    cluster: Cluster, topic: str, start: Start
) -> None:
    query = start(subscribe=None, subscribePattern=f"{topic}.*|__.*", maxOffsetsPerTrigger="10")
    cluster.admin.create_topic(f"{topic}-more", 1, 1)
    produce(cluster, f"{topic}-more", "a")

    assert until(query.trigger) == [(0, 0, "a")]
    assert set(json.loads(query.at)) == {topic, f"{topic}-more"}
    names = {"kafka.bootstrap.servers": cluster.bootstrap, "subscribePattern": "no.*"}
    with pytest.raises(ApiException, match="subscribePattern: there is no topic of such a name"):
        batch(names)


def test_partitions_can_be_assigned(cluster: Cluster, topic: str, start: Start) -> None:
    produce(cluster, topic, "a")
    wanted = produce(cluster, topic, "b", partition=1)

    assert start(subscribe=None, assign=json.dumps({topic: [1]})).trigger() == wanted
    with pytest.raises(ApiException, match=f"assign: there is no {topic}-5"):
        start(subscribe=None, assign=json.dumps({topic: [1, 5]}))


def test_all_partitions_of_a_leader_are_asked_for_at_once(
    cluster: Cluster, new_topic: Callable[[int], str], start: Start
) -> None:
    query = start(subscribe=new_topic(20))
    cluster.trace()
    query.trigger()
    query.trigger()
    cluster.trace(False)

    served = [it.data for it in cluster.events() if it.kind == "request"]
    assert [it["api"] for it in served].count("LIST_OFFSETS") == 2


def test_what_a_transaction_did_not_commit_is_not_read_by_who_wants_only_that(
    cluster: Cluster, topic: str, start: Start
) -> None:
    till = cluster.producer({"transactional.id": topic})
    till.init_transactions()
    for value, end in (("gone", till.abort_transaction), ("kept", till.commit_transaction)):
        till.begin_transaction()
        till.produce(topic, value, partition=0)
        till.flush()
        end()
    till.begin_transaction()
    till.produce(topic, "perhaps", partition=0)
    till.flush()

    committed = start(kafka__isolation__level="read_committed")
    assert until(committed.trigger) == [(0, 2, "kept")]
    assert committed.trigger() == NONE
    assert start().trigger() == [(0, 0, "gone"), (0, 2, "kept"), (0, 4, "perhaps")]
    till.commit_transaction()
    assert until(committed.trigger) == [(0, 4, "perhaps")]
