"""CANDIDATE: a node that has begun an epoch, and asks the other voters for their votes.

    granted by a majority   it is the leader
    no majority possible,   it waits for a random backoff, longer each time,
    or no answer in time    and begins the next epoch

Its own vote is on the disk before it asks.
"""

from collections.abc import Iterable

from engine.raft.messages import VoteRequest
from engine.raft.model import OffsetAndEpoch, QuorumConfig, QuorumIdentity
from engine.raft.requests import RaftRequests
from engine.raft.role import RandRange, election_backoff, election_timeout
from engine.raft.states import RaftEvent, RaftState


class VoteCount:
    """The votes of one election. `ask` sends requests to those who have not answered."""

    def __init__(
        self,
        identity: QuorumIdentity,
        requests: RaftRequests,
        epoch: int,
        log_end: OffsetAndEpoch,
        *,
        pre_vote: bool,
    ) -> None:
        self.granted = {identity.node_id}
        self.rejected: set[int] = set()
        self._identity = identity
        self._requests = requests
        self._request = VoteRequest(identity.cluster_id, epoch, identity.node_id, log_end, pre_vote)

    @property
    def is_won(self) -> bool:
        return len(self.granted) >= self._identity.majority

    @property
    def is_lost(self) -> bool:
        """Whether too many have rejected: those who have not are no majority."""
        return len(self._identity.voters) - len(self.rejected) < self._identity.majority

    def ask(self, now: int) -> None:
        for voter in self._identity.others:
            if voter not in self.granted | self.rejected:
                self._requests.send(voter, self._request, now)

    def voted(self, voter: int, *, granted: bool) -> None:
        (self.granted if granted else self.rejected).add(voter)


class RaftCandidate:
    """The state of a node during its own election, and the backoff after it."""

    state = RaftState.CANDIDATE

    def __init__(
        self,
        votes: VoteCount,
        config: QuorumConfig,
        randrange: RandRange,
        retries: int,  # 1: the first election in a row
        now: int,
    ) -> None:
        self.votes = votes
        self.retries = retries
        self.election_deadline = now + election_timeout(config.election_timeout_ms, randrange)
        self.backoff_end: int | None = None  # None: the election is going on
        self._config = config
        self._randrange = randrange

    def tick(self, now: int) -> RaftEvent | None:
        if self.votes.is_won:
            return RaftEvent.MAJORITY
        if self.backoff_end is None and (self.votes.is_lost or now >= self.election_deadline):
            self.backoff_end = now + election_backoff(
                self.retries, self._config.election_backoff_max_ms, self._randrange
            )
        if self.backoff_end is None:
            self.votes.ask(now)
        elif now >= self.backoff_end:
            return RaftEvent.TIMEOUT
        return None

    def deadlines(self) -> Iterable[int]:
        yield self.election_deadline if self.backoff_end is None else self.backoff_end
