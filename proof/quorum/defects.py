"""Nodes with a known defect, to test whether the storms find it.

    QuorumRun(seed=7, defect=QUORUM_DEFECTS["vote-not-durable"])

A check that has never failed proves nothing. Each defect leaves out one rule of the quorum. The
defects exist only here: a node is made of these classes instead of the engine's.
"""

from collections.abc import Mapping
from typing import NamedTuple

from engine.raft.candidate import VoteCount
from engine.raft.follower import RaftFollower
from engine.raft.leader import RaftLeader
from engine.raft.messages import FetchSnapshotResponse, RaftFetchRequest, VoteRequest
from engine.raft.metadata_log import MetadataLog
from engine.raft.model import ElectionState, OffsetAndEpoch
from engine.raft.quorum_state import QuorumState
from engine.raft.role import RaftRole
from engine.raft.rules import KAFKAS_RAFT, RaftRules
from engine.raft.states import RaftEvent, RaftState


class QuorumDefect(NamedTuple):
    """What differs from sound nodes."""

    rules: RaftRules = KAFKAS_RAFT
    log: type[MetadataLog] = MetadataLog


class VoteNotDurable(QuorumState):
    def _remember(self, election: ElectionState) -> None:
        super()._remember(election._replace(voted=None))


class EpochNotDurable(QuorumState):
    def _remember(self, election: ElectionState) -> None:
        """A restart begins with the epoch of the log."""


class WonByAny(VoteCount):
    @property
    def is_won(self) -> bool:
        return len(self.granted) + len(self.rejected) > 1


class ElectedByOne(QuorumState):
    def _votes(self, epoch: int, *, pre_vote: bool) -> VoteCount:
        return WonByAny(self.identity, self._requests, epoch, self._log.end, pre_vote=pre_vote)


class LeadsAgain(QuorumState):
    def _first_role(self, now: int) -> RaftRole:
        epoch, leader, _ = self.election
        if leader != self.identity.node_id:
            return super()._first_role(now)
        shared = self.identity, self._config, self._log, self._requests
        return self._leader(*shared, epoch, now)


class VotesTwice(QuorumState):
    def vote(self, request: VoteRequest, now: int) -> bool:
        if not request.pre_vote and self.state is RaftState.UNATTACHED:
            self.election = self.election._replace(voted=None)
        return super().vote(request, now)


class ElectsAnyLog(QuorumState):
    def _is_up_to_date(self, request: VoteRequest) -> bool:
        return True


class CommitsOlderEpochs(RaftLeader):
    def _commit(self, offset: int) -> None:
        self.high_watermark = max(offset, self.high_watermark or 0)


class CommitsAlone(RaftLeader):
    def _advance(self) -> None:
        self._commit(self._log.end.offset)


class AppendsUnflushed(RaftLeader):
    def append(self, batch: bytes, now: int) -> int:
        offset = self._log.append(batch, self._epoch, now)
        self._stored(self._identity.node_id, self._log.end.offset)
        return offset


class NeverResigns(RaftLeader):
    def tick(self, now: int) -> RaftEvent | None:
        self.check_quorum_deadline = now + 1
        return super().tick(now)


class ServesAnyLog(RaftLeader):
    def _diverging(self, request: RaftFetchRequest) -> OffsetAndEpoch | None:
        end = self._log.end
        return end if request.offset > end.offset else None


class FetchesUnflushed(RaftFollower):
    def _append(self, records: bytes, now: int) -> None:
        self._log.append_copied(records, now)


class SkipsAChunk(RaftFollower):
    def _store(self, snapshot: OffsetAndEpoch, response: FetchSnapshotResponse) -> None:
        if self.position == 0:
            super()._store(snapshot, response)
        else:
            self.position += len(response.data)


class StartsUnflushed(MetadataLog):
    def _flush_first(self, now: int) -> None:
        """What the last process wrote may be in the page cache only."""


SOUND_QUORUM = QuorumDefect()  # nothing is wrong

QUORUM_DEFECTS: Mapping[str, QuorumDefect] = {
    # A vote is not on the disk when it is told: after a restart the voter votes again.
    "vote-not-durable": QuorumDefect(RaftRules(quorum=VoteNotDurable)),
    # A voter votes for every candidate that asks.
    "votes-twice": QuorumDefect(RaftRules(quorum=VotesTwice)),
    # The quorum state is never written: after a restart a node is in an epoch of long ago.
    "epoch-not-durable": QuorumDefect(RaftRules(quorum=EpochNotDurable)),
    # The first answer makes a candidate the leader, whatever it is.
    "elected-by-one": QuorumDefect(RaftRules(quorum=ElectedByOne)),
    # A leader that starts again leads on, and has lost what it had not flushed.
    "leads-again": QuorumDefect(RaftRules(quorum=LeadsAgain, leader=AppendsUnflushed)),
    # A voter votes for a candidate whose log is behind its own.
    "log-unchecked": QuorumDefect(RaftRules(quorum=ElectsAnyLog)),
    # A leader commits records of older epochs before one of its own is on a majority.
    "older-epoch-committed": QuorumDefect(RaftRules(leader=CommitsOlderEpochs)),
    # A record counts as committed as soon as the leader has it.
    "committed-alone": QuorumDefect(RaftRules(leader=CommitsAlone)),
    # A leader that hears of no majority stays leader.
    "never-resigns": QuorumDefect(RaftRules(leader=NeverResigns)),
    # A leader does not compare epochs: followers keep records that are not in its log.
    "divergence-unchecked": QuorumDefect(RaftRules(leader=ServesAnyLog)),
    # A follower fetches on before its records are on the disk.
    "fetch-unflushed": QuorumDefect(RaftRules(follower=FetchesUnflushed)),
    # A follower's copy of a snapshot has only the first chunk.
    "snapshot-with-hole": QuorumDefect(RaftRules(follower=SkipsAChunk)),
    # A process that starts does not flush what the one before it had written.
    "start-unflushed": QuorumDefect(log=StartsUnflushed),
}
