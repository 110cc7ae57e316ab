"""The partitions that a query reads, and their offsets, from the cluster.

    look() ── Metadata ────> any broker        the partitions, with the id of their topic
    find() ── ListOffsets ─> each leader       one request for all partitions that it leads

Errors that may pass (an election, a restart) are retried, up to `kafkaConsumer.pollTimeoutMs`. Only
the first connection has a shorter time-out, since a failure then usually means a wrong address.

A deleted partition is not an error here. It is left out of the result, and the caller decides.
"""

import math
import re
import time
from collections.abc import Collection, Set
from functools import partial
from uuid import UUID

from engine.client.cluster import RETRY_BACKOFF_S, ClusterClient, check, unknown_topic
from engine.client.consuming.offset_lookup import isolation, list_offsets_request
from engine.client.metadata import MetadataSnapshot
from engine.errors import ApiException, ErrorCode
from engine.model import NO_BROKER, TopicPartition
from engine.wire.apis import Api
from engine.wire.by_topic import by_partition
from sparkstreams.offsets import Offsets, bad, listed
from sparkstreams.source_options import ReadOptions

OPENING = 10.0  # seconds for the first connection
GRACE = 3.0  # seconds until a missing partition counts as deleted
FRESH = 1.0  # seconds until the metadata is fetched again

Partitions = dict[TopicPartition, UUID | None]  # with the id of the topic: a new one has another


class Topics:
    """The topics that one query reads. It connects with its first call."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._consumer = options.consumer
        self._view: ClusterClient | None = None
        self._metadata: MetadataSnapshot | None = None  # None: not known, or out of date
        self._asked = 0.0  # when it was fetched
        self._given_up: Set[TopicPartition] = set()  # were missing for GRACE once

    def close(self) -> None:
        if self._view is not None:
            self._view.close()

    # -- partitions ------------------------------------------------------------------------

    def look(self, known: Collection[TopicPartition] = ()) -> Partitions:
        """All existing partitions that the query reads. If an expected one is missing, it waits for
        GRACE, once: a broker that has just started may not know everything yet."""
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
            time.sleep(RETRY_BACKOFF_S)

    def forget(self) -> None:
        """Fetch the metadata again before the next answer."""
        self._metadata = None

    def look_first(self) -> Partitions:
        """As `look`, but a named topic or partition that does not exist is an error."""
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
        """Whether this query reads it, also if it does not exist."""
        if self._options.subscribe_pattern:
            return re.fullmatch(self._options.subscribe_pattern, partition.topic) is not None
        return partition in self._options.assign or partition.topic in self._options.subscribe

    def _named(self) -> Set[TopicPartition]:
        """The partitions that must exist. Every topic has a partition 0."""
        return {*self._options.assign, *(TopicPartition(it, 0) for it in self._options.subscribe)}

    def _there(self, metadata: MetadataSnapshot) -> Partitions:
        exclude = self._consumer.exclude_internal_topics and self._options.subscribe_pattern
        found = {
            TopicPartition(topic.name, number): topic.id
            for topic in metadata.topics.values()
            if not (exclude and topic.is_internal)
            for number in topic.partitions
        }
        return {each: found[each] for each in sorted(found) if self.reads(each)}

    def _describe(self) -> MetadataSnapshot:
        if self._metadata is None:
            names = sorted({each.topic for each in self._named()})
            metadata = self._cluster().describe(names or None)  # None: all, for a pattern
            if metadata.controller == NO_BROKER:
                why = "a broker that knows of no controller knows of no topics yet"
                raise ApiException(ErrorCode.not_controller, why)
            self._metadata, self._asked = metadata, time.monotonic()
        return self._metadata

    def _cluster(self) -> ClusterClient:
        if self._view is None:
            patience = self._options.patience
            self._view = self._options.connect(patience, within=min(OPENING, patience))
        return self._view

    # -- offsets ---------------------------------------------------------------------------

    def find(self, wanted: Offsets) -> dict[TopicPartition, int]:
        """Offsets by time, or by EARLIEST or LATEST; -1 if all records are older.

        A deleted partition is left out.
        """
        found: dict[TopicPartition, int] = {}
        while left := wanted.keys() & self.look(wanted).keys() - found.keys():
            self._cluster().retry(partial(self._find, wanted, left, found))
        return {each: found[each] for each in wanted if each in found}

    def _find(
        self, wanted: Offsets, left: Set[TopicPartition], found: dict[TopicPartition, int]
    ) -> None:
        """One attempt: a request to every leader, also if others fail."""
        errors: list[ApiException] = []
        leaders: dict[int, dict[TopicPartition, int]] = {}
        for each in sorted(left - found.keys()):
            if partition := self._describe().partition(each):  # else it is deleted, see `look`
                leaders.setdefault(partition.leader, {})[each] = wanted[each]
        if NO_BROKER in leaders:
            why = f"{listed(leaders.pop(NO_BROKER))} has no leader"
            errors.append(ApiException(ErrorCode.leader_not_available, why))
        for leader, asked in leaders.items():
            try:
                found.update(self._ask(leader, asked, errors))
            except ApiException as error:
                errors.append(error)
        if errors:
            self.forget()
            raise errors[0]

    def _ask(self, leader: int, wanted: Offsets, errors: list[ApiException]) -> Offsets:
        request = list_offsets_request(wanted, isolation(self._consumer))
        answer = self._cluster().ask(leader, Api.LIST_OFFSETS, request)
        found: dict[TopicPartition, int] = {}
        for partition, row in by_partition(answer.topics):
            code = row.error_code
            if code == ErrorCode.unknown_topic_or_partition:
                code = ErrorCode.not_leader_or_follower  # metadata shows if it is deleted
            try:
                check(code, what=str(partition))
                found[partition] = row.offset
            except ApiException as error:
                errors.append(error)
        return found
