"""One broker's conversation with another: everything that it follows there, in one request.

    next()      epochs to be compared?   OffsetForLeaderEpoch, for all that must truncate
                out of range?            ListOffsets
                otherwise                Fetch, which waits at the leader until there is something
    answered()  each partition goes on for itself: store, cut, rest, or wait to be told

One request is on the way at a time. The fetch session (KIP-227) spares what both sides know: a
request names the partitions that changed, so a thousand idle ones cost nothing here.

    Fetch session 0, epoch 0, every partition       -> session 77, all partitions
    Fetch session 77, epoch 1, those that grew      -> those with news
    ...                                             -> an error, or none: begin anew with epoch 0

After an error a partition rests, first shortly, as the usual reason is a leader that has not heard
of its election yet; then longer, up to `replica.fetch.backoff.ms`. So it is for a leader that is
not reached.

Left out: several fetchers for one leader (`num.replica.fetchers`).
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from kio.schema.fetch.v12.request import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
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
from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition
from engine.replication.following import EARLIEST, LATEST, Following, Heard, Stage
from engine.replication.throttle import Throttle, is_listed
from engine.storage.batch import NO_EPOCH

BEFORE_EPOCHS = "0.10.2"  # an inter.broker.protocol.version
LONGEST_AFTER = 6  # errors in a row; before, each rest is twice as long as the last one
HELD_MS = 100  # how often it is looked whether the throttle lets go
NO_SESSION, FULL = 0, 0
LAST_EPOCH = 2**31 - 1  # of a session; after it comes 1 again


class Policy(NamedTuple):
    """What all fetchers of a broker share."""

    broker_id: int
    config: Callable[[], BrokerConfig]
    throttle: Throttle
    duration: Callable[[int], Any]  # milliseconds, as a request has them


class Fetcher:
    def __init__(self, leader: int, policy: Policy) -> None:
        self.leader = leader
        self.following: dict[TopicPartition, Following] = {}
        self._policy = policy
        self._unsettled: dict[TopicPartition, Following] = {}  # to be asked about before fetching
        self._changed: dict[TopicPartition, None] = {}  # the leader may have to hear of them
        self._troubles: dict[TopicPartition, int] = {}  # errors in a row
        self._resting: dict[TopicPartition, int] = {}  # until when
        self._held: set[TopicPartition] = set()  # by the throttle, for now
        self._silent_until = 0
        self._failures = 0  # in a row
        self._asking = False
        self._asked: dict[TopicPartition, Any] = {}  # what the request on the way asks of each
        self._session, self._epoch = NO_SESSION, FULL
        self._known: dict[TopicPartition, Any] = {}  # what the leader knows that we want

    def follow(self, partition: TopicPartition, following: Following) -> None:
        self.following[partition] = following
        self._calm(partition)
        self._sort(partition)

    def leave(self, partition: TopicPartition) -> None:
        self.following.pop(partition, None)
        self._calm(partition)
        self._sort(partition)

    def _sort(self, partition: TopicPartition) -> None:
        each = self.following.get(partition)
        if each is None or each.stage in (Stage.FETCHING, Stage.WAITING):
            self._unsettled.pop(partition, None)
        else:
            self._unsettled[partition] = each
        self._changed[partition] = None

    # -- what to ask ---------------------------------------------------------------------

    def due(self) -> int | None:
        """When `next` may have something, if nothing changes before."""
        if self._asking:
            return None
        if any(
            each.stage is not Stage.WAITING and partition not in self._resting
            for partition, each in self.following.items()
        ):
            return self._silent_until
        return max(min(self._resting.values()), self._silent_until) if self._resting else None

    def next(self, now: int) -> Any:
        """The request to send now, or None."""
        if self._asking or now < self._silent_until:
            return None
        for partition in [each for each, until in self._resting.items() if until <= now]:
            del self._resting[partition]
            self._changed[partition] = None
        request = self._ask_epochs(now) or self._ask_offsets() or self._fetch(now)
        self._asking = request is not None
        return request

    def _ready(self, *stages: Stage) -> list[tuple[TopicPartition, Following]]:
        return [
            (partition, each)
            for partition, each in self._unsettled.items()
            if each.stage in stages and partition not in self._resting
        ]

    def _ask_epochs(self, now: int) -> Any:
        asked = self._asked = {}
        before_epochs = self._policy.config().inter_broker_protocol_version == BEFORE_EPOCHS
        for partition, each in self._ready(Stage.TRUNCATING):
            known = each.log.epochs.latest
            if before_epochs or known == NO_EPOCH:
                self._do(partition, each.cut_to_high_watermark, now)
                continue
            asked[partition] = OffsetForLeaderPartition(
                partition=partition.partition, current_leader_epoch=each.epoch, leader_epoch=known
            )
        topics = [OffsetForLeaderTopic(topic=it, partitions=rows) for it, rows in _rows(asked)]
        return topics and OffsetForLeaderEpochRequest(
            replica_id=self._policy.broker_id, topics=tuple(topics)
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
        topics = [ListOffsetsTopic(name=it, partitions=rows) for it, rows in _rows(asked)]
        return topics and ListOffsetsRequest(
            replica_id=self._policy.broker_id, isolation_level=0, topics=tuple(topics)
        )

    def _fetch(self, now: int) -> Any:
        """What has changed for the leader to know; None if nothing is to be fetched."""
        held = self._overdrawn(now)
        if self._epoch == FULL:
            self._known = {}
        wanted = {
            partition: self._wanted(partition, held)
            for partition in (
                self.following if self._epoch == FULL else self._changed.keys() | held ^ self._held
            )
        }
        named = {
            each: it
            for each, it in wanted.items()
            if it is not None and it != self._known.get(each)
        }
        forgotten = {
            each: each.partition
            for each, it in wanted.items()
            if it is None and each in self._known
        }
        if len(self._known) == len(forgotten) and not named:
            self._silent_until = now + HELD_MS if held else 0
            return None
        self._known.update(named)
        for partition in forgotten:
            del self._known[partition]
        self._changed, self._held, self._asked = {}, held, self._known
        return self._request(named, forgotten)

    def _request(
        self, named: dict[TopicPartition, Any], forgotten: dict[TopicPartition, Any]
    ) -> Any:
        config = self._policy.config()
        return FetchRequest(
            replica_id=self._policy.broker_id,
            max_wait=self._policy.duration(config.replica_fetch_wait_max_ms),
            min_bytes=config.replica_fetch_min_bytes,
            max_bytes=config.replica_fetch_response_max_bytes,
            session_id=self._session,
            session_epoch=self._epoch,
            topics=tuple(FetchTopic(topic=it, partitions=rows) for it, rows in _rows(named)),
            forgotten_topics_data=tuple(
                ForgottenTopic(topic=it, partitions=rows) for it, rows in _rows(forgotten)
            ),
        )

    def _wanted(self, partition: TopicPartition, held: set[TopicPartition]) -> Any:
        each = self.following.get(partition)
        if each is None or each.stage is not Stage.FETCHING:
            return None
        if partition in self._resting or partition in held:
            return None
        return FetchPartition(
            partition=partition.partition,
            current_leader_epoch=each.epoch,
            fetch_offset=each.log.end_offset,
            log_start_offset=each.log.start_offset,
            partition_max_bytes=self._policy.config().replica_fetch_max_bytes,
        )

    def _overdrawn(self, now: int) -> set[TopicPartition]:
        """Those that may not be fetched now: throttled, not in sync, and the rate is exceeded."""
        rate = self._policy.config().follower_replication_throttled_rate
        if not self._policy.throttle.exceeds(rate, now):
            return set()
        return {
            partition
            for partition, each in self.following.items()
            if each.lag != 0 and self._is_throttled(partition, each)
        }

    def _is_throttled(self, partition: TopicPartition, each: Following) -> bool:
        listed = each.log.config.follower_replication_throttled_replicas
        return is_listed(listed, partition, self._policy.broker_id)

    # -- what the answer means -----------------------------------------------------------

    def answered(self, request: Any, response: Any, now: int) -> None:
        self._asking = False
        if isinstance(request, FetchRequest):
            if not self._goes_on(response, now):
                return
            for topic in response.responses:
                for data in topic.partitions:
                    self._copy(TopicPartition(topic.topic, data.partition_index), data, now)
            for partition in self._troubles.keys() - self._resting.keys():
                self._calm(partition)
        elif isinstance(request, ListOffsetsRequest):
            for topic in response.topics:
                for answer in topic.partitions:
                    partition = TopicPartition(topic.name, answer.partition_index)
                    if (each := self._still(partition)) is not None:
                        self._do(partition, each.told_offset, now, answer)
        else:
            for topic in response.topics:
                for answer in topic.partitions:
                    partition = TopicPartition(topic.topic, answer.partition)
                    if (each := self._still(partition)) is not None:
                        self._do(partition, each.told_epoch_end, now, answer)
        self._failures = 0

    def failed(self, now: int) -> None:
        """No answer: whether the leader has heard us, nobody knows."""
        self._asking = False
        self._epoch = FULL
        self._failures += 1
        self._silent_until = now + self._rest(self._failures)

    def _goes_on(self, response: Any, now: int) -> bool:
        """The session's part of the answer."""
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
        each = self._still(partition)
        if each is None:
            return
        size = self._do(partition, each.copy, now, data)
        if size and self._is_throttled(partition, each):
            self._policy.throttle.record(size, now)

    def _still(self, partition: TopicPartition) -> Following | None:
        """What was asked about, if nothing has changed since."""
        each, asked = self.following.get(partition), self._asked.get(partition)
        if each is None or asked is None or asked.current_leader_epoch != each.epoch:
            return None
        return each

    def _do(self, partition: TopicPartition, step: Callable[..., Any], now: int, *told: Any) -> Any:
        """One step of one partition: whatever goes wrong there, the others go on."""
        each, result = self.following[partition], None
        try:
            result = step(*told, now)
            self._calm(partition)
        except KafkaError:
            if each.is_broken:
                each.move(Heard.BROKEN)
            if each.stage is not Stage.WAITING:
                troubles = self._troubles[partition] = self._troubles.get(partition, 0) + 1
                self._resting[partition] = now + self._rest(troubles)
        self._sort(partition)
        return result

    def _calm(self, partition: TopicPartition) -> None:
        self._troubles.pop(partition, None)
        self._resting.pop(partition, None)

    def _rest(self, troubles: int) -> int:
        return self._policy.config().replica_fetch_backoff_ms >> max(0, LONGEST_AFTER - troubles)


def _rows(asked: dict[TopicPartition, Any]) -> Iterable[tuple[str, tuple[Any, ...]]]:
    topics: dict[str, list[Any]] = {}
    for partition, row in asked.items():
        topics.setdefault(partition.topic, []).append(row)
    return ((topic, tuple(rows)) for topic, rows in topics.items())
