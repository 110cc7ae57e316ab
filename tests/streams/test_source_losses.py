"""What the source says when records are gone, or when what it is told can't be."""

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest

from engine import TopicPartition
from engine.client.cluster import ClusterClient
from engine.client.metadata import MetadataSnapshot
from engine.cluster.cluster import Cluster
from engine.errors import ApiException
from tests.interop.watch import until
from tests.streams.query import NONE, Query, produce

Start = Callable[..., Query]


def anew(cluster: Cluster, topic: str, partitions: int = 2) -> None:
    """Another topic of the same name."""
    cluster.admin.delete_topic(topic)
    cluster.admin.create_topic(topic, partitions, 1)


# -- what is lost ----------------------------------------------------------------------------


def test_what_retention_took_away_is_told_by_its_offsets(
    cluster: Cluster, topic: str, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    produce(cluster, topic, "a", "b", "c", "d")
    query, careless = start(), start(failOnDataLoss="false")
    cluster.admin.delete_records([TopicPartition(topic, 0, 3)])[TopicPartition(topic, 0)].result()

    with pytest.raises(
        ApiException, match=f"offsets 0 to 2 of {topic}-0 are gone: its log starts a"
    ):
        query.trigger()
    with caplog.at_level(logging.WARNING):
        assert careless.trigger() == [(0, 3, "d")]
        produce(cluster, topic, "e")
        assert careless.trigger() == [(0, 4, "e")]
    assert caplog.text.count("are gone") == 1, caplog.text


def test_a_deleted_topic_ends_a_query_or_is_passed_over(
    cluster: Cluster, topic: str, new_topic: Callable[[], str], start: Start
) -> None:
    other = new_topic()
    produce(cluster, topic, "a")
    query = start(subscribe=f"{topic},{other}")
    careless = start(subscribe=f"{topic},{other}", failOnDataLoss="false")
    query.trigger()
    careless.trigger()
    cluster.admin.delete_topic(topic)

    with pytest.raises(ApiException, match=f"{topic}-0, {topic}-1 is gone, and what was not read"):
        query.await_error()
    rest = produce(cluster, other, "b")
    assert until(careless.trigger) == rest
    cluster.admin.create_topic(topic, 2, 1)
    back = produce(cluster, topic, "c")
    assert until(careless.trigger) == back


@pytest.mark.parametrize("values", ["x", "uvwxyz"], ids=["shorter", "longer"])
def test_a_topic_made_anew_is_not_taken_for_the_old_one(
    cluster: Cluster, topic: str, start: Start, values: str, caplog: pytest.LogCaptureFixture
) -> None:
    produce(cluster, topic, "a", "b", "c")
    query, careless = start(), start(failOnDataLoss="false")
    query.trigger()
    careless.trigger()
    anew(cluster, topic)
    new = produce(cluster, topic, *values)

    with pytest.raises(ApiException, match=f"{topic}-0 was read up to offset 3 and now ends at "):
        query.await_error()
    assert until(careless.trigger) == new
    assert careless.trigger() == NONE
    more = produce(cluster, topic, "more")
    assert careless.trigger() == more
    assert caplog.text.count(f"{topic}-0 was read up to offset") == 1


def test_a_batch_that_is_done_again_does_not_wait_for_records_that_are_gone(
    cluster: Cluster, topic: str, start: Start
) -> None:
    produce(cluster, topic, "a", "b", "c")
    query = start()
    before, (end, _) = query.at, query.plan()
    query.reader.stop()
    anew(cluster, topic)
    new = produce(cluster, topic, "x")

    with pytest.raises(
        ApiException, match=f"{topic}-0 was to be read up to offset 3 and ends at 1"
    ):
        start(at=before).splits(before, end)
    careless = start(at=before, failOnDataLoss="false")
    assert careless.read(careless.splits(before, end)) == new


# -- what can't be ---------------------------------------------------------------------------


def test_a_checkpoint_of_another_topic_is_refused(
    new_topic: Callable[[], str], topic: str, start: Start
) -> None:
    other = start(subscribe=new_topic())

    with pytest.raises(
        ApiException, match=r"checkpointLocation: .* does not; every query needs a c"
    ):
        start(at=other.at).trigger()
    with pytest.raises(ApiException, match=r"checkpoint: \{.*\} is not of the form"):
        start(at='{"logOffset": 3}').trigger()


def test_an_unknown_topic_is_told_with_the_nearest(topic: str, start: Start) -> None:
    with pytest.raises(ApiException, match=f"there is no topic {topic}s in this .*did you mean"):
        start(subscribe=f"{topic}s")


def test_a_broker_that_has_not_heard_of_a_topic_yet_is_asked_again(
    cluster: Cluster, topic: str, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    ignorant, describe = iter([{}] * 4), ClusterClient.describe

    def described(self: ClusterClient, *asked: Any, **more: Any) -> MetadataSnapshot:
        told = describe(self, *asked, **more)
        return told._replace(topics=next(ignorant, told.topics))

    monkeypatch.setattr(ClusterClient, "describe", described)
    rows = produce(cluster, topic, "a")
    assert start().trigger() == rows
    assert next(ignorant, None) is None


def test_starting_offsets_are_there_for_every_partition(topic: str, start: Start) -> None:
    with pytest.raises(
        ApiException, match=f"startingOffsets: says nothing of {topic}-1; name ever"
    ):
        start(startingOffsets=json.dumps({topic: {"0": 0}}))
    with pytest.raises(
        ApiException, match=f"startingOffsets: 7 of {topic}-1 is beyond its end, whi"
    ):
        start(startingOffsets=json.dumps({topic: {"0": 0, "1": 7}}))


def test_where_no_broker_is_a_query_ends_within_seconds(start: Start) -> None:
    with pytest.raises(ApiException, match=r"no broker at 127.0.0.1:1: Connection refused"):
        start(kafka__bootstrap__servers="127.0.0.1:1")


@pytest.mark.long
def test_a_broker_that_comes_back_is_waited_for_but_not_for_ever() -> None:
    with Cluster() as cluster:
        cluster.admin.create_topic("orders", 1, 1)
        options = {"kafka.bootstrap.servers": cluster.bootstrap, "subscribe": "orders"}
        patient = Query(options)
        hasty = Query(options | {"kafkaConsumer.pollTimeoutMs": "300"})
        rows = produce(cluster, "orders", "a")
        cluster.kill(1)
        with pytest.raises(ApiException, match="no broker at"):
            hasty.trigger()
        cluster.restart(1, wait=False)
        assert patient.trigger() == rows
        for query in (patient, hasty):
            query.reader.stop()
