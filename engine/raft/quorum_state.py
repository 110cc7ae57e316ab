"""The state of one node, its epoch, vote and leader, and each step from state to state.

    what the state found     TIMEOUT, MAJORITY, REFUSED, RESIGN: `change`
    what a message tells     a newer epoch, or a leader: `learn`
    a vote for another node  `vote`

After a start the state follows from the file: a node that led an epoch is RESIGNED in it, one that
voted for itself is CANDIDATE in it again, one that knew a leader follows it, all others are
UNATTACHED.

Invariant: a change of epoch, vote or leader is on the disk before the node is in the new state.
Invariant: in an epoch a voter votes for one candidate, and for none after it knows the leader.
"""

from engine.raft.candidate import RaftCandidate, VoteCount
from engine.raft.fetching import RaftFetcher
from engine.raft.follower import RaftFollower
from engine.raft.leader import RaftLeader
from engine.raft.log import QuorumStateStore
from engine.raft.messages import LeaderChange, RaftEffect, VoteRequest
from engine.raft.model import ElectionState
from engine.raft.prospective import RaftProspective
from engine.raft.resigned import RaftResigned
from engine.raft.role import RaftRole, RandRange, election_timeout
from engine.raft.states import STEPS, RaftEvent, RaftState
from engine.raft.unattached import RaftUnattached


class QuorumState:
    """The state of one node. `role` is the object of that state: a RaftFollower, for instance."""

    def __init__(
        self,
        fetcher: RaftFetcher,
        store: QuorumStateStore,
        randrange: RandRange,
        outbox: list[RaftEffect],
        leader: type[RaftLeader] = RaftLeader,
        follower: type[RaftFollower] = RaftFollower,
    ) -> None:
        self.identity = fetcher.identity
        self._config = fetcher.config
        self._log = fetcher.log
        self._requests = fetcher.requests
        self._fetcher = fetcher
        self._store = store
        self._randrange = randrange
        self._outbox = outbox
        self._leader, self._follower = leader, follower

    def start(self, now: int) -> None:
        """Read the quorum state file. The log may know a newer epoch, if the file was lost."""
        election, last_epoch = self._store.read() or ElectionState(), self._log.end.epoch
        if election.epoch < last_epoch:
            election = ElectionState(last_epoch)
        if election.leader == self.identity.node_id and not self.identity.is_voter:
            election = ElectionState(election.epoch)  # it was a voter once
        if election.leader is not None and election.leader not in self.identity.voters:
            election = ElectionState(election.epoch)  # of another quorum, perhaps
        self._remember(election)
        self.election = election
        self.role: RaftRole = self._first_role(now)

    def _first_role(self, now: int) -> RaftRole:
        epoch, leader, voted = self.election
        if leader == self.identity.node_id:
            return self._resigned((), now)
        if leader is not None:
            return self._follower(self._fetcher, epoch, leader, now)
        if voted == self.identity.node_id and self.identity.is_voter:
            votes = self._votes(epoch, pre_vote=False)
            return RaftCandidate(votes, self._config, self._randrange, 1, now)
        return RaftUnattached(self._fetcher, epoch, now + self._election_timeout())

    @property
    def state(self) -> RaftState:
        return self.role.state

    @property
    def epoch(self) -> int:
        return self.election.epoch

    def _enter(self, event: RaftEvent, role: RaftRole, election: ElectionState) -> None:
        assert STEPS[self.state, event] is role.state, f"{self.state}, {event}: {role.state}"
        was = self.election
        if election != was:
            self._remember(election)
        self.role, self.election = role, election
        self._requests.reset()
        if (election.epoch, election.leader) != (was.epoch, was.leader):
            self._outbox.append(LeaderChange(election.epoch, election.leader))

    def _remember(self, election: ElectionState) -> None:
        self._store.write(election)

    # -- what the state found --------------------------------------------------------------

    def change(self, event: RaftEvent, now: int) -> None:
        epoch, leader, _ = self.election
        asks_first = self._config.pre_vote and self.state is not RaftState.PROSPECTIVE
        match event:
            case RaftEvent.TIMEOUT if asks_first:
                votes = self._votes(epoch, pre_vote=True)
                prospective = RaftProspective(votes, now + self._election_timeout())
                self._enter(RaftEvent.PRE_VOTE, prospective, self.election)
            case RaftEvent.MAJORITY if self.state is RaftState.CANDIDATE:
                self._lead(now)
            case RaftEvent.TIMEOUT | RaftEvent.MAJORITY:
                self._stand(event, now)
            case RaftEvent.REFUSED if leader not in (None, self.identity.node_id):
                self._follow(epoch, leader, now)
            case RaftEvent.REFUSED:
                deadline = now + self._election_timeout()
                self._enter(event, RaftUnattached(self._fetcher, epoch, deadline), self.election)
            case RaftEvent.RESIGN:
                assert isinstance(self.role, RaftLeader)
                self._enter(event, self._resigned(self.role.successors, now), self.election)

    def _stand(self, event: RaftEvent, now: int) -> None:
        """Begin the next epoch, and vote for this node."""
        retries = self.role.retries + 1 if isinstance(self.role, RaftCandidate) else 1
        election = ElectionState(self.epoch + 1, voted=self.identity.node_id)
        votes = self._votes(election.epoch, pre_vote=False)
        role = RaftCandidate(votes, self._config, self._randrange, retries, now)
        self._enter(event, role, election)

    def _lead(self, now: int) -> None:
        assert isinstance(self.role, RaftCandidate)
        granting = self.role.votes.granted
        shared = self.identity, self._config, self._log, self._requests
        leader = self._leader(*shared, self.epoch, now)
        election = ElectionState(self.epoch, leader=self.identity.node_id)
        self._enter(RaftEvent.MAJORITY, leader, election)
        leader.begin(granting, now)

    # -- what a message tells --------------------------------------------------------------

    def learn(self, epoch: int, leader: int | None, now: int) -> None:
        """A message names an epoch, and perhaps its leader: take over what is newer."""
        is_news = epoch > self.epoch or (epoch == self.epoch and self.election.leader is None)
        if leader is not None and is_news:
            self._follow(epoch, leader, now)
        elif epoch > self.epoch:
            self._unattach(epoch, now)

    def contradicts(self, epoch: int, leader: int | None) -> bool:
        """Whether a message names another leader than the known one, or wrongly this node."""
        if leader is None or epoch < self.epoch:
            return False
        known = self.election.leader if epoch == self.epoch else None
        return known not in (None, leader) or (leader == self.identity.node_id != known)

    def _follow(self, epoch: int, leader: int, now: int) -> None:
        follower = self._follower(self._fetcher, epoch, leader, now)
        self._enter(RaftEvent.LEADER_FOUND, follower, ElectionState(epoch, leader=leader))

    def _unattach(self, epoch: int, now: int) -> None:
        """Enter a newer epoch without a leader. An election timeout that runs goes on: otherwise
        two voters could delay each other for ever."""
        deadline = now + self._election_timeout()
        if isinstance(self.role, RaftUnattached | RaftCandidate | RaftProspective):
            deadline = self.role.election_deadline
        role = RaftUnattached(self._fetcher, epoch, deadline)
        self._enter(RaftEvent.NEW_EPOCH, role, ElectionState(epoch))

    # -- votes -----------------------------------------------------------------------------

    def vote(self, request: VoteRequest, now: int) -> bool:
        """Whether the candidate gets the vote of this node. A vote is on the disk on return."""
        if request.pre_vote:
            return self._would_vote(request)
        if not self._may_vote(request):
            return False
        if self.election.voted is None:
            role = RaftUnattached(self._fetcher, self.epoch, now + self._election_timeout())
            election = ElectionState(self.epoch, voted=request.candidate)
            self._enter(RaftEvent.VOTE, role, election)
        return True

    def _may_vote(self, request: VoteRequest) -> bool:
        _, leader, voted = self.election
        if leader is not None or voted not in (None, request.candidate):
            return False
        return voted is not None or self._is_up_to_date(request)

    def _would_vote(self, request: VoteRequest) -> bool:
        """The answer to a pre-vote: no, while this node leads or fetches from a leader."""
        role = self.role
        is_served = isinstance(role, RaftFollower) and role.has_fetched
        return self._is_up_to_date(request) and not is_served and not isinstance(role, RaftLeader)

    def _is_up_to_date(self, request: VoteRequest) -> bool:
        return request.log_end.is_at_least(self._log.end)

    def _votes(self, epoch: int, *, pre_vote: bool) -> VoteCount:
        return VoteCount(self.identity, self._requests, epoch, self._log.end, pre_vote=pre_vote)

    # -- parts of the steps ----------------------------------------------------------------

    def _resigned(self, successors: tuple[int, ...], now: int) -> RaftResigned:
        deadline = now + self._election_timeout()
        return RaftResigned(self.identity, self._requests, self.epoch, successors, deadline)

    def _election_timeout(self) -> int:
        return election_timeout(self._config.election_timeout_ms, self._randrange)
