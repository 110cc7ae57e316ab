"""A storm over a quorum: random faults, by a seed.

    turn ──> harm    with some probability: one of the faults of this storm
         ──> mend    with some probability: heal ways, resume and start nodes

Each storm leaves some kinds of faults out and has many of others. Any number of nodes may be away,
and any number may lose what they had not flushed: a quorum then waits, and loses nothing.

    kill, die       a process ends: between two steps, or between two writes of one step
    power           it ends, and its disk loses what was not flushed
    all             all processes end at once, or the power of all fails
    pause           a process stands still; its messages wait
    cut, one_way    no message between two nodes, or in one direction
    isolate         no message to or from one node
    lose, double    messages are lost, or come twice, on one way
    slow            messages take long, and overtake each other
    resign          the leader gives up
    snapshot        a node replaces the start of its log by a snapshot
    stranger        a message with a wrong cluster, voter, epoch or position
"""

from random import Random

from engine.raft.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchSnapshotRequest,
    RaftFetchRequest,
    RaftMessage,
    RaftRequest,
    VoteRequest,
)
from engine.raft.model import OffsetAndEpoch
from proof.quorum.network import SOUND_WAY, USUAL_MS, RaftWay
from proof.quorum.node import QuorumNode
from proof.quorum.world import CLUSTER, QuorumWorld

QUORUM_FAULTS = (
    "kill", "die", "power", "all", "pause", "cut", "one_way", "isolate", "lose", "double", "slow",
    "resign", "snapshot", "stranger",
)  # fmt: skip
LIKELY = (0, 1, 1, 2, 6)  # how much of each a storm has: nothing, a little, a lot
HARMS = (0.15, 0.4, 0.8)  # the probability of a fault in a turn; each storm picks one
MENDS = (0.1, 0.3, 0.6)  # and of its end
MOST_WRITES = 8  # of a process before it dies
STRANGER = 77


class QuorumStorm:
    def __init__(self, world: QuorumWorld, chance: Random) -> None:
        self.happened: set[str] = set()
        self._world = world
        self._chance = chance
        self._harms, self._mends = chance.choice(HARMS), chance.choice(MENDS)
        self._weights = [chance.choice(LIKELY) for _ in QUORUM_FAULTS]

    def turn(self) -> None:
        if self._chance.random() < self._harms and any(self._weights):
            (kind,) = self._chance.choices(QUORUM_FAULTS, self._weights)
            self.happened.add(kind)
            getattr(self, f"_{kind}")()
        self.mend(self._mends / 2)

    def mend(self, likely: float) -> None:
        if self._chance.random() < likely:
            self._world.network.ways.clear()
        for node in self._world.nodes.values():
            if node.is_paused and self._chance.random() < likely:
                node.resume()
            elif node.client is None and self._chance.random() < likely:
                node.start()

    # -- nodes -----------------------------------------------------------------------------

    def _victim(self) -> QuorumNode:
        """Often the leader: it has the most to lose."""
        leader = self._world.leader
        if leader is not None and self._chance.random() < 0.4:
            return leader
        return self._chance.choice([*self._world.nodes.values()])

    def _kill(self) -> None:
        self._victim().kill()

    def _die(self) -> None:
        node = self._victim()
        if node.client is not None:
            node.disk.dies_after = self._chance.randrange(MOST_WRITES)

    def _power(self) -> None:
        node = self._victim()
        node.kill()
        node.disk.power_cut()

    def _all(self) -> None:
        fails = self._chance.random() < 0.5
        for node in self._world.nodes.values():
            node.kill()
            if fails:
                node.disk.power_cut()

    def _pause(self) -> None:
        node = self._victim()
        if node.is_up:
            node.pause()

    def _resign(self) -> None:
        node = self._victim()
        node.resign()

    def _snapshot(self) -> None:
        node = self._victim()
        if node.is_up:
            node.snapshot()

    # -- the network -----------------------------------------------------------------------

    def _way(self) -> tuple[int, int]:
        one, other = self._chance.sample([*self._world.nodes], 2)
        return one, other

    def _break(self, way: RaftWay, *pairs: tuple[int, int]) -> None:
        self._world.network.ways.update(dict.fromkeys(pairs, way))

    def _cut(self) -> None:
        self._world.network.cut(*self._way())

    def _one_way(self) -> None:
        self._break(RaftWay(is_cut=True), self._way())

    def _isolate(self) -> None:
        node = self._victim().id
        for other in self._world.nodes:
            self._world.network.cut(node, other)

    def _lose(self) -> None:
        self._break(RaftWay(loss=self._chance.choice((0.05, 0.3, 0.7))), self._way())

    def _double(self) -> None:
        late = self._chance.choice((USUAL_MS, (1, 100), (50, 800)))
        self._break(RaftWay(late, doubling=0.5), self._way())

    def _slow(self) -> None:
        late = self._chance.choice(((1, 50), (20, 200), (200, 600)))
        self._break(SOUND_WAY._replace(delay_ms=late), self._way())

    def _stranger(self) -> None:
        """Bad input is answered, and changes nothing."""
        node, id = self._victim(), self._chance.randrange(2**30)
        far, end = 10**6, OffsetAndEpoch(10**6, 10**6 - 1)
        requests: tuple[RaftRequest, ...] = (
            VoteRequest("another cluster", far, 1, end),
            VoteRequest(CLUSTER, far, STRANGER, end),
            VoteRequest(CLUSTER, far, -1, end),
            VoteRequest(CLUSTER, far, 1, OffsetAndEpoch(-1, far)),
            BeginQuorumEpochRequest(CLUSTER, far, STRANGER),
            EndQuorumEpochRequest(CLUSTER, far, STRANGER, (node.id,)),
            RaftFetchRequest(CLUSTER, far, STRANGER, 0, 0, 100),
            RaftFetchRequest(CLUSTER, 0, STRANGER, -5, 3, -1),
            FetchSnapshotRequest(CLUSTER, far, STRANGER, end, 0, 100),
            FetchSnapshotRequest("another cluster", 1, STRANGER, end, 5, 100),
        )
        if node.client is not None:
            node.receive(RaftMessage(STRANGER, id, self._chance.choice(requests)))
            epoch, snapshot = node.client.epoch if node.client else 0, OffsetAndEpoch(1, 1)
            node.receive(
                RaftMessage(
                    STRANGER,
                    id + 1,
                    FetchSnapshotRequest(CLUSTER, epoch, STRANGER, snapshot, 10**9, 100),
                )
            )
