"""One node of a simulated quorum: a process on a disk, with a clock of its own speed, and an
application that keeps the committed records.

    start ──> running ──> paused: messages wait, and time passes ──> running
                      ──> killed, or without power: the disk stays ──> start

The application's state is the list of all committed records; its snapshot is their bytes.
"""

from collections.abc import Callable
from random import Random

from engine.model import Callbacks
from engine.raft.messages import HighWatermarkChange, LeaderChange, RaftEffect, RaftMessage
from engine.raft.model import OffsetAndEpoch, QuorumConfig, QuorumIdentity
from engine.raft.raft_client import RaftClient
from engine.sim.clock import Clock, Timer
from engine.sim.quorum.quorum_disk import ProcessDied, QuorumDisk
from engine.storage.batch import scan
from proof.quorum.defects import QuorumDefect

Send = Callable[[int, RaftMessage], None]


class QuorumNode:
    def __init__(
        self,
        identity: QuorumIdentity,
        config: QuorumConfig,
        defect: QuorumDefect,
        clock: Clock,
        random: Random,
        speed: float,  # of its clock; 1.0: that of the world
    ) -> None:
        self.id = identity.node_id
        self.identity = identity
        self.config = config
        self.disk = QuorumDisk()
        self.client: RaftClient | None = None  # None: not running
        self.lives = 0  # how often it was started
        self.is_paused = False
        self.applied = 0  # the end of the committed records that the application has
        self.values: list[bytes] = []  # the batches of the application's state
        self.told_of: dict[int, int | None] = {}  # each epoch's leader, as this process was told
        self.send: Send = lambda source, message: None
        self.heard = Callbacks[[QuorumNode, RaftMessage]]()  # before each message
        self.written = Callbacks[[QuorumNode]]()  # after each step, before its effects
        self.stepped = Callbacks[[QuorumNode]]()  # after its effects
        self.ended = Callbacks[[QuorumNode]]()  # the process
        self._rules, self._log = defect.rules, defect.log
        self._clock = clock
        self._random = random
        self.speed = speed
        self._inbox: list[RaftMessage] = []
        self._timer: Timer | None = None
        self._timer_at = 0

    @property
    def now(self) -> int:
        """Its own clock."""
        return int(self._clock.now * self.speed)

    @property
    def is_up(self) -> bool:
        return self.client is not None and not self.is_paused

    # -- life ------------------------------------------------------------------------------

    def start(self) -> None:
        self.lives += 1
        self.applied, self.values, self.told_of = 0, [], {}
        log = self.disk.open(self._log, self.now)
        shared = self.identity, self.config, log, self.disk, self._random.randrange, self.now
        self.client = RaftClient(*shared, self._rules)
        self._apply()
        self.run(lambda client: client.tick(self.now))

    def kill(self) -> None:
        if self.client is not None:
            self.ended(self)
        self.client, self.is_paused = None, False
        self._inbox.clear()

    def pause(self) -> None:
        self.is_paused = True

    def resume(self) -> None:
        self.is_paused = False
        waiting, self._inbox = self._inbox, []
        for message in waiting:
            self.receive(message)
        self._wake()

    # -- steps -----------------------------------------------------------------------------

    def receive(self, message: RaftMessage) -> None:
        if self.is_paused:
            self._inbox.append(message)
        else:
            self.heard(self, message)
            self.run(lambda client: client.step(message, self.now))

    def append(self, batch: bytes) -> int | None:
        """The offset of the batch; None: the process died while it wrote."""
        found: list[int] = []

        def appended(client: RaftClient) -> list[RaftEffect]:
            offset, effects = client.append(batch, self.now)
            found.append(offset)
            return effects

        self.run(appended)
        return found[0] if found else None

    def resign(self) -> None:
        self.run(lambda client: client.resign(self.now))

    def snapshot(self) -> None:
        """Store a snapshot of the application's state, and delete the log before it."""
        client = self.client
        if client is None or self.applied <= client.log.start_offset:
            return
        (last,) = [header for _, header in scan(self.values[-1])]
        id, data = OffsetAndEpoch(self.applied, last.leader_epoch), b"".join(self.values)

        def stored(client: RaftClient) -> list[RaftEffect]:
            client.snapshot(id, data, self.now)
            return []

        self.run(stored)

    def run(self, work: Callable[[RaftClient], list[RaftEffect]]) -> None:
        if self.client is None:
            return
        try:
            effects = work(self.client)
        except ProcessDied:
            self.kill()
            return
        self.written(self)
        for effect in effects:
            match effect:
                case RaftMessage():
                    self.send(self.id, effect)
                case LeaderChange():
                    self.told_of[effect.epoch] = effect.leader
                case HighWatermarkChange():
                    self._apply()
        self.stepped(self)
        self._schedule()

    def _apply(self) -> None:
        """Read what is committed; first a snapshot, if the log does not go back so far."""
        client = self.client
        assert client is not None
        log = client.log
        if self.applied < log.start_offset and log.last_snapshot is not None:
            data = log.read_snapshot(log.last_snapshot, 0, 2**31)
            self.values = [data[place : place + header.size] for place, header in scan(data)]
            self.applied = log.last_snapshot.offset
        while self.applied < client.high_watermark:
            data = log.read(self.applied, 2**31)
            for place, header in scan(data):
                if header.next_offset <= client.high_watermark:
                    self.values.append(data[place : place + header.size])
                    self.applied = header.next_offset

    # -- time ------------------------------------------------------------------------------

    def _schedule(self) -> None:
        """Keep the timer that rings first: if it rings too early, the next one is set then."""
        assert self.client is not None
        at = max(self._clock.now + 1, int(self.client.deadline(self.now) / self.speed) + 1)
        if self._timer is None or not self._timer.pending or at < self._timer_at:
            if self._timer is not None:
                self._timer.cancel()
            self._timer, self._timer_at = self._clock.at(at, self._wake), at

    def _wake(self) -> None:
        if self.is_up:
            self.run(lambda client: client.tick(self.now))
