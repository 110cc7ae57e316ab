"""A partition from afar: read its batches as they are, append some, have its topic made.

    batches  <-  Fetch    | batch | batch | batch | ->  end      headers and bytes, not decoded
    append   ->  Produce  one batch a partition, acks=all        -> its base offset, or why not

The exactly-once sink moves whole batches between topics and keeps a ledger in one. That needs so
little of a client that it is here in a few lines: nothing is fetched ahead, and of a partition
only one batch is on its way, so there is no order to get wrong. Whatever passes (an election, a
broker that comes back) is waited for.
"""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from functools import partial
from typing import Any

from kio.schema.fetch.v12.request import FetchPartition, FetchRequest, FetchTopic
from kio.schema.init_producer_id.v4.request import InitProducerIdRequest
from kio.schema.produce.v9.request import PartitionProduceData, ProduceRequest, TopicProduceData

from engine.client.admin.work import await_topic
from engine.client.changes import create_topic
from engine.client.cluster import PASSING, ClusterView, check
from engine.client.connection import REQUEST_TIMEOUT
from engine.client.reader import CONSUMER, EARLIEST, LATEST, list_offset
from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition
from engine.storage.batch import NO_EPOCH, NO_PRODUCER_ID, Header, scan
from engine.storage.files import Buffer
from engine.wire.apis import Api

ACKS_ALL = -1
MAX_WAIT = timedelta(seconds=0.5)  # fetch.max.wait.ms
FETCH_BYTES = 4 << 20
COPIES = 3  # replicas of a topic that we make, if there are so many brokers

Place = int | KafkaError  # the base offset of a batch that was appended, or why it was not


class Remote:
    def __init__(self, cluster: ClusterView) -> None:
        self._cluster = cluster

    # -- topics --------------------------------------------------------------------------

    def partitions(self, topic: str, create: bool = False) -> int:
        """How many a topic has; it may be made by asking, if the brokers are set so."""
        return len(self._cluster.topic(topic, create).partitions)

    def ensure(self, topic: str, partitions: int, configs: Mapping[str, str]) -> int:
        """Have a topic made if it is not there; how many partitions it has."""
        found = self._cluster.describe([topic]).topics[topic]
        if found.error == ErrorCode.unknown_topic_or_partition:
            copies = min(COPIES, len(self._cluster.metadata.brokers))
            try:
                create_topic(self._cluster, topic, partitions, copies, configs=configs)
            except KafkaError as error:
                if error.code != ErrorCode.topic_already_exists:
                    raise
            await_topic(self._cluster, topic)
        return self.partitions(topic)

    def bounds(self, partition: TopicPartition) -> tuple[int, int]:
        """Its first offset, and the one after the last that is committed."""
        self.partitions(partition.topic)
        first, end = (list_offset(self._cluster, partition, it) for it in (EARLIEST, LATEST))
        return first, end

    def producer_id(self) -> int:
        """A new one, which nobody else has or gets."""
        request = InitProducerIdRequest(
            transactional_id=None,
            transaction_timeout=timedelta(0),
            producer_id=NO_PRODUCER_ID,
            producer_epoch=NO_EPOCH,
        )

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
        wanted = FetchPartition(
            partition=partition.partition, fetch_offset=offset, partition_max_bytes=FETCH_BYTES
        )
        request = FetchRequest(
            replica_id=CONSUMER,
            max_wait=MAX_WAIT,
            min_bytes=1,
            max_bytes=FETCH_BYTES,
            topics=(FetchTopic(topic=partition.topic, partitions=(wanted,)),),
            forgotten_topics_data=(),
        )
        leader = self._cluster.leader(partition)
        response = self._cluster.node(leader).ask(Api.FETCH, request)
        check(response.error_code, what="fetch")
        answer = response.responses[0].partitions[0]
        check(answer.error_code, what=f"{partition} at offset {offset}")
        if not answer.records:  # a new leader does not know yet that this is committed
            raise KafkaError(
                ErrorCode.offset_not_available,
                f"{partition} has nothing at offset {offset} for now",
            )
        return memoryview(answer.records)

    # -- writing -------------------------------------------------------------------------

    def append(self, batches: Mapping[TopicPartition, Buffer]) -> dict[TopicPartition, Place]:
        """One batch to each of these partitions, stored by all replicas in sync, or refused.

        It is sent again until it is known what became of it: so it may be stored twice, unless it
        has a producer id and a sequence number.
        """
        places: dict[TopicPartition, Place] = {}

        def attempt() -> None:
            by_leader: dict[int, dict[TopicPartition, Buffer]] = {}
            for partition, batch in batches.items():
                if partition not in places:
                    leader = self._cluster.leader(partition)
                    by_leader.setdefault(leader, {})[partition] = batch
            trouble = None
            for leader, those in by_leader.items():
                for partition, place in self._produce(leader, those).items():
                    if isinstance(place, KafkaError) and place.code in PASSING:
                        trouble = place
                    else:
                        places[partition] = place
            if trouble is not None:
                raise trouble

        self._cluster.retry(attempt)
        return places

    def append_one(self, partition: TopicPartition, batch: Buffer) -> int:
        """The same with one batch, which must not be refused; its base offset."""
        place = self.append({partition: batch})[partition]
        if isinstance(place, KafkaError):
            raise place
        return place

    def _produce(
        self, leader: int, batches: Mapping[TopicPartition, Buffer]
    ) -> dict[TopicPartition, Place]:
        topics: dict[str, list[PartitionProduceData]] = {}
        for (topic, number), batch in batches.items():
            data = PartitionProduceData(index=number, records=batch)
            topics.setdefault(topic, []).append(data)
        request = ProduceRequest(
            transactional_id=None,
            acks=ACKS_ALL,
            timeout=timedelta(seconds=REQUEST_TIMEOUT),
            topic_data=tuple(
                TopicProduceData(name=topic, partition_data=tuple(those))
                for topic, those in topics.items()
            ),
        )
        response = self._cluster.node(leader).ask(Api.PRODUCE, request)
        return {
            partition: _place(partition, answer)
            for topic in response.responses
            for answer in topic.partition_responses
            for partition in [TopicPartition(topic.name, answer.index)]
        }


def _place(partition: TopicPartition, answer: Any) -> Place:
    try:
        check(answer.error_code, answer.error_message, str(partition))
    except KafkaError as error:
        return error
    return int(answer.base_offset)
