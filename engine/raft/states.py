"""The states of a node in the quorum, and the steps between them.

    UNATTACHED    knows the epoch, but not its leader; it may have voted in it
    PROSPECTIVE   asks whether it would get a majority, before the epoch grows: only with pre-vote
    CANDIDATE     has begun an epoch, voted for itself, and asks for votes
    LEADER        has the votes of a majority
    FOLLOWER      knows the leader, and fetches from it
    RESIGNED      led this epoch, and does not any more

An observer is UNATTACHED or FOLLOWER.
"""

from collections.abc import Mapping
from enum import Enum


class RaftState(Enum):
    UNATTACHED = "unattached"
    PROSPECTIVE = "prospective"
    CANDIDATE = "candidate"
    LEADER = "leader"
    FOLLOWER = "follower"
    RESIGNED = "resigned"


class RaftEvent(Enum):
    """Why a node changes its state."""

    TIMEOUT = "timeout"  # of the election, of Fetch, or of the backoff after an election
    PRE_VOTE = "timeout with pre-vote"
    MAJORITY = "majority"  # has granted its vote
    REFUSED = "refused"  # the pre-vote, by so many that no majority is left; or no answer
    VOTE = "vote granted"  # to another node
    RESIGN = "no majority fetches"  # or the application asks for it
    NEW_EPOCH = "newer epoch"  # in a request or a response, without a leader
    LEADER_FOUND = "leader found"  # of this epoch, or of a newer one


STEPS: Mapping[tuple[RaftState, RaftEvent], RaftState] = {
    (RaftState.UNATTACHED, RaftEvent.VOTE): RaftState.UNATTACHED,
    (RaftState.UNATTACHED, RaftEvent.TIMEOUT): RaftState.CANDIDATE,
    (RaftState.UNATTACHED, RaftEvent.PRE_VOTE): RaftState.PROSPECTIVE,
    (RaftState.PROSPECTIVE, RaftEvent.VOTE): RaftState.UNATTACHED,
    (RaftState.PROSPECTIVE, RaftEvent.REFUSED): RaftState.UNATTACHED,
    (RaftState.PROSPECTIVE, RaftEvent.MAJORITY): RaftState.CANDIDATE,
    (RaftState.CANDIDATE, RaftEvent.TIMEOUT): RaftState.CANDIDATE,
    (RaftState.CANDIDATE, RaftEvent.PRE_VOTE): RaftState.PROSPECTIVE,
    (RaftState.CANDIDATE, RaftEvent.MAJORITY): RaftState.LEADER,
    (RaftState.LEADER, RaftEvent.RESIGN): RaftState.RESIGNED,
    (RaftState.FOLLOWER, RaftEvent.TIMEOUT): RaftState.CANDIDATE,
    (RaftState.FOLLOWER, RaftEvent.PRE_VOTE): RaftState.PROSPECTIVE,
    (RaftState.RESIGNED, RaftEvent.TIMEOUT): RaftState.CANDIDATE,
    (RaftState.RESIGNED, RaftEvent.PRE_VOTE): RaftState.PROSPECTIVE,
} | {
    step: state
    for every in RaftState
    for step, state in (
        ((every, RaftEvent.NEW_EPOCH), RaftState.UNATTACHED),
        ((every, RaftEvent.LEADER_FOUND), RaftState.FOLLOWER),
    )
}
