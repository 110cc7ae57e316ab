"""What the invariants of a quorum remember (invariants.py): what was committed, voted and heard.

    committed    the batches below the high watermark of any node at any time, by offset
    written      each batch that was in some log, by offset and epoch
    leaders      who led each epoch
    votes        for whom a voter voted, by voter and epoch
    heard        when a leader got the last Fetch of a voter, by leader and voter, on its clock

The disks count as the truth: also those of nodes that are not running.
"""

from typing import NamedTuple

from engine.raft.model import OffsetAndEpoch
from proof.quorum.node import QuorumNode
from proof.quorum.world import QuorumWorld


class PendingRecord(NamedTuple):
    """A record in the log of a leader, whose application waits for the high watermark."""

    node: int
    life: int  # of the node
    epoch: int
    offset: int
    value: bytes


class ObservedQuorum:
    def __init__(self, world: QuorumWorld) -> None:
        self.world = world
        self.committed: list[bytes] = []
        self.committed_by: int = 0  # the newest epoch in which something was committed
        self.written: dict[tuple[int, int], bytes] = {}
        self.leaders: dict[int, int] = {}
        self.votes: dict[tuple[int, int], int] = {}
        self.heard: dict[tuple[int, int], int] = {}
        self.led_since: dict[tuple[int, int], int] = {}  # by node and epoch, on the node's clock
        self.epochs: dict[int, int] = {}  # the newest of each node
        self.marks: dict[tuple[int, int], int] = {}  # the high watermark, by node and life
        self.last_mark = 0  # the highest one of any leader
        self.pending: list[PendingRecord] = []
        self.acknowledged: list[PendingRecord] = []
        self.checked_values: dict[int, tuple[list[bytes], int]] = {}  # by node: how many of them
        self.checked_logs: dict[int, tuple[int, int]] = {}  # by node: cuts, and how many batches
        self.checked_snapshots: dict[tuple[int, OffsetAndEpoch], bytes] = {}
        self.checked_leaders: set[tuple[int, int]] = set()  # node and epoch
        self.checked_majority = 0  # offsets

    def durable_end(self, node: QuorumNode) -> int:
        """How far this node's disk has the committed batches, also after a power cut."""
        log = node.disk.log
        end = min(log.recovery_point, len(self.committed))
        if end <= log.first_offset or not log.batches:
            return min(log.first_offset, len(self.committed))
        last = log.batches[log.before(end) - 1] if log.before(end) else None
        same = last is None or last.data == self.committed[last.header.last_offset]
        return end if same else 0

    def quorum_heard_at(self, node: QuorumNode) -> int:
        """When a leader, on its clock, last had fetches of a majority, itself included."""
        assert node.client is not None
        since = self.led_since[node.id, node.client.epoch]
        times = sorted(
            (self.heard.get((node.id, voter), since) for voter in node.identity.others),
            reverse=True,
        )
        return max(since, times[node.identity.majority - 2])
