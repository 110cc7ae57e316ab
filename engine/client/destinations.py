"""From a topic's name to the queue of one of its partitions.

    "orders", key -> how many partitions has it? -> the partitioner chooses -> a queue
                     |
                     nothing known yet: wait for the view, up to max.block.ms

A topic that brokers say is not there gets a little time: it may be so new that not every broker
has heard of it. Then the application is told, with the nearest name there is.
"""

import time
from typing import NamedTuple

from engine import errors
from engine.client.cluster import unknown_topic
from engine.client.metadata import NO_BROKER
from engine.client.network import Network
from engine.client.partitioner import Partitioner
from engine.client.producing.accumulator import Accumulator, Queue
from engine.client.values import KafkaError, KafkaException, exception_of
from engine.config.producer import ProducerConfig
from engine.errors import ErrorCode
from engine.model import TopicPartition

NEWS_TAKES = 2.0  # seconds until every broker has heard of a new topic


class _Target(NamedTuple):
    """What is known of a topic."""

    version: int  # of the view that it is from
    queues: list[Queue]  # by partition
    available: list[int]  # partitions that have a leader


class Destinations:
    def __init__(
        self,
        settings: ProducerConfig,
        network: Network,
        accumulator: Accumulator,
        partitioner: Partitioner,
    ) -> None:
        self._patience = settings.max_block_ms / 1000
        self._network = network
        self._view = network.view
        self._accumulator = accumulator
        self._partitioner = partitioner
        self._targets: dict[str, _Target] = {}

    def queue(self, topic: str, key: bytes | None, partition: int, size: int) -> Queue:
        """Where a record of this size goes. The network's lock must be held."""
        target = self._targets.get(topic)
        if target is None or target.version != self._view.version:
            target = self._look_up(topic)
        if partition >= 0:
            if partition >= len(target.queues):
                target = self._look_up(topic, partition)
            return target.queues[partition]
        count = len(target.queues)
        queue = target.queues[self._partitioner.choose(topic, key, count, target.available)]
        if key is None and not self._accumulator.fits(queue, size):
            self._partitioner.filled(topic, count, target.available)
            queue = target.queues[self._partitioner.choose(topic, key, count, target.available)]
        return queue

    def _look_up(self, topic: str, partition: int = 0) -> _Target:
        """What is known of a topic now; waits until that is enough."""
        known = self._view.partitions(topic)
        if known is None and topic in self._targets:
            return self._targets[topic]  # it is gone, or will be back: time will tell
        if known is None or partition >= known:
            known = self._await_topic(topic, partition)
        partitions = [TopicPartition(topic, number) for number in range(known)]
        target = self._targets[topic] = _Target(
            self._view.version,
            [self._accumulator.queue(each) for each in partitions],
            [each.partition for each in partitions if self._view.leader(each) != NO_BROKER],
        )
        return target

    def _await_topic(self, topic: str, partition: int) -> int:
        """How many partitions it has, as soon as it is known; or the error there is."""
        began = time.monotonic()
        if self._view.wants(topic):
            self._view.stale()
        self._view.add(topic)
        asked = self._view.version

        def is_known() -> bool:
            error = self._view.error(topic)
            if self._view.version == asked or error is None:
                return False
            if error == ErrorCode.unknown_topic_or_partition:
                return time.monotonic() > began + NEWS_TAKES
            return not error.retriable

        self._network.wait(is_known, self._patience)
        known, error = self._view.partitions(topic), self._view.error(topic)
        if known is not None and partition < known:
            return known
        if known is not None:
            text = f"topic {topic} has partitions 0 to {known - 1}, not {partition}"
            raise KafkaException(KafkaError(KafkaError._UNKNOWN_PARTITION, text))
        raise self._no_topic(topic, error)

    def _no_topic(self, topic: str, error: ErrorCode | None) -> KafkaException:
        if error == ErrorCode.unknown_topic_or_partition:
            try:
                there_are = self._network.metadata(None, self._patience).topics
            except errors.KafkaError:
                there_are = {}  # then there is no name to suggest
            return exception_of(unknown_topic(topic, there_are), KafkaError._UNKNOWN_TOPIC)
        if error is not None and not error.retriable:
            return KafkaException(KafkaError(error, f"topic {topic!r}: {error.name}"))
        reason = self._view.trouble or "its partitions have no leaders"
        text = (
            f"nothing is known of topic {topic} after {self._patience:g} s (max.block.ms): {reason}"
        )
        return KafkaException(KafkaError(KafkaError._TIMED_OUT, text, retriable=True))
