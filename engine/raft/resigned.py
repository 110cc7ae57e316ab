"""RESIGNED: a node that led this epoch, and does not any more.

It tells the other voters, with the best successors first, so that an election begins at once. A
leader that has started again is here, too: it does not know what it wrote before it died, and in an
epoch an offset must have one record only. So it does not lead that epoch again, nor vote in it.
"""

from collections.abc import Iterable

from engine.raft.messages import EndQuorumEpochRequest
from engine.raft.model import QuorumIdentity
from engine.raft.requests import RaftRequests
from engine.raft.states import RaftEvent, RaftState


class RaftResigned:
    state = RaftState.RESIGNED

    def __init__(
        self,
        identity: QuorumIdentity,
        requests: RaftRequests,
        epoch: int,
        preferred_successors: tuple[int, ...],
        election_deadline: int,
    ) -> None:
        self.election_deadline = election_deadline
        self.unacknowledged = set(identity.others)  # voters that may not know of it yet
        self._requests = requests
        self._request = EndQuorumEpochRequest(
            identity.cluster_id, epoch, identity.node_id, preferred_successors
        )

    def tick(self, now: int) -> RaftEvent | None:
        if now >= self.election_deadline:
            return RaftEvent.TIMEOUT
        for voter in sorted(self.unacknowledged):
            self._requests.send(voter, self._request, now)
        return None

    def deadlines(self) -> Iterable[int]:
        yield self.election_deadline
