"""A node of the quorum: requests and responses, time, and the records of its application.

    step(message, now)     a request or a response has come
    tick(now)              time has passed; `deadline` says when it is due
    append(batch, now)     of the leader's application
    ──> effects            messages to send, a new leader, a new high watermark: in this order

Requests for voters (Vote, BeginQuorumEpoch, EndQuorumEpoch) and for the leader (Fetch,
FetchSnapshot) are refused for these reasons, in this order:

    INCONSISTENT_CLUSTER_ID   it is of another cluster; the answer says nothing else
    INVALID_REQUEST           impossible offsets or epochs; one far ahead, too: after 2^31 - 1 there
                              is no epoch for another election
    FENCED_LEADER_EPOCH       its epoch is older than ours, which the answer has
    INCONSISTENT_VOTER_SET    from a stranger, or to an observer (up to 3.8: later releases have
                              voters that change, and let a stranger ask)
    UNKNOWN_LEADER_EPOCH      a Fetch with an epoch from the future
    NOT_LEADER_OR_FOLLOWER    a Fetch that should go to the leader, which the answer names
    INVALID_REQUEST           it names another leader of the epoch than is known. (Kafka's node
                              stops then; this one goes on.)

After a response with an error, or one that names a leader who is no voter, the node waits for the
retry backoff, and asks again.
"""

from engine.errors import ApiException, ErrorCode
from engine.raft.candidate import RaftCandidate
from engine.raft.fetching import RaftFetcher
from engine.raft.follower import RaftFollower
from engine.raft.leader import ParkedFetch, RaftLeader
from engine.raft.log import QuorumStateStore, RaftLog
from engine.raft.messages import (
    NO_EPOCH_KNOWN,
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    HighWatermarkChange,
    RaftEffect,
    RaftFetchRequest,
    RaftFetchResponse,
    RaftMessage,
    RaftRequest,
    RaftResponse,
    VoteRequest,
    VoteResponse,
)
from engine.raft.model import OffsetAndEpoch, QuorumConfig, QuorumIdentity
from engine.raft.prospective import RaftProspective
from engine.raft.requests import RaftRequests
from engine.raft.resigned import RaftResigned
from engine.raft.role import RandRange
from engine.raft.rules import KAFKAS_RAFT, RaftRules
from engine.raft.states import RaftEvent, RaftState

NOTHING_DUE_MS = 2**62
MOST_MISSED = 2**24  # epochs: with an election each second a node was away for half a year


class RaftClient:
    """One node of the quorum, a voter or an observer."""

    def __init__(
        self,
        identity: QuorumIdentity,
        config: QuorumConfig,
        log: RaftLog,
        store: QuorumStateStore,
        randrange: RandRange,
        now: int,
        rules: RaftRules = KAFKAS_RAFT,
    ) -> None:
        self.identity = identity
        self.log = log
        last = log.last_snapshot  # it may end beyond the start: everything before it is committed
        self.high_watermark = max(log.start_offset, 0 if last is None else last.offset)
        self._outbox: list[RaftEffect] = []
        self._requests = RaftRequests(config, self._outbox)
        fetcher = RaftFetcher(identity, config, log, self._requests, randrange)
        self.quorum = rules.quorum(
            fetcher, store, randrange, self._outbox, rules.leader, rules.follower
        )
        self.quorum.start(now)

    @property
    def state(self) -> RaftState:
        return self.quorum.state

    @property
    def epoch(self) -> int:
        return self.quorum.epoch

    @property
    def leader(self) -> int | None:
        return self.quorum.election.leader

    @property
    def is_leader(self) -> bool:
        return isinstance(self.quorum.role, RaftLeader)

    # -- input -----------------------------------------------------------------------------

    def step(self, message: RaftMessage, now: int) -> list[RaftEffect]:
        if self.is_leader:  # one that stood still resigns before it takes another Fetch for news
            self._poll(now)
        before, body = self.quorum.role, message.body
        match body:
            case VoteRequest():
                self._answer(message, self._vote(body, now))
            case BeginQuorumEpochRequest():
                self._answer(message, self._begin_quorum_epoch(body, now))
            case EndQuorumEpochRequest():
                self._answer(message, self._end_quorum_epoch(body, now))
            case RaftFetchRequest():
                self._fetch(message, body, now)
            case FetchSnapshotRequest():
                self._answer(message, self._fetch_snapshot(body, now))
            case response:
                request = self._requests.answered(message.peer, message.id)
                if request is not None and not self._use(message.peer, request, response, now):
                    self._requests.back_off(message.peer, now)
        self._leave(before)
        return self.tick(now)

    def _poll(self, now: int) -> None:
        """Let the state do what is due, and change it until nothing more follows."""
        self._requests.tick(now)
        before = self.quorum.role
        while (event := self.quorum.role.tick(now)) is not None:
            self.quorum.change(event, now)
        self._leave(before)

    def tick(self, now: int) -> list[RaftEffect]:
        self._poll(now)
        role = self.quorum.role
        if isinstance(role, RaftLeader):
            for parked in role.due(now):
                self._answer_fetch(parked, parked.request, role.response(parked.request), role)
            self._committed(role.high_watermark or 0)
        effects = self._outbox.copy()
        self._outbox.clear()
        return effects

    def deadline(self, now: int) -> int:
        """The next time at which `tick` may have something to do."""
        times = [*self.quorum.role.deadlines(), *self._requests.deadlines()]
        return min((time for time in times if time > now), default=now + NOTHING_DUE_MS)

    def append(self, batch: bytes, now: int) -> tuple[int, list[RaftEffect]]:
        """As leader, append a batch. Returns its offset: it is committed when the high watermark is
        beyond that."""
        if not isinstance(self.quorum.role, RaftLeader):
            text = f"node {self.identity.node_id} does not lead the quorum"
            raise ApiException(ErrorCode.not_controller, text)
        return self.quorum.role.append(batch, now), self.tick(now)

    def resign(self, now: int) -> list[RaftEffect]:
        """Give up the leadership: before an orderly stop, or after an error of the application."""
        before = self.quorum.role
        if isinstance(before, RaftLeader):
            self.quorum.change(RaftEvent.RESIGN, now)
            self._leave(before)
        return self.tick(now)

    def request_failed(self, peer: int, id: int, now: int) -> list[RaftEffect]:
        """The connection to a node broke before it answered."""
        self._requests.failed(peer, id, now)
        return self.tick(now)

    def snapshot(self, snapshot: OffsetAndEpoch, data: bytes, now: int) -> None:
        """Store the application's state up to a committed offset, and delete the records before."""
        assert self.log.start_offset < snapshot.offset <= self.high_watermark
        self.log.write_snapshot(snapshot, 0, data)
        self.log.finish_snapshot(snapshot)
        self.log.delete_before(snapshot, now)

    def _committed(self, offset: int) -> None:
        if offset > self.high_watermark:
            self.high_watermark = offset
            self._outbox.append(HighWatermarkChange(offset))

    def _leave(self, before: object) -> None:
        """If the node has stopped being leader, answer the Fetches that wait, with an error."""
        if isinstance(before, RaftLeader) and before is not self.quorum.role:
            error = ErrorCode.not_leader_or_follower
            for parked in before.parked:
                self._answer(parked, RaftFetchResponse(error, self.epoch, self.leader))

    def _answer(self, message: RaftMessage | ParkedFetch, response: RaftResponse) -> None:
        self._outbox.append(RaftMessage(message.peer, message.id, response))

    # -- requests for voters ---------------------------------------------------------------

    def _vote(self, request: VoteRequest, now: int) -> VoteResponse:
        if request.cluster_id != self.identity.cluster_id:
            return VoteResponse(ErrorCode.inconsistent_cluster_id)
        (offset, last), epoch = request.log_end, request.epoch
        if offset < 0 or last < 0 or last > epoch or (last == epoch and not request.pre_vote):
            return VoteResponse(ErrorCode.invalid_request, self.epoch, self.leader)
        error = self._voter_request_error(epoch, request.candidate)
        if error is not ErrorCode.none:
            return VoteResponse(error, self.epoch, self.leader)
        self.quorum.learn(epoch, None, now)
        granted = self.quorum.vote(request, now)
        return VoteResponse(ErrorCode.none, self.epoch, self.leader, granted)

    def _begin_quorum_epoch(
        self, request: BeginQuorumEpochRequest, now: int
    ) -> BeginQuorumEpochResponse:
        if request.cluster_id != self.identity.cluster_id:
            return BeginQuorumEpochResponse(ErrorCode.inconsistent_cluster_id)
        error = self._new_leader(request.epoch, request.leader, now)
        return BeginQuorumEpochResponse(error, self.epoch, self.leader)

    def _end_quorum_epoch(self, request: EndQuorumEpochRequest, now: int) -> EndQuorumEpochResponse:
        if request.cluster_id != self.identity.cluster_id:
            return EndQuorumEpochResponse(ErrorCode.inconsistent_cluster_id)
        error = self._new_leader(request.epoch, request.leader, now)
        if error is ErrorCode.none and isinstance(role := self.quorum.role, RaftFollower):
            role.epoch_ended(request.preferred_successors, now)
        return EndQuorumEpochResponse(error, self.epoch, self.leader)

    def _new_leader(self, epoch: int, leader: int, now: int) -> ErrorCode:
        error = self._voter_request_error(epoch, leader)
        if error is ErrorCode.none and self.quorum.contradicts(epoch, leader):
            error = ErrorCode.invalid_request
        if error is ErrorCode.none:
            self.quorum.learn(epoch, leader, now)
        return error

    def _voter_request_error(self, epoch: int, sender: int) -> ErrorCode:
        if epoch < self.epoch:
            return ErrorCode.fenced_leader_epoch
        if sender < 0 or epoch > self.epoch + MOST_MISSED:
            return ErrorCode.invalid_request
        if not self.identity.is_voter or sender not in self.identity.voters:
            return ErrorCode.inconsistent_voter_set
        return ErrorCode.none

    # -- requests for the leader -----------------------------------------------------------

    def _fetch(self, message: RaftMessage, request: RaftFetchRequest, now: int) -> None:
        error, role = self._fetch_error(request), self.quorum.role
        if error is ErrorCode.inconsistent_cluster_id:
            self._answer(message, RaftFetchResponse(error))
        elif error is not ErrorCode.none or not isinstance(role, RaftLeader):
            self._answer(message, RaftFetchResponse(error, self.epoch, self.leader))
        elif (
            (response := role.fetch(request, now)).is_news
            or role.owes_mark(request.replica)
            or request.max_wait_ms == 0
        ):
            self._answer_fetch(message, request, response, role)
        else:
            deadline = now + request.max_wait_ms
            role.parked.append(ParkedFetch(message.peer, message.id, request, deadline))

    def _answer_fetch(
        self,
        message: RaftMessage | ParkedFetch,
        request: RaftFetchRequest,
        response: RaftFetchResponse,
        leader: RaftLeader,
    ) -> None:
        self._answer(message, response)
        leader.told(request.replica)

    def _fetch_error(self, request: RaftFetchRequest) -> ErrorCode:
        if request.cluster_id != self.identity.cluster_id:
            return ErrorCode.inconsistent_cluster_id
        last = request.last_fetched_epoch
        if (
            min(request.max_wait_ms, request.offset, last) < 0
            or last > request.epoch
            or request.replica == self.identity.node_id
        ):
            return ErrorCode.invalid_request
        return self._leader_request_error(request.epoch)

    def _fetch_snapshot(self, request: FetchSnapshotRequest, now: int) -> FetchSnapshotResponse:
        if request.cluster_id != self.identity.cluster_id:
            return FetchSnapshotResponse(ErrorCode.inconsistent_cluster_id)
        error, role = self._leader_request_error(request.epoch), self.quorum.role
        if error is not ErrorCode.none or not isinstance(role, RaftLeader):
            return FetchSnapshotResponse(error, self.epoch, self.leader)
        return role.fetch_snapshot(request, now)

    def _leader_request_error(self, epoch: int) -> ErrorCode:
        if epoch < self.epoch:
            return ErrorCode.fenced_leader_epoch
        if epoch > self.epoch:
            return ErrorCode.unknown_leader_epoch
        return ErrorCode.none if self.is_leader else ErrorCode.not_leader_or_follower

    # -- responses -------------------------------------------------------------------------

    def _use(self, peer: int, request: RaftRequest, response: RaftResponse, now: int) -> bool:
        """Use a response. Returns whether the next request to this node may be sent at once."""
        epoch, leader = response.epoch, response.leader
        is_of_voters = epoch != NO_EPOCH_KNOWN and leader in {None, *self.identity.voters}
        if not is_of_voters or self.quorum.contradicts(epoch, leader):
            return False
        self.quorum.learn(epoch, leader, now)
        role, is_fine = self.quorum.role, response.error is ErrorCode.none
        if response.epoch != self.epoch:
            return is_fine
        match response:
            case VoteResponse() if isinstance(role, RaftCandidate | RaftProspective):
                if is_fine:
                    role.votes.voted(peer, granted=response.granted)
            case EndQuorumEpochResponse() if isinstance(role, RaftResigned):
                if is_fine:
                    role.unacknowledged.discard(peer)
            case RaftFetchResponse() if isinstance(role, RaftFollower):
                if is_fine:
                    self._committed(role.fetched(response, self.high_watermark, now))
            case FetchSnapshotResponse() if isinstance(role, RaftFollower):
                self._committed(role.snapshot_fetched(response, self.high_watermark, now))
                return True  # without the snapshot it fetches again, and is told another one
        return is_fine
