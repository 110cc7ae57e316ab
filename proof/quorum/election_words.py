"""What a node of the quorum has just done, in a sentence."""

from collections.abc import Iterator

from engine.raft.states import RaftState
from proof.quorum.moments import NodeMoment

Told = tuple[str, str, tuple[int, ...]]  # kind, sentence, the nodes that it is about

STANDS = {
    RaftState.FOLLOWER: "leader {leader} did not answer for a fetch timeout",
    RaftState.UNATTACHED: "it found no leader within its election timeout",
    RaftState.CANDIDATE: "nobody got a majority before",
    RaftState.PROSPECTIVE: "a majority would vote for it",
    RaftState.RESIGNED: "nobody else has begun an epoch",
}


def told(node: int, was: NodeMoment, now: NodeMoment) -> Iterator[Told]:
    if was.life == "down":
        yield "started", f"{node} starts, and reads its disk", (node,)
    elif (now.epoch, now.state) != (was.epoch, was.state):
        yield from _changed(node, was, now)
    if now.voted not in (None, node) and (now.epoch, now.voted) != (was.epoch, was.voted):
        words = f"{node} gives {now.voted} its vote in epoch {now.epoch}, and no other gets it"
        yield "voted", words, (node, now.voted or node)
    if now.end < was.end:
        words = f"{node} truncates its log from offset {was.end} to {now.end}"
        yield "truncated", f"{words}: leader {now.leader} has other records there", (node,)
    if now.start > was.start and was.life == now.life:
        words = f"{node} has a snapshot in place of the records before offset {now.start}"
        yield "snapshot", words, (node,)
    if now.state is RaftState.LEADER and now.high_watermark > was.high_watermark:
        words = f"a majority has all before offset {now.high_watermark}: that is committed"
        yield "committed", words, (node,)


def _changed(node: int, was: NodeMoment, now: NodeMoment) -> Iterator[Told]:
    epoch = now.epoch
    match now.state:
        case RaftState.CANDIDATE if was.state is not None:
            why = STANDS.get(was.state, "").format(leader=was.leader)
            yield "candidate", f"{node} begins epoch {epoch} and votes for itself: {why}", (node,)
        case RaftState.PROSPECTIVE:
            words = f"{node} asks whether it would be elected; epoch {epoch} stays"
            yield "prospective", words, (node,)
        case RaftState.LEADER:
            yield "leader", f"{node} has a majority of the votes: it leads epoch {epoch}", (node,)
        case RaftState.RESIGNED:
            words = f"{node} leads epoch {epoch} no more: no majority has fetched from it"
            yield "resigned", words, (node,)
        case RaftState.FOLLOWER:
            yield "follower", f"{node} follows {now.leader} in epoch {epoch}", (node,)
        case RaftState.UNATTACHED if epoch > was.epoch and now.voted is None:
            yield "unattached", f"{node} hears of epoch {epoch}, not yet of its leader", (node,)


def refused(node: int, candidate: int, now: NodeMoment) -> str:
    if now.epoch and now.state is RaftState.LEADER:
        why = "it leads itself"
    elif now.leader is not None:
        why = f"it follows {now.leader}"
    elif now.voted is not None:
        why = f"in epoch {now.epoch} it has voted for {now.voted}"
    else:
        why = f"the log of {candidate} is behind its own"
    return f"{node} refuses {candidate} its vote: {why}"
