"""UNATTACHED: a node that knows the epoch, but not its leader.

It asks other voters for the leader, by Fetch. A voter may vote, once in an epoch. If it finds no
leader for an election timeout, which is random, it stands for election itself.
"""

from collections.abc import Iterable

from engine.raft.fetching import RaftFetcher
from engine.raft.states import RaftEvent, RaftState


class RaftUnattached:
    state = RaftState.UNATTACHED

    def __init__(self, fetcher: RaftFetcher, epoch: int, election_deadline: int) -> None:
        self.election_deadline = election_deadline
        self._fetcher = fetcher
        self._epoch = epoch

    def tick(self, now: int) -> RaftEvent | None:
        if self._fetcher.identity.is_voter and now >= self.election_deadline:
            return RaftEvent.TIMEOUT
        self._fetcher.fetch_from_any(self._epoch, now)
        return None

    def deadlines(self) -> Iterable[int]:
        if self._fetcher.identity.is_voter:
            yield self.election_deadline
