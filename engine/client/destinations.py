"""Finds the queue for a record: the topic's partitions, and the partitioner's choice.

    "orders", key -> how many partitions does it have? -> the partitioner chooses -> a queue
                     |
                     not known yet: wait for the metadata, up to max.block.ms

If brokers say that a topic or a partition does not exist, it may be so new that they don't know it
yet. After two seconds the application gets an error, with the nearest name that exists.
"""

import time
from typing import NamedTuple

from engine import errors
from engine.client.cluster import unknown_topic
from engine.client.network import NetworkClient
from engine.client.partitioner import Partitioner
from engine.client.producing.accumulator import PartitionQueue, RecordAccumulator
from engine.client.values import KafkaError, KafkaException, exception_of
from engine.config.producer import ProducerConfig
from engine.errors import ErrorCode
from engine.model import NO_BROKER, TopicPartition

PROPAGATION = 2.0  # seconds until every broker knows a new topic


class _TopicQueues(NamedTuple):
    version: int  # of the metadata
    queues: list[PartitionQueue]  # by partition
    available: list[int]  # partitions that have a leader


class Destinations:
    def __init__(
        self,
        settings: ProducerConfig,
        network: NetworkClient,
        accumulator: RecordAccumulator,
        partitioner: Partitioner,
    ) -> None:
        self._max_block = settings.max_block_ms / 1000
        self._network = network
        self._view = network.view
        self._accumulator = accumulator
        self._partitioner = partitioner
        self._topics: dict[str, _TopicQueues] = {}

    def queue(
        self, topic: str, key: bytes | None, partition: int, size: int, until: float
    ) -> PartitionQueue:
        """For a record of this size. Waits for metadata until that time of time.monotonic(). The
        network's lock must be held."""
        target = self._topics.get(topic)
        if target is None or target.version != self._view.version:
            target = self._look_up(topic, 0, until)
        if partition >= 0:
            if partition >= len(target.queues):
                target = self._look_up(topic, partition, until)
            return target.queues[partition]
        count = len(target.queues)
        chosen = self._partitioner.choose(topic, key, count, target.available)
        if not self._accumulator.fits(target.queues[chosen], size):
            self._partitioner.filled(topic, chosen, count, target.available)
            if key is None:
                chosen = self._partitioner.choose(topic, key, count, target.available)
        return target.queues[chosen]

    def _look_up(self, topic: str, partition: int, until: float) -> _TopicQueues:
        """Waits until the metadata has this partition."""
        known = self._view.partitions(topic)
        if known is None and topic in self._topics:
            return self._topics[topic]  # deleted, perhaps to be created again
        if known is None or partition >= known:
            known = self._await_topic(topic, partition, until)
        partitions = [TopicPartition(topic, number) for number in range(known)]
        leader = self._view.metadata.leader
        target = self._topics[topic] = _TopicQueues(
            self._view.version,
            [self._accumulator.queue(each) for each in partitions],
            [each.partition for each in partitions if leader(each) != NO_BROKER],
        )
        return target

    def _await_topic(self, topic: str, partition: int, until: float) -> int:
        """How many partitions it has, as soon as that is known; otherwise raises why not."""
        began = time.monotonic()
        if self._view.wants(topic):
            self._view.stale()
        self._view.add(topic)
        asked = self._view.version

        def is_known() -> bool:
            nonlocal asked
            known, error = self._view.partitions(topic), self._view.error(topic)
            if self._view.version == asked or error is None:
                return False
            is_absent = error == ErrorCode.unknown_topic_or_partition
            if is_absent or (known is not None and partition >= known):
                asked = self._view.version
                self._view.stale()
                self._network.wake()
                return time.monotonic() > began + PROPAGATION
            return not error.retriable

        self._network.wait(is_known, until - began)
        known, error = self._view.partitions(topic), self._view.error(topic)
        if known is not None and partition < known:
            return known
        if known is not None:
            text = f"topic {topic} has partitions 0 to {known - 1}, not {partition}"
            raise KafkaException(KafkaError(KafkaError._UNKNOWN_PARTITION, text))
        raise self._no_topic(topic, error, until)

    def _no_topic(self, topic: str, error: ErrorCode | None, until: float) -> KafkaException:
        if error == ErrorCode.unknown_topic_or_partition:
            try:
                left = max(0.0, until - time.monotonic())
                existing = self._network.metadata(None, left).topics
            except errors.ApiException:
                existing = {}  # then no name can be suggested
            return exception_of(unknown_topic(topic, existing), KafkaError._UNKNOWN_TOPIC)
        if error is not None and not error.retriable:
            return KafkaException(KafkaError(error, f"topic {topic!r}: {error.name}"))
        reason = self._view.trouble or "its partitions have no leaders"
        text = (
            f"nothing is known of topic {topic} after {self._max_block:g} s "
            f"(max.block.ms): {reason}"
        )
        return KafkaException(KafkaError(KafkaError._TIMED_OUT, text, retriable=True))
