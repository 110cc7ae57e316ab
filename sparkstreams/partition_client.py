"""Whole batches to and from partitions, for the exactly-once sink.

    batches  <-  Fetch    | batch | batch | batch | ->  end      headers and bytes, not decoded
    append   ->  Produce  one batch a partition, acks=all        -> its base offset, or an error

The sink moves batches between topics and keeps a ledger in one. Nothing is fetched ahead, and one
batch of a partition is in flight at a time, so the order cannot change. Errors that may pass (an
election, a restart) are retried.
"""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from functools import partial
from typing import Any

from kio.schema.init_producer_id.v4.request import InitProducerIdRequest
from kio.schema.produce.v9.request import PartitionProduceData, ProduceRequest, TopicProduceData

from engine.client.admin.operations import await_topic
from engine.client.admin.requests import create_topic, find_offset
from engine.client.admin.values import NewTopic
from engine.client.cluster import PASSING, REQUEST_TIMEOUT_S, ClusterClient, check
from engine.client.consuming.fetcher import fetch_request
from engine.client.consuming.offset_lookup import EARLIEST, LATEST
from engine.errors import ApiException, ErrorCode
from engine.model import NO_EPOCH, TopicPartition
from engine.storage.batch import Header, scan
from engine.storage.files import Buffer
from engine.wire.apis import Api
from engine.wire.by_topic import topics_of

ACKS_ALL = -1
FETCH_BYTES = 4 << 20
COPIES = 3  # replicas of a topic that we make, if there are so many brokers

AppendResult = int | ApiException  # the base offset of a batch that was appended, or the error


class PartitionClient:
    def __init__(self, cluster: ClusterClient) -> None:
        self._cluster = cluster

    # -- topics --------------------------------------------------------------------------

    def partitions(self, topic: str, create: bool = False) -> int:
        """How many a topic has; with `create`, brokers with auto.create.topics.enable create it."""
        return len(self._cluster.topic(topic, create).partitions)

    def ensure(self, topic: str, partitions: int, configs: Mapping[str, str]) -> int:
        """Create a topic if it does not exist; returns how many partitions it has."""
        found = self._cluster.describe([topic]).topics[topic]
        if found.error == ErrorCode.unknown_topic_or_partition:
            copies = min(COPIES, len(self._cluster.metadata.brokers))
            try:
                create_topic(self._cluster, NewTopic(topic, partitions, copies, config=configs))
            except ApiException as error:
                if error.code != ErrorCode.topic_already_exists:
                    raise
            await_topic(self._cluster, topic)
        return self.partitions(topic)

    def bounds(self, partition: TopicPartition) -> tuple[int, int]:
        """Its first offset, and the one after the last that is committed."""
        self.partitions(partition.topic)
        first, end = (find_offset(self._cluster, partition, it).offset for it in (EARLIEST, LATEST))
        return first, end

    def producer_id(self) -> int:
        """A new one, which no other producer has or gets."""
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout=timedelta(0))

        def attempt() -> int:
            response = self._cluster.ask_any(Api.INIT_PRODUCER_ID, request)
            check(response.error_code, what="a producer id")
            return int(response.producer_id)

        return self._cluster.retry(attempt)

    # -- reading -------------------------------------------------------------------------

    def batches(
        self, partition: TopicPartition, start: int, end: int
    ) -> Iterator[tuple[Header, memoryview]]:
        """Every batch with offsets from `start` to below `end`, and its bytes; perhaps more."""
        while start < end:
            data = self._cluster.retry(partial(self._fetch, partition, start))
            for at, header in scan(data):
                if header.next_offset > start:
                    start = header.next_offset
                    yield header, data[at : at + header.size]

    def _fetch(self, partition: TopicPartition, offset: int) -> memoryview:
        wanted = {partition: (offset, NO_EPOCH)}
        request = fetch_request(wanted, 0, partition_bytes=FETCH_BYTES, max_bytes=FETCH_BYTES)
        response = self._cluster.ask_leader(partition, Api.FETCH, request)
        check(response.error_code, what="fetch")
        answer = response.responses[0].partitions[0]
        check(answer.error_code, what=f"{partition} at offset {offset}")
        if not answer.records:  # a new leader does not know yet that this is committed
            raise ApiException(
                ErrorCode.offset_not_available,
                f"{partition} has nothing at offset {offset} for now",
            )
        return memoryview(answer.records)

    # -- writing -------------------------------------------------------------------------

    def append(
        self, batches: Mapping[TopicPartition, Buffer]
    ) -> dict[TopicPartition, AppendResult]:
        """Append one batch to each of these partitions, with acks=all.

        A batch is sent again until its result is known, so it may be stored twice, unless it has a
        producer id and a sequence number.
        """
        places: dict[TopicPartition, AppendResult] = {}

        def attempt() -> None:
            by_leader: dict[int, dict[TopicPartition, Buffer]] = {}
            for partition, batch in batches.items():
                if partition not in places:
                    leader = self._cluster.leader(partition)
                    by_leader.setdefault(leader, {})[partition] = batch
            trouble = None
            for leader, those in by_leader.items():
                for partition, place in self._produce(leader, those).items():
                    if isinstance(place, ApiException) and place.code in PASSING:
                        trouble = place
                    else:
                        places[partition] = place
            if trouble is not None:
                raise trouble

        self._cluster.retry(attempt)
        return places

    def append_one(self, partition: TopicPartition, batch: Buffer) -> int:
        """Append one batch, which must not be refused. Returns its base offset."""
        place = self.append({partition: batch})[partition]
        if isinstance(place, ApiException):
            raise place
        return place

    def _produce(
        self, leader: int, batches: Mapping[TopicPartition, Buffer]
    ) -> dict[TopicPartition, AppendResult]:
        rows = (
            (partition, PartitionProduceData(index=partition.partition, records=batch))
            for partition, batch in batches.items()
        )
        request = ProduceRequest(
            transactional_id=None,
            acks=ACKS_ALL,
            timeout=timedelta(seconds=REQUEST_TIMEOUT_S),
            topic_data=topics_of(TopicProduceData, rows, listed="partition_data"),
        )
        response = self._cluster.ask(leader, Api.PRODUCE, request)
        return {
            partition: _place(partition, answer)
            for topic in response.responses
            for answer in topic.partition_responses
            for partition in [TopicPartition(topic.name, answer.index)]
        }


def _place(partition: TopicPartition, answer: Any) -> AppendResult:
    try:
        check(answer.error_code, answer.error_message, str(partition))
    except ApiException as error:
        return error
    return int(answer.base_offset)
