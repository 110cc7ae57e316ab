"""The requests of the quorum, and their responses, as values.

    Vote               candidate ──> voter      may I lead this epoch?
    BeginQuorumEpoch   leader ──> voter         I lead this epoch
    EndQuorumEpoch     leader ──> voter         I do not lead any more; successors, best first
    Fetch              anybody ──> leader       records from this offset on
    FetchSnapshot      follower ──> leader      bytes of a snapshot from this position on

Every response has the epoch and the leader that its sender knows: so a node that is behind learns
of a newer epoch from any answer.
"""

from typing import NamedTuple

from engine.errors import ErrorCode
from engine.raft.model import OffsetAndEpoch

NO_EPOCH_KNOWN = -1  # in a response to a stranger, which is told nothing


class VoteRequest(NamedTuple):
    cluster_id: str
    epoch: int
    candidate: int
    log_end: OffsetAndEpoch  # of the candidate's log
    pre_vote: bool = False  # only a question: neither the epoch nor the vote changes


class VoteResponse(NamedTuple):
    error: ErrorCode
    epoch: int = NO_EPOCH_KNOWN
    leader: int | None = None
    granted: bool = False


class BeginQuorumEpochRequest(NamedTuple):
    cluster_id: str
    epoch: int
    leader: int


class BeginQuorumEpochResponse(NamedTuple):
    error: ErrorCode
    epoch: int = NO_EPOCH_KNOWN
    leader: int | None = None


class EndQuorumEpochRequest(NamedTuple):
    cluster_id: str
    epoch: int
    leader: int
    preferred_successors: tuple[int, ...]  # the voter with the longest log first


class EndQuorumEpochResponse(NamedTuple):
    error: ErrorCode
    epoch: int = NO_EPOCH_KNOWN
    leader: int | None = None


class RaftFetchRequest(NamedTuple):
    cluster_id: str
    epoch: int
    replica: int
    offset: int  # the log end of the replica: all before it is on its disk
    last_fetched_epoch: int  # of the record before the offset; 0: there is none
    max_wait_ms: int


class RaftFetchResponse(NamedTuple):
    error: ErrorCode
    epoch: int = NO_EPOCH_KNOWN
    leader: int | None = None
    high_watermark: int | None = None  # None: the leader does not know it yet
    diverging: OffsetAndEpoch | None = None  # truncate: this epoch ended there
    snapshot: OffsetAndEpoch | None = None  # fetch this snapshot: the records are gone
    records: bytes = b""

    @property
    def is_news(self) -> bool:
        """Whether it has something to do for the follower, so that it is sent at once."""
        return bool(self.records or self.diverging or self.snapshot)


class FetchSnapshotRequest(NamedTuple):
    cluster_id: str
    epoch: int
    replica: int
    snapshot: OffsetAndEpoch
    position: int
    max_bytes: int


class FetchSnapshotResponse(NamedTuple):
    error: ErrorCode
    epoch: int = NO_EPOCH_KNOWN
    leader: int | None = None
    snapshot: OffsetAndEpoch | None = None
    size: int = 0  # of the whole snapshot
    position: int = 0
    data: bytes = b""


RaftRequest = (
    VoteRequest
    | BeginQuorumEpochRequest
    | EndQuorumEpochRequest
    | RaftFetchRequest
    | FetchSnapshotRequest
)
RaftResponse = (
    VoteResponse
    | BeginQuorumEpochResponse
    | EndQuorumEpochResponse
    | RaftFetchResponse
    | FetchSnapshotResponse
)


class RaftMessage(NamedTuple):
    """A request or a response on its way, with the other end's node id: sender or receiver."""

    peer: int
    id: int  # of the request; its response has the same
    body: RaftRequest | RaftResponse


class LeaderChange(NamedTuple):
    """Tell the application who leads now."""

    epoch: int
    leader: int | None


class HighWatermarkChange(NamedTuple):
    """Tell the application that everything before this offset is committed."""

    offset: int


RaftEffect = RaftMessage | LeaderChange | HighWatermarkChange
