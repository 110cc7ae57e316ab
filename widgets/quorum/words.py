"""The messages and the states of a quorum in words."""

from engine.errors import ErrorCode
from engine.raft.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    RaftFetchRequest,
    RaftFetchResponse,
    VoteRequest,
    VoteResponse,
)
from engine.raft.states import RaftState
from proof.quorum.film import FilmedMessage
from proof.quorum.moments import NodeMoment

# The look of its line, and its words: short ones on the line, or none.
QUIET = "quiet"
BANDS = {
    RaftState.UNATTACHED: "band unused",
    RaftState.PROSPECTIVE: "band flags",
    RaftState.CANDIDATE: "band time",
    RaftState.LEADER: "band place",
    RaftState.FOLLOWER: "band value",
    RaftState.RESIGNED: "band",
}
WAITS = {
    RaftState.UNATTACHED: "stands for election",
    RaftState.PROSPECTIVE: "gives up",
    RaftState.CANDIDATE: "tries again",
    RaftState.LEADER: "resigns",
    RaftState.FOLLOWER: "stands for election",
    RaftState.RESIGNED: "stands for election",
}


def line_of(message: FilmedMessage) -> tuple[str, str, str]:
    """The look of its line, a word or two on it, and a sentence."""
    source, target, body = message.source, message.target, message.body
    match body:
        case VoteRequest(pre_vote=True):
            words = f"{source} asks {target}: would you vote for me?"
            return "slow", "would you?", words
        case VoteRequest():
            end = body.log_end
            has = f"its log ends at {end.offset}, with epoch {end.epoch}"
            return "slow", f"Vote {body.epoch}", f"{source} asks for the vote of {target}: {has}"
        case VoteResponse(granted=True):
            return "kept", "yes", f"{source} votes for {target}"
        case VoteResponse(error=ErrorCode.none):
            return "cut", "no", f"{source} does not vote for {target}"
        case BeginQuorumEpochRequest():
            words = f"{source} tells {target}: it leads epoch {body.epoch}"
            return "link", f"Begin {body.epoch}", words
        case EndQuorumEpochRequest():
            words = f"{source} tells {target}: it leads epoch {body.epoch} no more"
            return "link", f"End {body.epoch}", words
        case RaftFetchResponse(diverging=ended) if ended is not None:
            words = f"{source} tells {target}: epoch {ended.epoch} ended at offset {ended.offset}"
            return "cut", f"truncate to {ended.offset}", words
        case RaftFetchResponse(records=records) if records:
            return "link", "records", f"records go from {source} to {target}"
        case RaftFetchResponse(snapshot=snapshot) if snapshot is not None:
            words = f"{source} tells {target}: fetch the snapshot up to offset {snapshot.offset}"
            return "link", "snapshot", words
        case FetchSnapshotRequest() | FetchSnapshotResponse():
            return "link", "", f"a snapshot goes from or to {target}"
        case RaftFetchRequest():
            return QUIET, "", f"{source} fetches from {target} at offset {body.offset}"
    return QUIET, "", f"{source} answers {target}"


def state_word(node: NodeMoment) -> str:
    return node.life if node.state is None or node.life != "up" else node.state.value


def whom_it_knows(node: NodeMoment, me: int) -> str:
    """Its epoch, and what it knows of its leader."""
    if node.state is None:
        more = "on its disk"
    elif node.leader == me:
        more = "leads it"
    elif node.leader is not None:
        more = f"leader {node.leader}"
    elif node.voted is not None:
        more = f"voted for {'itself' if node.voted == me else node.voted}"
    else:
        more = "no leader known"
    return f"epoch {node.epoch} · {more}"


def wait(node: NodeMoment, at: int) -> str:
    """What it does by itself if nobody tells it otherwise, and when."""
    if node.due is None or node.state is None:
        return ""
    return f"{WAITS[node.state]} in {max(0, node.due - at):,} ms"
