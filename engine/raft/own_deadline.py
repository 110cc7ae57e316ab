"""When a node of the quorum does something by itself, if nobody tells it otherwise.

follower, candidate, unattached, resigned    it stands for election
leader                                       it resigns, because no majority fetches
"""

from engine.raft.candidate import RaftCandidate
from engine.raft.follower import RaftFollower
from engine.raft.leader import RaftLeader
from engine.raft.raft_client import RaftClient


def own_deadline(client: RaftClient) -> int | None:
    """By its own clock, in ms; None: it waits for nothing, as an observer."""
    match client.quorum.role:
        case RaftFollower(fetch_deadline=due) if client.identity.is_voter:
            return due
        case RaftLeader(check_quorum_deadline=due):
            return due
        case RaftCandidate(backoff_end=end, election_deadline=due):
            return due if end is None else end
        case role:
            return getattr(role, "election_deadline", None) if client.identity.is_voter else None
