"""The fetcher: all requests from this broker to one leader, many partitions in each.

    next()      epochs to compare?   OffsetForLeaderEpoch, for all that must truncate (below 2.7)
                out of range?        ListOffsets
                otherwise            Fetch, which waits at the leader until there are records
    answered()  each partition continues independently: store, truncate, back off, or wait

One request is in flight at a time. With a fetch session (KIP-227) a request names only the
partitions that changed, so a thousand idle ones cost nothing here.

    Fetch session 0, epoch 0, every partition       -> session 77, all partitions
    Fetch session 77, epoch 1, those that grew      -> the partitions that changed
    ...                                             -> after an error: again with epoch 0

From version 13 on (without ZooKeeper) Fetch has the ids of topics in place of their names.

After an error a partition backs off: shortly at first, because usually the leader does not know yet
that it leads; then longer, up to `replica.fetch.backoff.ms`. The same holds for a leader that
cannot be reached.

Left out: several fetchers for one leader (`num.replica.fetchers`).
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple
from uuid import UUID

from kio.schema.fetch.v12.request import FetchPartition, FetchRequest
from kio.schema.list_offsets.v6.request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kio.schema.offset_for_leader_epoch.v4.request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

from engine.config import BrokerConfig
from engine.config.protocol import Feature
from engine.errors import ApiException, ErrorCode
from engine.model import NO_EPOCH, TopicPartition
from engine.replication.follower_partition import FollowerPartition, Stage, StageChange
from engine.replication.throttle import Throttle, is_listed
from engine.wire.by_topic import by_topic, topics_of
from engine.wire.primitives import duration
from engine.wire.topic_ids import TopicToFetch

EARLIEST, LATEST = -2, -1  # timestamps for the leader's log start and log end
LONGEST_AFTER = 6  # errors in a row; until then each back-off doubles
HELD_MS = 100  # how often a throttled fetcher tries again
NO_SESSION, FULL = 0, 0  # a session id; the session epoch of a Fetch with every partition
LAST_EPOCH = 2**31 - 1  # of a session; 1 follows it


class Policy(NamedTuple):
    """Settings of all fetchers of a broker."""

    broker_id: int
    config: Callable[[], BrokerConfig]
    throttle: Throttle


class Fetcher:
    """The requests to one leader. The broker sends what `next` returns."""

    def __init__(self, leader: int, policy: Policy) -> None:
        self.leader = leader
        self.following: dict[TopicPartition, FollowerPartition] = {}
        self._policy = policy
        self._truncates_on_fetch = policy.config().speaks(Feature.TRUNCATION_ON_FETCH)
        self._not_fetching: dict[TopicPartition, FollowerPartition] = {}  # to be truncated first
        self._changed: dict[TopicPartition, None] = {}  # to be named in the next Fetch
        self._errors: dict[TopicPartition, int] = {}  # in a row
        self._backing_off: dict[TopicPartition, int] = {}  # until when
        self._held: set[TopicPartition] = set()  # by the throttle
        self._paused_until = 0
        self._failures = 0  # in a row
        self._in_flight = False
        self._asked: dict[TopicPartition, Any] = {}  # what the request in flight asks for
        self._answered: set[TopicPartition] = set()  # partitions that this answer has named
        self._session, self._epoch = NO_SESSION, FULL
        self._known: dict[TopicPartition, Any] = {}  # what the session has at the leader
        self._topic_ids: dict[str, UUID] = {}  # of the session's topics, if Fetch has ids

    def follow(self, partition: TopicPartition, following: FollowerPartition) -> None:
        self.following[partition] = following
        if self._truncates_on_fetch and following.log.epochs.latest != NO_EPOCH:
            following.move(StageChange.UNASKED)
        self._reset_errors(partition)
        self._sort(partition)

    def leave(self, partition: TopicPartition) -> None:
        self.following.pop(partition, None)
        self._reset_errors(partition)
        self._sort(partition)

    def _sort(self, partition: TopicPartition) -> None:
        each = self.following.get(partition)
        if each is None or each.stage in (Stage.FETCHING, Stage.WAITING):
            self._not_fetching.pop(partition, None)
        else:
            self._not_fetching[partition] = each
        self._changed[partition] = None

    # -- requests ------------------------------------------------------------------------

    def due(self) -> int | None:
        """When `next` may have a request, if no partition changes before."""
        if self._in_flight:
            return None
        if any(
            each.stage is not Stage.WAITING and partition not in self._backing_off
            for partition, each in self.following.items()
        ):
            return self._paused_until
        soonest = min(self._backing_off.values(), default=None)
        return None if soonest is None else max(soonest, self._paused_until)

    def next(self, now: int) -> Any:
        """The request to send now, or None."""
        if self._in_flight or now < self._paused_until:
            return None
        for partition in [each for each, until in self._backing_off.items() if until <= now]:
            del self._backing_off[partition]
            self._changed[partition] = None
        request = self._ask_epochs(now) or self._ask_offsets() or self._fetch(now)
        self._in_flight = request is not None
        return request

    def _ready(self, *stages: Stage) -> list[tuple[TopicPartition, FollowerPartition]]:
        return [
            (partition, each)
            for partition, each in self._not_fetching.items()
            if each.stage in stages and partition not in self._backing_off
        ]

    def _ask_epochs(self, now: int) -> Any:
        asked = self._asked = {}
        by_epoch = self._policy.config().speaks(Feature.LEADER_EPOCHS)
        for partition, each in self._ready(Stage.TRUNCATING):
            known = each.log.epochs.latest
            if not by_epoch or known == NO_EPOCH:
                self._do(partition, each.truncate_to_high_watermark, now)
                continue
            asked[partition] = OffsetForLeaderPartition(
                partition=partition.partition, current_leader_epoch=each.epoch, leader_epoch=known
            )
        topics = topics_of(OffsetForLeaderTopic, asked.items(), "topic")
        return topics and OffsetForLeaderEpochRequest(
            replica_id=self._policy.broker_id, topics=topics
        )

    def _ask_offsets(self) -> Any:
        asked = self._asked = {
            partition: ListOffsetsPartition(
                partition_index=partition.partition,
                current_leader_epoch=each.epoch,
                timestamp=LATEST if each.stage is Stage.SEEKING_END else EARLIEST,
            )
            for partition, each in self._ready(Stage.SEEKING_END, Stage.SEEKING_START)
        }
        topics = topics_of(ListOffsetsTopic, asked.items())
        return topics and ListOffsetsRequest(
            replica_id=self._policy.broker_id, isolation_level=0, topics=topics
        )

    def _fetch(self, now: int) -> Any:
        """A Fetch with the partitions that have changed; None if there is nothing to fetch."""
        held = self._throttled(now)
        if self._has_new_topic_id():
            self._epoch = FULL
        if self._epoch == FULL:
            self._known, self._topic_ids = {}, {}
        changed = self._changed | dict.fromkeys(sorted(held ^ self._held))
        every = self.following if self._epoch == FULL else changed
        wanted = {each: self._wanted(each, held) for each in every}
        named = {each: it for each, it in wanted.items() if it not in (None, self._known.get(each))}
        gone = [each for each, it in wanted.items() if it is None and each in self._known]
        if len(self._known) == len(gone) and not named:
            self._paused_until = now + HELD_MS if held else 0
            return None
        self._known.update(named)
        for partition in named:
            if (topic_id := self.following[partition].log.topic_id) is not None:
                self._topic_ids[partition.topic] = topic_id
        for partition in gone:
            del self._known[partition]
        self._changed, self._held, self._asked = {}, held, self._known
        return self._request(named, gone)

    def _request(self, named: dict[TopicPartition, Any], gone: list[TopicPartition]) -> Any:
        config = self._policy.config()
        return FetchRequest(
            replica_id=self._policy.broker_id,
            max_wait=duration(config.replica_fetch_wait_max_ms),
            min_bytes=config.replica_fetch_min_bytes,
            max_bytes=config.replica_fetch_response_max_bytes,
            session_id=self._session,
            session_epoch=self._epoch,
            topics=self._to_fetch(named.items()),
            forgotten_topics_data=self._to_fetch((each, each.partition) for each in gone),
        )

    def _to_fetch(self, rows: Iterable[tuple[TopicPartition, Any]]) -> tuple[Any, ...]:
        """Each topic with its rows, by its name and by its id: the version chooses."""
        topics = []
        for name, each in by_topic(rows):
            topics.append(TopicToFetch(name, self._topic_ids.get(name), each))
        return tuple(topics)

    def _has_new_topic_id(self) -> bool:
        """Whether a topic of the session was deleted and made again: a new session forgets it."""
        return any(
            self._topic_ids.get(partition.topic, each.log.topic_id) != each.log.topic_id
            for partition in self._changed
            if (each := self.following.get(partition)) is not None
        )

    def _wanted(self, partition: TopicPartition, held: set[TopicPartition]) -> Any:
        each = self.following.get(partition)
        if each is None or each.stage is not Stage.FETCHING:
            return None
        if partition in self._backing_off or partition in held:
            return None
        return FetchPartition(
            partition=partition.partition,
            current_leader_epoch=each.epoch,
            fetch_offset=each.log.end_offset,
            last_fetched_epoch=each.log.epochs.latest if self._truncates_on_fetch else NO_EPOCH,
            log_start_offset=each.log.start_offset,
            partition_max_bytes=self._policy.config().replica_fetch_max_bytes,
        )

    def _throttled(self, now: int) -> set[TopicPartition]:
        """The partitions that are throttled and not in sync, if the rate is exceeded."""
        rate = self._policy.config().follower_replication_throttled_rate
        if not self._policy.throttle.exceeds(rate, now):
            return set()
        return {
            partition
            for partition, each in self.following.items()
            if each.lag != 0 and self._is_throttled(partition, each)
        }

    def _is_throttled(self, partition: TopicPartition, each: FollowerPartition) -> bool:
        listed = each.log.config.follower_replication_throttled_replicas
        return is_listed(listed, partition, self._policy.broker_id)

    # -- answers -------------------------------------------------------------------------

    def answered(self, request: Any, response: Any, now: int) -> None:
        self._in_flight = False
        self._answered.clear()
        if isinstance(request, FetchRequest):
            if not self._continues(response, now):
                return
            names = {id: name for name, id in self._topic_ids.items()}
            for topic in response.responses:
                name = getattr(topic, "topic", "") or names.get(topic.topic_id, "")
                for data in topic.partitions:
                    self._copy(TopicPartition(name, data.partition_index), data, now)
            for partition in self._errors.keys() - self._backing_off.keys():
                self._reset_errors(partition)
        else:
            seeks = isinstance(request, ListOffsetsRequest)
            for topic in response.topics:
                name = topic.name if seeks else topic.topic
                for it in topic.partitions:
                    number = it.partition_index if seeks else it.partition
                    if (each := self._still(partition := TopicPartition(name, number))) is not None:
                        step = each.offset_received if seeks else each.epoch_end_received
                        self._do(partition, step, now, it)
        self._failures = 0

    def failed(self, now: int) -> None:
        """No answer: the leader may have received the request or not."""
        self._in_flight = False
        self._epoch = FULL
        self._failures += 1
        self._paused_until = now + self._backoff(self._failures)

    def _continues(self, response: Any, now: int) -> bool:
        """Take over the fetch session in the answer. Returns whether the answer has data."""
        if response.error_code != ErrorCode.none:
            if response.error_code == ErrorCode.fetch_session_id_not_found:
                self._session = NO_SESSION
            if self._epoch == FULL:
                self.failed(now)
            self._epoch = FULL
            return False
        self._session = response.session_id
        self._epoch = FULL if self._session == NO_SESSION else self._epoch % LAST_EPOCH + 1
        return True

    def _copy(self, partition: TopicPartition, data: Any, now: int) -> None:
        """Records for another log end are of a topic that was deleted, and had this name before."""
        if (each := self._still(partition)) is None:
            return
        if self._asked[partition].fetch_offset != each.log.end_offset:
            return self._sort(partition)
        size = self._do(partition, each.copy, now, data)
        if size and self._is_throttled(partition, each):
            self._policy.throttle.record(size, now)

    def _still(self, partition: TopicPartition) -> FollowerPartition | None:
        """The requested partition, if its leader epoch has not changed since the request.

        None if the same answer has named it before.
        """
        each, asked = self.following.get(partition), self._asked.get(partition)
        if each is None or asked is None or asked.current_leader_epoch != each.epoch:
            return None
        if partition in self._answered:
            return None
        self._answered.add(partition)
        return each

    def _do(self, partition: TopicPartition, step: Callable[..., Any], now: int, *args: Any) -> Any:
        """One step of one partition. An error there does not stop the others."""
        each, result = self.following[partition], None
        try:
            result = step(*args, now)
            self._reset_errors(partition)
        except ApiException as error:
            if each.is_broken or error.code is ErrorCode.unsupported_for_message_format:
                each.move(StageChange.BROKEN)
            if each.stage is not Stage.WAITING:
                errors = self._errors[partition] = self._errors.get(partition, 0) + 1
                self._backing_off[partition] = now + self._backoff(errors)
        self._sort(partition)
        return result

    def _reset_errors(self, partition: TopicPartition) -> None:
        self._errors.pop(partition, None)
        self._backing_off.pop(partition, None)

    def _backoff(self, errors: int) -> int:
        return self._policy.config().replica_fetch_backoff_ms >> max(0, LONGEST_AFTER - errors)
