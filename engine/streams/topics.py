"""What there is to read, as the cluster tells: partitions, and the offsets in them.

    look() ── Metadata ────> any broker        which partitions, with the id of their topic
    find() ── ListOffsets ─> each leader       one request for all that it leads

What is in the way and passes (an election, a broker that comes back) is waited for, up to
`kafkaConsumer.pollTimeoutMs`. Only the very first word with the cluster must not take long: then
an address is wrong, as a rule.

What is gone is not an error here. It is left out of the answer, and who asked decides.
"""

import math
import re
import time
from collections.abc import Collection, Set
from functools import partial
from uuid import UUID

from kio.schema.list_offsets.v6.request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)

from engine.client.cluster import BACKOFF, ClusterView, check, unknown_topic
from engine.client.metadata import NO_BROKER, Metadata
from engine.client.reader import CONSUMER
from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition
from engine.streams.offsets import Offsets, bad, listed
from engine.streams.options import ReadOptions
from engine.wire.apis import Api

OPENING = 10.0  # seconds for the first word with the cluster
GRACE = 3.0  # seconds for what is missing to show up
FRESH = 1.0  # seconds until it is asked for new topics and partitions again

Partitions = dict[TopicPartition, UUID | None]  # with the id of the topic: it tells a new one


class Topics:
    """Those that one query reads. Opened when first asked, so that it may stand by unused."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._consumer = options.consumer
        self._view: ClusterView | None = None
        self._metadata: Metadata | None = None  # None: not known, or out of date
        self._asked = 0.0  # when that was
        self._given_up: Set[TopicPartition] = set()  # waited for once, in vain

    def close(self) -> None:
        if self._view is not None:
            self._view.close()

    # -- partitions ------------------------------------------------------------------------

    def look(self, known: Collection[TopicPartition] = ()) -> Partitions:
        """All partitions that there are to read. What is expected and not there gets a moment to
        show up, once: a broker that has just started has not heard of everything yet."""
        if time.monotonic() - self._asked > FRESH:
            self.forget()
        missed_since = math.inf
        while True:
            there = self._there(self._cluster().retry(self._describe))
            missing = {*known, *self._named()} - there.keys() - self._given_up
            now = time.monotonic()
            missed_since = min(missed_since, now)
            if not missing or now > missed_since + GRACE:
                self._given_up = (self._given_up | missing) - there.keys()
                return there
            self.forget()
            time.sleep(BACKOFF)

    def forget(self) -> None:
        """Ask again before anything else is answered."""
        self._metadata = None

    def look_first(self) -> Partitions:
        """The same; here it is an error if what was named is not there."""
        there = self.look()
        missing = self._named() - there.keys()
        metadata = self._cluster().describe(None) if missing else None
        for each in sorted(missing):
            if metadata is not None and each.topic not in metadata.topics:
                raise unknown_topic(each.topic, metadata.topics)
        if missing:
            raise bad("assign", f"there is no {listed(missing)}")
        return there

    def reads(self, partition: TopicPartition) -> bool:
        """Whether it belongs to what this query is to read, be it there or not."""
        if self._options.subscribe_pattern:
            return re.fullmatch(self._options.subscribe_pattern, partition.topic) is not None
        return partition in self._options.assign or partition.topic in self._options.subscribe

    def _named(self) -> Set[TopicPartition]:
        """What must be there. Every topic has a partition 0."""
        return {*self._options.assign, *(TopicPartition(it, 0) for it in self._options.subscribe)}

    def _there(self, metadata: Metadata) -> Partitions:
        exclude = self._consumer.exclude_internal_topics and self._options.subscribe_pattern
        found = {
            TopicPartition(topic.name, number): topic.id
            for topic in metadata.topics.values()
            if not (exclude and topic.is_internal)
            for number in topic.partitions
        }
        return {each: found[each] for each in sorted(found) if self.reads(each)}

    def _describe(self) -> Metadata:
        if self._metadata is None:
            names = sorted({each.topic for each in self._named()})
            metadata = self._cluster().describe(names or None)  # None: all, for a pattern
            if metadata.controller == NO_BROKER:
                why = "a broker that knows of no controller knows of no topics yet"
                raise KafkaError(ErrorCode.not_controller, why)
            self._metadata, self._asked = metadata, time.monotonic()
        return self._metadata

    def _cluster(self) -> ClusterView:
        if self._view is None:
            self._view = ClusterView(
                self._options.addresses,
                self._consumer.client_id or "brokerlab",
                timeout=self._consumer.request_timeout_ms / 1000,
                patience=self._options.patience,
                within=min(OPENING, self._options.patience),
            )
        return self._view

    # -- offsets ---------------------------------------------------------------------------

    def find(self, wanted: Offsets) -> dict[TopicPartition, int]:
        """Offsets by time, or by EARLIEST or LATEST; -1 where no record is as new.

        A partition that is gone is left out.
        """
        found: dict[TopicPartition, int] = {}
        while left := wanted.keys() & self.look(wanted).keys() - found.keys():
            self._cluster().retry(partial(self._find, wanted, left, found))
        return {each: found[each] for each in wanted if each in found}

    def _find(
        self, wanted: Offsets, left: Set[TopicPartition], found: dict[TopicPartition, int]
    ) -> None:
        """One attempt: every leader is asked, whatever the others say."""
        errors: list[KafkaError] = []
        leaders: dict[int, dict[TopicPartition, int]] = {}
        for each in sorted(left - found.keys()):
            if partition := self._describe().partition(each):  # else it is gone: `look` will tell
                leaders.setdefault(partition.leader, {})[each] = wanted[each]
        if NO_BROKER in leaders:
            why = f"{listed(leaders.pop(NO_BROKER))} has no leader"
            errors.append(KafkaError(ErrorCode.leader_not_available, why))
        for leader, asked in leaders.items():
            try:
                found.update(self._ask(leader, asked, errors))
            except KafkaError as error:
                errors.append(error)
        if errors:
            self.forget()
            raise errors[0]

    def _ask(self, leader: int, wanted: Offsets, errors: list[KafkaError]) -> Offsets:
        topics: dict[str, list[ListOffsetsPartition]] = {}
        for partition, at in wanted.items():
            topics.setdefault(partition.topic, []).append(
                ListOffsetsPartition(partition_index=partition.partition, timestamp=at)
            )
        request = ListOffsetsRequest(
            replica_id=CONSUMER,
            isolation_level=int(self._consumer.isolation_level == "read_committed"),
            topics=tuple(
                ListOffsetsTopic(name=name, partitions=tuple(each)) for name, each in topics.items()
            ),
        )
        answer = self._cluster().node(leader).ask(Api.LIST_OFFSETS, request)
        found: dict[TopicPartition, int] = {}
        for topic in answer.topics:
            for each in topic.partitions:
                partition = TopicPartition(topic.name, each.partition_index)
                code = each.error_code
                if code == ErrorCode.unknown_topic_or_partition:
                    code = ErrorCode.not_leader_or_follower  # metadata will tell if it is gone
                try:
                    check(code, what=str(partition))
                    found[partition] = each.offset
                except KafkaError as error:
                    errors.append(error)
        return found
