"""The offsets that a group commits: CommitPolicy, and OffsetCommit and OffsetFetch requests.

    delivered ----- position ----+-- enable.auto.offset.store --> what a commit commits
    store_offsets() -------------+

    commit()                 now                            }  OffsetManager ── one request
    enable.auto.commit       every auto.commit.interval.ms  }  at a time ──> the coordinator
    before a revocation      if auto commit is on

`CommitPolicy` is the application's side. A record counts as consumed when it was delivered. Auto
commit runs within `poll`, after the application has processed the records of earlier polls. So
delivery is at least once, if the thread that polls also processes the records. An offset that the
group has already is not committed again.

`OffsetManager` is a core. Requests are sent in the order of the calls: a later one never overtakes
a retry, so no offset goes back. Consecutive commits that wait are sent in one request.
The caller's `then` gets the result once: a code or an offset for each partition, or an
ApiException. After retriable errors (the coordinator moves, loads, or has to be found) requests are
repeated, up to default.api.timeout.ms.

Invariant: auto commit never goes back: it commits the position at that time.
Invariant: a commit is sent under the member's identity at that time. An error for an earlier
identity is no reason to join again; partitions that are still owned are committed once more.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from engine.client import values
from engine.client.consuming.assigned_partition import AssignedPartition, Position
from engine.client.consuming.membership import Membership, MembershipState
from engine.client.coordinator_lookup import ELSEWHERE, CoordinatorLookup
from engine.client.core import Ask
from engine.client.metadata import MetadataView
from engine.client.offset_and_metadata import (
    OffsetAndMetadata,
    Offsets,
    commit_request,
    fetch_request,
)
from engine.client.values import ConsumerGroupMetadata, KafkaError, error_of
from engine.config.consumer import ConsumerConfig
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.wire.apis import Api
from engine.wire.by_topic import by_partition

LANE = "offsets"  # a connection of its own: a JoinGroup that waits must not delay a commit
REBALANCED = "the group is being rebalanced, or was: poll(), then commit what is still assigned"

Codes = dict[TopicPartition, ErrorCode]
FetchedOffsets = dict[TopicPartition, OffsetAndMetadata | ApiException]

# Errors of the member as a whole, though a response has one for each partition.
OF_THE_MEMBER = frozenset(
    {
        ErrorCode.rebalance_in_progress,
        ErrorCode.unknown_member_id,
        ErrorCode.illegal_generation,
        ErrorCode.fenced_instance_id,
    }
)
RETRIABLE = ELSEWHERE | {
    ErrorCode.coordinator_load_in_progress,
    ErrorCode.request_timed_out,
    ErrorCode.unstable_offset_commit,
}


@dataclass(eq=False)
class OffsetCommit:
    deadline: float
    identity: ConsumerGroupMetadata  # of the member, when the application asked for it
    offsets: Offsets
    then: Callable[[Codes | ApiException], None]

    def finish(self, codes: Codes) -> None:
        self.then({each: codes[each] for each in self.offsets if each in codes})


@dataclass(eq=False)
class OffsetFetch:
    deadline: float
    partitions: tuple[TopicPartition, ...]
    then: Callable[[FetchedOffsets | ApiException], None]


class OffsetManager:
    def __init__(
        self, config: ConsumerConfig, coordinator: CoordinatorLookup, membership: Membership
    ) -> None:
        self._coordinator = coordinator
        self._membership = membership
        self._timeout = config.default_api_timeout_ms / 1000
        self._waiting: deque[OffsetCommit | OffsetFetch] = deque()
        self._in_flight = 0  # how many jobs, from the first one on
        self._not_before = 0.0

    def commit(
        self, offsets: Offsets, then: Callable[[Codes | ApiException], None], now: float
    ) -> None:
        identity = self._membership.identity
        self._waiting.append(OffsetCommit(now + self._timeout, identity, dict(offsets), then))

    def fetch(
        self,
        partitions: Iterable[TopicPartition],
        then: Callable[[FetchedOffsets | ApiException], None],
        now: float,
    ) -> None:
        self._waiting.append(OffsetFetch(now + self._timeout, tuple(partitions), then))

    def has_commits(self) -> bool:
        """Whether a commit waits for its result."""
        return any(isinstance(job, OffsetCommit) for job in self._waiting)

    # -- as a core -------------------------------------------------------------------------

    def step(self, now: float, view: MetadataView) -> Iterable[Ask]:
        if self._in_flight:
            return ()
        for job in list(self._waiting):
            if now >= job.deadline:
                why = "the group's coordinator did not do it within default.api.timeout.ms"
                self._waiting.remove(job)
                job.then(ApiException(ErrorCode.request_timed_out, why))
            elif self._is_void(job):
                self._waiting.remove(job)
                job.then(ApiException(ErrorCode.rebalance_in_progress, REBALANCED))
        while self._waiting and now >= self._not_before:
            try:
                coordinator = self._coordinator.find()
                return () if coordinator is None else self._ask(coordinator)
            except ApiException as error:
                self._waiting.popleft().then(error)
        return ()

    def _is_void(self, job: OffsetCommit | OffsetFetch) -> bool:
        """A new generation has begun, and another member may have its partitions now."""
        return (
            isinstance(job, OffsetCommit)
            and job.identity != self._membership.identity
            and not self._membership.owned.issuperset(job.offsets)
        )

    def _ask(self, coordinator: int) -> Iterable[Ask]:
        first = self._waiting[0]
        if isinstance(first, OffsetFetch):
            self._in_flight = 1
            group = self._membership.identity.group_id
            request = fetch_request(group, first.partitions, stable=True)
            return (Ask(coordinator, Api.OFFSET_FETCH, request, lane=LANE),)
        identity = self._membership.commit_identity()
        if identity is None:
            return ()
        offsets: dict[TopicPartition, OffsetAndMetadata] = {}
        for job in takewhile(lambda each: isinstance(each, OffsetCommit), self._waiting):
            assert isinstance(job, OffsetCommit)
            offsets |= job.offsets
            self._in_flight += 1
        request = commit_request(identity, offsets)
        return (Ask(coordinator, Api.OFFSET_COMMIT, request, identity, lane=LANE),)

    def answered(self, ask: Ask, response: Any, now: float) -> None:
        rows = dict(by_partition(response.topics))
        codes = {each: row.error_code for each, row in rows.items()}
        everything = [*codes.values(), getattr(response, "error_code", ErrorCode.none)]
        if retriable := RETRIABLE.intersection(everything):
            self._retry(ask, now, is_elsewhere=not ELSEWHERE.isdisjoint(retriable))
        elif ask.api is Api.OFFSET_COMMIT:
            self._committed(ask, codes, now)
        elif response.error_code != ErrorCode.none:
            self._finish(lambda job: job.then(ApiException(response.error_code)))
        else:
            found: FetchedOffsets = {each: _fetched(each, row) for each, row in rows.items()}
            self._finish(lambda job: job.then(found))

    def _committed(self, ask: Ask, codes: Codes, now: float) -> None:
        refusals = OF_THE_MEMBER.intersection(codes.values())
        if not refusals:
            self._finish(lambda job: job.finish(codes))
            return
        code = next(iter(refusals))
        is_void = ask.about != self._membership.identity  # a new generation has begun meanwhile
        if is_void and self._membership.owned.issuperset(codes):
            self._in_flight = 0
            return
        self._membership.group_error(code, ask.about, now)
        if is_void:
            code = ErrorCode.rebalance_in_progress
        self._finish(lambda job: job.then(ApiException(code, REBALANCED)))

    def failed(self, ask: Ask, error: ApiException, now: float) -> None:
        if error.code == ErrorCode.unsupported_version:
            self._finish(lambda job: job.then(error))
        else:
            self._retry(ask, now, is_elsewhere=True)

    def due(self) -> float | None:
        if not self._waiting or self._in_flight:
            return None
        times = [each.deadline for each in self._waiting]
        is_held = self._membership.state is MembershipState.SYNCING
        is_held &= isinstance(self._waiting[0], OffsetCommit)
        if self._coordinator.known is not None and not is_held:
            times.append(self._not_before)
        return min(times)

    def _retry(self, ask: Ask, now: float, *, is_elsewhere: bool) -> None:
        self._in_flight = 0
        self._not_before = now + self._coordinator.backoff
        if is_elsewhere:
            self._coordinator.forget(ask.to)

    def _finish(self, report: Callable[[Any], None]) -> None:
        done = [self._waiting.popleft() for _ in range(self._in_flight)]
        self._in_flight = 0
        for job in done:
            report(job)


def _fetched(partition: TopicPartition, row: Any) -> OffsetAndMetadata | ApiException:
    if row.error_code != ErrorCode.none:
        return ApiException(row.error_code, f"the offset of {partition}: {row.error_code.name}")
    return OffsetAndMetadata.of(row)


@dataclass(eq=False)
class CommitResult:
    """The result of one commit, once it is `done`."""

    offsets: Offsets
    done: bool = False
    error: ApiException | None = None  # of the whole commit
    codes: Codes = field(default_factory=dict)

    def partitions(self) -> list[values.TopicPartition]:
        """The result of each partition, for the application."""
        found = []
        for key, (offset, epoch, metadata) in self.offsets.items():
            code = self.codes.get(key, ErrorCode.none)
            each = values.TopicPartition(*key, offset, metadata, epoch if epoch >= 0 else None)
            each.error = KafkaError(code) if code != ErrorCode.none else None
            found.append(each)
        return found

    def failure(self) -> KafkaError | None:
        """The error of the whole commit, or of the first partition that failed."""
        if self.error is not None:
            return error_of(self.error)
        return next((each.error for each in self.partitions() if each.error), None)


class CommitPolicy:
    def __init__(
        self,
        config: ConsumerConfig,
        places: Mapping[TopicPartition, AssignedPartition],  # the partitions that are assigned
        manager: OffsetManager,
    ) -> None:
        self.unreported: deque[CommitResult] = deque()  # for on_commit
        self._places = places
        self._manager = manager
        self._auto_store = config.enable_auto_offset_store
        self._auto_commit = config.enable_auto_commit
        self._interval = config.auto_commit_interval_ms / 1000
        self._next: float | None = None  # when auto commit is due

    def consumed(self, partitions: Iterable[TopicPartition] | None = None) -> Offsets:
        """The offsets to commit, of all partitions or of some."""
        found = {}
        for each in self._places if partitions is None else partitions:
            if (place := self._places.get(each)) is not None:
                reached = place.stored
                if self._auto_store:
                    reached = place.position if place.offset >= 0 else None
                if reached is not None and reached != place.committed:
                    found[each] = OffsetAndMetadata(*reached)
        return found

    def commit(self, offsets: Offsets, now: float, *, report: bool = False) -> CommitResult:
        """`report`: the application does not wait; a later poll calls on_commit."""
        result = CommitResult(offsets)

        def then(outcome: Codes | ApiException) -> None:
            result.done = True
            if isinstance(outcome, ApiException):
                result.error = outcome
            else:
                result.codes = outcome
                self._note(result)
            if report:
                self.unreported.append(result)

        self._manager.commit(offsets, then, now)
        return result

    def _note(self, result: CommitResult) -> None:
        for partition, (offset, epoch, _) in result.offsets.items():
            place = self._places.get(partition)
            if place is not None and result.codes.get(partition) == ErrorCode.none:
                place.committed = Position(offset, epoch)

    def commit_if_due(self, now: float) -> None:
        if self._auto_commit and (self._next is None or now >= self._next):
            if self._next is not None and (offsets := self.consumed()):
                self.commit(offsets, now, report=True)
            self._next = now + self._interval

    def commit_before_revoke(
        self, partitions: Iterable[TopicPartition] | None, now: float
    ) -> CommitResult | None:
        """The commit to wait for before other members get these partitions."""
        if not self._auto_commit or not (offsets := self.consumed(partitions)):
            return None
        return self.commit(offsets, now)
