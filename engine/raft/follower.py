"""FOLLOWER: a node that knows the leader of the epoch, and copies the leader's log.

    Fetch ──> records             append, flush, and fetch from the new log end
          ──> diverging epoch     truncate to where both logs are the same, and fetch again
          ──> snapshot id         FetchSnapshot, chunk by chunk; then the log begins at its end
          ──> an error, or nothing: a voter asks the leader again, an observer any voter meanwhile
          ──> nothing for the fetch timeout: a voter becomes a candidate, an observer asks others

Invariant: what a Fetch of a voter says to have, its log end, is flushed.
Invariant: the high watermark of a follower is not beyond its log end, nor the leader's mark.
"""

from collections.abc import Iterable

from engine.errors import ErrorCode
from engine.raft.fetching import RaftFetcher
from engine.raft.messages import (
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    RaftFetchResponse,
)
from engine.raft.model import OffsetAndEpoch, TruncatedBelowHighWatermark
from engine.raft.role import successor_backoff
from engine.raft.states import RaftEvent, RaftState


class RaftFollower:
    """The state of a node that fetches from a leader."""

    state = RaftState.FOLLOWER

    def __init__(self, fetcher: RaftFetcher, epoch: int, leader: int, now: int) -> None:
        self.leader = leader
        self.has_fetched = False  # from this leader, with success
        self.snapshot: OffsetAndEpoch | None = None  # that is on its way
        self.position = 0  # how much of it is here
        self._fetcher = fetcher
        self._log = fetcher.log
        self._epoch = epoch
        self.fetch_deadline = now + fetcher.config.fetch_timeout_ms

    def tick(self, now: int) -> RaftEvent | None:
        fetcher, is_late = self._fetcher, now >= self.fetch_deadline
        is_voter = fetcher.identity.is_voter
        if is_late and is_voter:
            return RaftEvent.TIMEOUT
        if not is_voter and (is_late or not fetcher.requests.is_ready(self.leader)):
            fetcher.fetch_from_any(self._epoch, now)
        elif self.snapshot is not None:
            self._fetch_snapshot(self.snapshot, now)
        else:
            fetcher.fetch(self.leader, self._epoch, now)
        return None

    def deadlines(self) -> Iterable[int]:
        yield self.fetch_deadline

    def epoch_ended(self, preferred_successors: tuple[int, ...], now: int) -> None:
        """The leader has resigned: become a candidate soon, the best successor first."""
        me, count = self._fetcher.identity.node_id, len(preferred_successors)
        place = preferred_successors.index(me) if me in preferred_successors else count
        longest = self._fetcher.config.election_backoff_max_ms
        self.fetch_deadline = now + successor_backoff(place, count, longest)

    # -- records ---------------------------------------------------------------------------

    def fetched(self, response: RaftFetchResponse, high_watermark: int, now: int) -> int:
        """Use an answer of the leader. Returns the new high watermark."""
        if response.diverging is not None:
            self._truncate(response.diverging, high_watermark, now)
        elif response.snapshot is not None:
            if self._log.snapshot_size(response.snapshot) is None:
                self.snapshot, self.position = response.snapshot, 0
        else:
            if response.records:
                self._append(response.records, now)
            end = self._log.end.offset
            high_watermark = max(high_watermark, min(response.high_watermark or 0, end))
        self._heard(now)
        return high_watermark

    def _append(self, records: bytes, now: int) -> None:
        self._log.append_copied(records, now)
        self._log.flush(now)

    def _truncate(self, diverging: OffsetAndEpoch, high_watermark: int, now: int) -> None:
        """Truncate the log to where both logs are the same: the epoch in `diverging` ended there on
        the leader, and may have ended earlier here."""
        ours = self._log.end_of(diverging.epoch)
        same = ours.epoch == diverging.epoch
        offset = min(ours.offset, diverging.offset) if same else ours.offset
        if offset < high_watermark:
            raise TruncatedBelowHighWatermark(
                f"leader {self.leader} of epoch {self._epoch} asks node "
                f"{self._fetcher.identity.node_id} to truncate its log to offset {offset}, and "
                f"everything before {high_watermark} is committed"
            )
        self._log.truncate(offset, now)

    def _heard(self, now: int) -> None:
        self.has_fetched = True
        self.fetch_deadline = now + self._fetcher.config.fetch_timeout_ms

    # -- a snapshot ------------------------------------------------------------------------

    def _fetch_snapshot(self, snapshot: OffsetAndEpoch, now: int) -> None:
        identity, config = self._fetcher.identity, self._fetcher.config
        self._fetcher.requests.send(
            self.leader,
            FetchSnapshotRequest(
                cluster_id=identity.cluster_id,
                epoch=self._epoch,
                replica=identity.node_id,
                snapshot=snapshot,
                position=self.position,
                max_bytes=config.snapshot_max_bytes,
            ),
            now,
        )

    def snapshot_fetched(
        self, response: FetchSnapshotResponse, high_watermark: int, now: int
    ) -> int:
        """Store a chunk. After the last one the log begins at the end of the snapshot."""
        self._heard(now)
        snapshot = self.snapshot
        expected = response.snapshot == snapshot and response.position == self.position
        if response.error is not ErrorCode.none or snapshot is None or not expected:
            self.snapshot = None  # the leader has it no more: ask by Fetch which one it has
            return high_watermark
        self._store(snapshot, response)
        if self.position < response.size:
            return high_watermark
        self.snapshot = None
        self._log.finish_snapshot(snapshot)
        self._log.restart_after(snapshot, now)
        return max(high_watermark, snapshot.offset)

    def _store(self, snapshot: OffsetAndEpoch, response: FetchSnapshotResponse) -> None:
        self._log.write_snapshot(snapshot, self.position, response.data)
        self.position += len(response.data)
