"""LEADER: a node with the votes of a majority. It alone appends in its epoch.

    append           to its log, and flush; followers that wait get the records at once
    Fetch            the answer, and the knowledge that everything before the offset is stored
    high watermark   the largest log end that a majority has reached; with `prompt_mark`, followers
                     that wait are answered when it moves (Kafka's are since 4.1, by Fetch 18)
    BeginQuorumEpoch to every voter, again and again: some may not have heard of the election
    check quorum     without a majority that fetches for 1.5 fetch timeouts, it resigns

    A Fetch says: "my log ends at 40, and its last record has epoch 4".

      the leader's log    epoch 2 [0..20)  epoch 4 [20..35)  epoch 5 [35..50)
      its answer          epoch 4 ended at 35, so the follower's records 35 to 39 are not the
                          leader's: diverging epoch 4, end offset 35

Invariant: the high watermark only grows, and lies beyond the start of the epoch, or is unknown.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from engine.errors import ErrorCode
from engine.raft.control_records import leader_change
from engine.raft.log import RaftLog
from engine.raft.messages import (
    BeginQuorumEpochRequest,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    RaftFetchRequest,
    RaftFetchResponse,
)
from engine.raft.model import OffsetAndEpoch, QuorumConfig, QuorumIdentity
from engine.raft.requests import RaftRequests
from engine.raft.states import RaftEvent, RaftState


class ParkedFetch(NamedTuple):
    """A Fetch with nothing new to answer."""

    peer: int
    id: int
    request: RaftFetchRequest
    deadline: int


def majority_end(ends: Sequence[int]) -> int:
    """The largest log end that a majority has reached, by the log end of each voter."""
    return sorted(ends, reverse=True)[len(ends) // 2]


class RaftLeader:
    """The state of a node that leads an epoch."""

    state = RaftState.LEADER

    def __init__(
        self,
        identity: QuorumIdentity,
        config: QuorumConfig,
        log: RaftLog,
        requests: RaftRequests,
        epoch: int,
        now: int,
    ) -> None:
        self.epoch_start = log.end.offset
        self.high_watermark: int | None = None  # until a majority has a record of this epoch
        self.ends: dict[int, int] = {}  # the log end of each voter, on its disk
        self.parked: list[ParkedFetch] = []
        self.check_quorum_deadline = now + config.fetch_timeout_ms * 3 // 2
        self._identity = identity
        self._config = config
        self._log = log
        self._requests = requests
        self._epoch = epoch
        self._begin_quorum_at = now
        self._fetched: set[int] = set()  # voters, since the last time that they were a majority
        self._told: dict[int, int] = {}  # the high watermark in the last answer to each replica

    def begin(self, granting: Iterable[int], now: int) -> None:
        """Write the first record of the epoch: who leads, and who voted for it."""
        record = leader_change(self._identity.node_id, self._identity.voters, granting, now)
        self.append(record, now)

    def append(self, batch: bytes, now: int) -> int:
        """Append a batch and flush it. Returns its offset: it is committed when the high watermark
        is beyond that."""
        offset = self._log.append(batch, self._epoch, now)
        self._log.flush(now)
        self._stored(self._identity.node_id, self._log.end.offset)
        return offset

    # -- time ------------------------------------------------------------------------------

    def tick(self, now: int) -> RaftEvent | None:
        others = self._identity.others
        if others and now >= self.check_quorum_deadline:
            return RaftEvent.RESIGN
        if now >= self._begin_quorum_at:
            request = BeginQuorumEpochRequest(
                self._identity.cluster_id, self._epoch, self._identity.node_id
            )
            for voter in others:
                self._requests.send(voter, request, now)
            self._begin_quorum_at = now + self._config.fetch_timeout_ms // 2
        return None

    def deadlines(self) -> Iterable[int]:
        yield self._begin_quorum_at
        if self._identity.others:
            yield self.check_quorum_deadline
        yield from (parked.deadline for parked in self.parked)

    def due(self, now: int) -> list[ParkedFetch]:
        """Take out the parked requests that can be answered now."""
        end = self._log.end.offset
        due = [
            it
            for it in self.parked
            if it.request.offset < end or self.owes_mark(it.request.replica) or now >= it.deadline
        ]
        self.parked = [it for it in self.parked if it not in due]
        return due

    def _saw(self, replica: int, now: int) -> None:
        """A replica has asked for records. If it is a voter, check quorum counts it."""
        if replica in self._identity.others:
            self._fetched.add(replica)
        if len(self._fetched) >= self._identity.majority - 1:  # and this node
            self._fetched.clear()
            self.check_quorum_deadline = now + self._config.fetch_timeout_ms * 3 // 2

    @property
    def successors(self) -> tuple[int, ...]:
        """The other voters, the one with the longest log first."""
        others = self._identity.others
        return tuple(sorted(others, key=lambda voter: -self.ends.get(voter, 0)))

    # -- Fetch -----------------------------------------------------------------------------

    def fetch(self, request: RaftFetchRequest, now: int) -> RaftFetchResponse:
        """Answer, and note how far the replica is, if its log is a part of this one."""
        response = self.response(request)
        if response.snapshot is None and response.diverging is None:
            self._saw(request.replica, now)
            self._stored(request.replica, request.offset)
            response = response._replace(high_watermark=self.high_watermark)
        return response

    def owes_mark(self, replica: int) -> bool:
        """Whether the replica is to be told of a new high watermark at once: it has moved since the
        last answer."""
        mark = self.high_watermark or 0
        return self._config.prompt_mark and self._told.get(replica, 0) < mark

    def told(self, replica: int) -> None:
        """Note that the answer which goes out now tells the replica of the high watermark."""
        self._told[replica] = self.high_watermark or 0

    def response(self, request: RaftFetchRequest) -> RaftFetchResponse:
        diverging, snapshot, records = None, self._snapshot_for(request), b""
        if snapshot is None:
            diverging = self._diverging(request)
        if snapshot is None and diverging is None:
            records = self._log.read(request.offset, self._config.fetch_max_bytes)
        return RaftFetchResponse(
            ErrorCode.none,
            self._epoch,
            self._identity.node_id,
            self.high_watermark,
            diverging,
            snapshot,
            records,
        )

    def _snapshot_for(self, request: RaftFetchRequest) -> OffsetAndEpoch | None:
        """The snapshot that a follower must fetch first, because the log does not go back so far. A
        new follower, whose epoch is 0, gets one, too: it is shorter than the log."""
        first, last = self._log.first_snapshot, self._log.last_snapshot
        if first is None or last is None:
            return None
        offset, epoch, start = request.offset, request.last_fetched_epoch, self._log.start_offset
        is_before = offset < start or (offset == start and epoch != first.epoch)
        return last if is_before or epoch < first.epoch else None

    def _diverging(self, request: RaftFetchRequest) -> OffsetAndEpoch | None:
        if request.offset == 0 and self._log.start_offset == 0:
            return None
        ours = self._log.end_of(request.last_fetched_epoch)
        is_ours = ours.epoch == request.last_fetched_epoch and ours.offset >= request.offset
        return None if is_ours else ours

    def _stored(self, replica: int, end: int) -> None:
        if replica in self._identity.voters:
            self.ends[replica] = end
            self._advance()

    def _advance(self) -> None:
        """Move the high watermark to the largest log end that a majority of voters has."""
        self._commit(majority_end([self.ends.get(voter, 0) for voter in self._identity.voters]))

    def _commit(self, offset: int) -> None:
        if offset > max(self.epoch_start, self.high_watermark or 0):
            self.high_watermark = offset

    # -- FetchSnapshot ---------------------------------------------------------------------

    def fetch_snapshot(self, request: FetchSnapshotRequest, now: int) -> FetchSnapshotResponse:
        known = self._epoch, self._identity.node_id
        size = self._log.snapshot_size(request.snapshot)
        if size is None:
            return FetchSnapshotResponse(ErrorCode.snapshot_not_found, *known)
        if not 0 <= request.position < size:
            return FetchSnapshotResponse(ErrorCode.position_out_of_range, *known)
        self._saw(request.replica, now)
        most = max(0, min(request.max_bytes, self._config.snapshot_max_bytes))
        data = self._log.read_snapshot(request.snapshot, request.position, most)
        return FetchSnapshotResponse(
            ErrorCode.none, *known, request.snapshot, size, request.position, data
        )
