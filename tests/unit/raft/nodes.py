"""One node of a quorum for a test, on a disk in memory, and the messages that it sends."""

from engine.raft.messages import RaftMessage
from engine.raft.metadata_log import MetadataLog
from engine.raft.model import ElectionState, QuorumConfig, QuorumIdentity
from engine.raft.raft_client import RaftClient
from engine.sim.quorum.quorum_disk import QuorumDisk
from engine.storage import records
from engine.storage.records import Record

CLUSTER = "cluster"
CONFIG = QuorumConfig()
LONG_MS = 2 * CONFIG.election_timeout_ms  # no election timeout is longer


def batch(value: bytes = b"x") -> bytes:
    return records.encode([Record(0, 0, None, value)])


def log_of(disk: QuorumDisk, epochs: str) -> None:
    """Write a record for each digit: its epoch. "112" has two of epoch 1 and one of epoch 2."""
    for place, epoch in enumerate(epochs):
        disk.log.append(batch(f"{place}-{epoch}".encode()), int(epoch), 0, client=False)


def epochs_of(disk: QuorumDisk) -> str:
    return "".join(str(stored.header.leader_epoch) for stored in disk.log.batches)


class OneNode:
    """A node, its disk, and the effects of its last step."""

    def __init__(
        self,
        epochs: str = "",
        election: ElectionState | None = None,
        *,
        id: int = 1,
        voters: tuple[int, ...] = (1, 2, 3),
        config: QuorumConfig = CONFIG,
    ) -> None:
        self.disk = QuorumDisk()
        self.disk.election = election
        self.identity = QuorumIdentity(id, CLUSTER, frozenset(voters))
        self.config = config
        self.now = 0
        log_of(self.disk, epochs)
        self.start()

    def start(self) -> None:
        log = self.disk.open(MetadataLog, self.now)
        shared = self.identity, self.config, log, self.disk, lambda below: 0, self.now
        self.client = RaftClient(*shared)
        self.effects = self.client.tick(self.now)

    def wait(self, ms: int) -> None:
        self.now += ms
        self.effects = self.client.tick(self.now)

    def receive(self, peer: int, body, id: int = 77) -> None:
        self.effects = self.client.step(RaftMessage(peer, id, body), self.now)

    def ask(self, peer: int, body):
        """The answer to a request, among all that the node sends."""
        self.receive(peer, body)
        (answer,) = [it.body for it in self.sent if it.id == 77 and it.peer == peer]
        return answer

    def answer(self, body, *peers: int) -> None:
        """Answer the requests that the node has sent to these peers."""
        effects = []
        for message in [it for it in self.sent if it.peer in peers]:
            self.receive(message.peer, body, message.id)
            effects += self.effects
        self.effects = effects

    @property
    def sent(self) -> list[RaftMessage]:
        return [effect for effect in self.effects if isinstance(effect, RaftMessage)]

    def requests(self, kind: type) -> dict:
        """The requests of this kind that were sent, by receiver."""
        return {it.peer: it.body for it in self.sent if isinstance(it.body, kind)}
