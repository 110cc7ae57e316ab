"""PROSPECTIVE: a node that asks whether it would be elected, before it begins an epoch (KIP-996).

A voter that was cut off for a while has missed its leader, and stands for election again and again.
Its epoch grows, and when it comes back, that epoch ends the work of a leader that is well. With
pre-vote it asks first, in the epoch that it knows. Voters that fetch from a leader refuse; nobody's
epoch grows.
"""

from collections.abc import Iterable

from engine.raft.candidate import VoteCount
from engine.raft.states import RaftEvent, RaftState


class RaftProspective:
    state = RaftState.PROSPECTIVE

    def __init__(self, votes: VoteCount, election_deadline: int) -> None:
        self.votes = votes
        self.election_deadline = election_deadline

    def tick(self, now: int) -> RaftEvent | None:
        if self.votes.is_won:
            return RaftEvent.MAJORITY
        if self.votes.is_lost or now >= self.election_deadline:
            return RaftEvent.REFUSED
        self.votes.ask(now)
        return None

    def deadlines(self) -> Iterable[int]:
        yield self.election_deadline
