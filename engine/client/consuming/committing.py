"""How far a group has read: OffsetCommit and OffsetFetch, for the members and whoever else reads.

    commit, commit, fetch, commit ──> one request at a time ──> the coordinator
                                      again, if it is another by now

Asked for in an order, done in that order: what is tried again is never overtaken by what came
after it, so no offset goes back. Commits that wait side by side go in one request.

Whoever asks is told by `then`, once: a code or an offset for each partition, or the KafkaError
that was in the way. What passes (a coordinator that moves, loads, or has to be found) is waited
for, up to `default.api.timeout.ms`.

Invariant: a commit goes out under the identity that we have then. What a group answers to an
identity that is not ours any more is no reason to join again; and what we still own is committed
once more, under the new one.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, NamedTuple

from kio.schema.offset_commit.v8 import request as commit_v8
from kio.schema.offset_fetch.v7 import request as fetch_v7

from engine.client.asking import Ask
from engine.client.consuming.coordinating import Coordinating
from engine.client.consuming.membership import Membership
from engine.client.consuming.rounds import Identity
from engine.client.consuming.states import State
from engine.client.finding import ELSEWHERE
from engine.client.view import View
from engine.config.consumer import ConsumerConfig
from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition
from engine.wire.apis import Api

OFFSETS = "offsets"  # their lane: a JoinGroup that waits for others must not hold up a commit
NO_OFFSET = -1
OVER = "the group is being rebalanced, or was: poll(), then commit what is still assigned"


class Committed(NamedTuple):
    offset: int  # the next one to read; -1 if nothing was committed
    epoch: int = -1  # of the last record that was read
    metadata: str = ""


Offsets = Mapping[TopicPartition, Committed]
Codes = dict[TopicPartition, ErrorCode]
Found = dict[TopicPartition, Committed | KafkaError]

# About the group as a whole, though an answer says it of each partition.
OF_THE_MEMBER = frozenset(
    {
        ErrorCode.rebalance_in_progress,
        ErrorCode.unknown_member_id,
        ErrorCode.illegal_generation,
        ErrorCode.fenced_instance_id,
    }
)
PASSING = ELSEWHERE | {
    ErrorCode.coordinator_load_in_progress,
    ErrorCode.request_timed_out,
    ErrorCode.unstable_offset_commit,
}


@dataclass(eq=False)
class _Job:
    deadline: float


@dataclass(eq=False)
class _Commit(_Job):
    identity: Identity  # that we had when it was asked for
    offsets: Offsets
    then: Callable[[Codes | KafkaError], None]

    def finish(self, codes: Codes) -> None:
        self.then({each: codes[each] for each in self.offsets if each in codes})


@dataclass(eq=False)
class _Fetch(_Job):
    partitions: tuple[TopicPartition, ...]
    then: Callable[[Found | KafkaError], None]


class Committing:
    def __init__(
        self, config: ConsumerConfig, coordinating: Coordinating, membership: Membership
    ) -> None:
        self._coordinating = coordinating
        self._membership = membership
        self._patience = config.default_api_timeout_ms / 1000
        self._jobs: deque[_Commit | _Fetch] = deque()
        self._on_its_way = 0  # how many of the first are
        self._not_before = 0.0

    def commit(
        self, offsets: Offsets, then: Callable[[Codes | KafkaError], None], now: float
    ) -> None:
        """Of values that are (offset, epoch, metadata)."""
        rows = {each: Committed(*value) for each, value in offsets.items()}
        identity = self._membership.identity
        self._jobs.append(_Commit(now + self._patience, identity, rows, then))

    def fetch(
        self,
        partitions: Iterable[TopicPartition],
        then: Callable[[Found | KafkaError], None],
        now: float,
    ) -> None:
        self._jobs.append(_Fetch(now + self._patience, tuple(partitions), then))

    @property
    def is_idle(self) -> bool:
        return not self._jobs

    # -- as a core -------------------------------------------------------------------------

    def step(self, now: float, view: View) -> Iterable[Ask]:
        if self._on_its_way:
            return ()
        for job in [each for each in self._jobs if now >= each.deadline]:
            self._jobs.remove(job)
            why = "the group's coordinator did not do it within default.api.timeout.ms"
            job.then(KafkaError(ErrorCode.request_timed_out, why))
        for job in [each for each in self._jobs if self._is_over(each)]:
            self._jobs.remove(job)
            job.then(KafkaError(ErrorCode.rebalance_in_progress, OVER))
        while self._jobs and now >= self._not_before:
            try:
                coordinator = self._coordinating.find()
                return () if coordinator is None else self._ask(coordinator)
            except KafkaError as error:
                self._jobs.popleft().then(error)
        return ()

    def _is_over(self, job: _Commit | _Fetch) -> bool:
        """Another generation has begun meanwhile, and what it commits may be another's by now."""
        return (
            isinstance(job, _Commit)
            and job.identity != self._membership.identity
            and not self._membership.owned.issuperset(job.offsets)
        )

    def _ask(self, coordinator: int) -> Iterable[Ask]:
        first = self._jobs[0]
        group = self._membership.identity.group
        request: Any
        if isinstance(first, _Fetch):
            self._on_its_way = 1
            request = _fetch_request(group, first.partitions)
            return (Ask(coordinator, Api.OFFSET_FETCH, request, lane=OFFSETS),)
        identity = self._membership.credentials
        if identity is None:
            return ()
        offsets: dict[TopicPartition, Committed] = {}
        for job in takewhile(lambda each: isinstance(each, _Commit), self._jobs):
            assert isinstance(job, _Commit)
            offsets |= job.offsets
            self._on_its_way += 1
        request = commit_v8.OffsetCommitRequest(
            group_id=group,
            generation_id_or_member_epoch=identity.generation,
            member_id=identity.member_id,
            group_instance_id=identity.instance_id,
            topics=_commit_topics(offsets),
        )
        return (Ask(coordinator, Api.OFFSET_COMMIT, request, identity, lane=OFFSETS),)

    def answered(self, ask: Ask, response: Any, now: float) -> None:
        rows = {
            TopicPartition(topic.name, row.partition_index): row
            for topic in response.topics
            for row in topic.partitions
        }
        codes = {each: row.error_code for each, row in rows.items()}
        everything = [*codes.values(), getattr(response, "error_code", ErrorCode.none)]
        if passing := PASSING.intersection(everything):
            self._try_again(ask, now, is_elsewhere=not ELSEWHERE.isdisjoint(passing))
        elif ask.api is Api.OFFSET_COMMIT:
            self._committed(ask, codes, now)
        elif response.error_code != ErrorCode.none:
            self._finish(lambda job: job.then(KafkaError(response.error_code)))
        else:
            found: Found = {each: _found(each, row) for each, row in rows.items()}
            self._finish(lambda job: job.then(found))

    def _committed(self, ask: Ask, codes: Codes, now: float) -> None:
        refusals = OF_THE_MEMBER.intersection(codes.values())
        if not refusals:
            self._finish(lambda job: job.finish(codes))
            return
        code = next(iter(refusals))
        is_over = ask.about != self._membership.identity  # another generation has begun meanwhile
        if is_over and self._membership.owned.issuperset(codes):
            self._on_its_way = 0
            return
        self._membership.told(code, ask.about, now)
        if is_over:
            code = ErrorCode.rebalance_in_progress
        self._finish(lambda job: job.then(KafkaError(code, OVER)))

    def failed(self, ask: Ask, error: KafkaError, now: float) -> None:
        if error.code == ErrorCode.unsupported_version:
            self._finish(lambda job: job.then(error))
        else:
            self._try_again(ask, now, is_elsewhere=True)

    def due(self) -> float | None:
        if not self._jobs or self._on_its_way:
            return None
        times = [each.deadline for each in self._jobs]
        is_held = self._membership.state is State.SYNCING and isinstance(self._jobs[0], _Commit)
        if self._coordinating.known is not None and not is_held:
            times.append(self._not_before)
        return min(times)

    def _try_again(self, ask: Ask, now: float, *, is_elsewhere: bool) -> None:
        self._on_its_way = 0
        self._not_before = now + self._coordinating.backoff
        if is_elsewhere:
            self._coordinating.forget(ask.to)

    def _finish(self, tell: Callable[[Any], None]) -> None:
        done = [self._jobs.popleft() for _ in range(self._on_its_way)]
        self._on_its_way = 0
        for job in done:
            tell(job)


def _found(partition: TopicPartition, row: Any) -> Committed | KafkaError:
    if row.error_code != ErrorCode.none:
        return KafkaError(row.error_code, f"the offset of {partition}: {row.error_code.name}")
    return Committed(row.committed_offset, row.committed_leader_epoch, row.metadata or "")


def _fetch_request(group: str, partitions: Iterable[TopicPartition]) -> Any:
    numbers: dict[str, list[int]] = {}
    for topic, number in partitions:
        numbers.setdefault(topic, []).append(number)
    return fetch_v7.OffsetFetchRequest(
        group_id=group,
        topics=tuple(
            fetch_v7.OffsetFetchRequestTopic(name=topic, partition_indexes=tuple(these))
            for topic, these in numbers.items()
        ),
        require_stable=True,
    )


def _commit_topics(offsets: Offsets) -> tuple[Any, ...]:
    rows: dict[str, list[Any]] = {}
    for (topic, number), (offset, epoch, metadata) in offsets.items():
        row = commit_v8.OffsetCommitRequestPartition(
            partition_index=number,
            committed_offset=offset,
            committed_leader_epoch=epoch,
            committed_metadata=metadata,
        )
        rows.setdefault(topic, []).append(row)
    return tuple(
        commit_v8.OffsetCommitRequestTopic(name=topic, partitions=tuple(these))
        for topic, these in rows.items()
    )
