"""A simulated quorum: voters and an observer, a network between them, and their application.

    world = QuorumWorld(seed=7, voters=3)
    world.clock.run_until(5000)
    world.leader                       the node that leads the newest epoch, if one does
    world.append(b"...")               to the leader's log

Node ids: 1, 2, 3 ... vote, 9 observes. A message to a process that has died since it was sent is
lost: its connection went with it.
"""

from collections.abc import Sequence
from random import Random

from engine.raft.messages import RaftMessage
from engine.raft.model import QuorumConfig, QuorumIdentity
from engine.sim.clock import Clock
from engine.storage import records
from engine.storage.records import Record
from proof.quorum.defects import SOUND_QUORUM, QuorumDefect
from proof.quorum.network import SOUND_WAY, RaftNetwork, RaftWay
from proof.quorum.node import QuorumNode

OBSERVER = 9
CLUSTER = "simulated"
DRIFT = 0.05  # a node's clock is faster or slower than the world's by at most this
QUICK = QuorumConfig(  # shorter times than the defaults, so that much happens in a short run
    election_timeout_ms=200,
    fetch_timeout_ms=400,
    election_backoff_max_ms=200,
    request_timeout_ms=300,
    fetch_max_wait_ms=100,
    snapshot_max_bytes=300,
)


class QuorumWorld:
    def __init__(
        self,
        seed: int,
        voters: int,
        *,
        defect: QuorumDefect = SOUND_QUORUM,
        config: QuorumConfig = QUICK,
        observers: Sequence[int] = (OBSERVER,),
        way: RaftWay = SOUND_WAY,
    ) -> None:
        self.random = Random(seed)
        self.clock = Clock()
        self.network = RaftNetwork(self.clock, self.random, self._received, way)
        ids = frozenset(range(1, voters + 1))
        self.nodes = {
            id: QuorumNode(
                QuorumIdentity(id, CLUSTER, ids),
                config,
                defect,
                self.clock,
                self.random,
                1 + self.random.uniform(-DRIFT, DRIFT),
            )
            for id in (*sorted(ids), *observers)
        }
        self.voters = [self.nodes[id] for id in sorted(ids)]
        self._sent = 0  # numbers the records of the application
        for node in self.nodes.values():
            node.send = self._send
            self.clock.after(self.random.randrange(100), node.start)

    @property
    def now(self) -> int:
        """Milliseconds since the world began."""
        return self.clock.now

    @property
    def leader(self) -> QuorumNode | None:
        leading = [it for it in self.voters if it.is_up and it.client and it.client.is_leader]
        return max(leading, key=lambda it: it.client.epoch if it.client else 0, default=None)

    def append(self, node: QuorumNode) -> tuple[int, bytes] | None:
        """The offset and the value of a new record in a leader's log."""
        value = f"r{self._sent:05}".encode()
        self._sent += 1
        batch = records.encode([Record(0, self.clock.now, None, value)])
        offset = node.append(batch)
        return None if offset is None else (offset, value)

    def _lives_of(self, source: int, target: int) -> tuple[int, int]:
        return self.nodes[source].lives, self.nodes[target].lives

    def _send(self, source: int, message: RaftMessage) -> None:
        if message.peer in self.nodes:
            self.network.send(source, message, self._lives_of(source, message.peer))

    def _received(self, source: int, message: RaftMessage, lives: tuple[int, int]) -> None:
        if lives == self._lives_of(source, message.peer):
            self.nodes[message.peer].receive(message._replace(peer=source))
