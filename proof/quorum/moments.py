"""What is seen of a node of a simulated quorum, between two changes: a `NodeMoment`."""

from typing import NamedTuple

from engine.raft.own_deadline import own_deadline
from engine.raft.states import RaftState
from proof.quorum.node import QuorumNode

ROUNDED_MS = 3  # a node's clock and the world's are rounded


class NodeMoment(NamedTuple):
    """A node of the quorum, as long as it does not change."""

    at: int  # ms, since when
    life: str  # up, paused, down
    state: RaftState | None  # None: it is down
    epoch: int
    leader: int | None
    voted: int | None
    epochs: tuple[tuple[int, int], ...]  # of its log: the epoch, and the offset where it begins
    start: int  # of its log: what is before it is in a snapshot only
    end: int
    high_watermark: int  # everything before it is committed, as the node knows
    since: int  # when the time began after which it does something by itself
    due: int | None  # when it stands for election, or resigns; None: by itself it does nothing


def moment_of(node: QuorumNode, at: int, last: NodeMoment) -> NodeMoment:
    client = node.client
    if client is None:
        return last._replace(at=at, life="down", state=None, due=None)
    election, log = client.quorum.election, node.disk.log
    due = own_deadline(client)
    due = None if due is None else at + round(max(0, due - node.now) / node.speed)
    is_same = last.due is not None and due is not None and abs(due - last.due) <= ROUNDED_MS
    return NodeMoment(
        at,
        "paused" if node.is_paused else "up",
        client.state,
        *election,
        tuple(log.epochs.entries),
        client.log.start_offset,
        client.log.end.offset,
        client.high_watermark,
        last.since if is_same else at,
        last.due if is_same else due,
    )
