"""Transactions in a simulated cluster: producers start, pause, are killed and fence each other.

    machine    writer-1   writer-2   writer-3      on each a producer with one of two ids, or none

Two producers may have the same transactional id at the same time: the one that began later fences
the other. One may wait for ever: for a broker that does not hear that it is no coordinator any more
(docs/reliability.md, "A leader without followers"). Readers with isolation.level=read_committed
read what they write.
"""

from collections.abc import Callable, Sequence
from random import Random

from engine.broker.coordinator_topic import OFFSETS, TRANSACTIONS
from engine.model import TopicPartition
from engine.sim.world import World
from proof.storms.transactions.writer import TransactionalWriter, WrittenTransaction
from proof.storms.workload import TIMEOUT, Reader

WRITERS = ("writer-1", "writer-2", "writer-3")
READER = "committed-reader"
TRANSACTIONAL_CLIENTS = (*WRITERS, READER)
IDS = ("copier", "mover")
TOPIC = "copies"
PARTITIONS = [TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)]
TRANSACTION_STATE = TopicPartition(TRANSACTIONS, 0)
OFFSETS_OF_GROUPS = TopicPartition(OFFSETS, 0)
TROUBLES = (0.03, 0.08, 0.15)  # the probability of a fault of a writer in a turn
PATIENCE = 30_000  # ms: a producer that waits for longer in the calm is closed
RELIEFS = (0.1, 0.3, 0.6)  # and of its end; each run picks one of each


class TransactionWorkload:
    """Without machines there are no transactions in this run."""

    def __init__(
        self, world: World, source: TopicPartition, machines: Sequence[str], chance: Random
    ) -> None:
        self.machines = machines
        self.transactions: list[WrittenTransaction] = []  # in the order of their beginning
        self.readers: list[Reader] = []
        self.everyone: list[TransactionalWriter] = []  # that ever ran, in the order of their start
        self._writers: dict[str, TransactionalWriter] = {}  # by machine
        self._world, self._source = world, source
        self._chance = chance
        if machines:
            self.trouble, self.relief = chance.choice(TROUBLES), chance.choice(RELIEFS)
            reader = world.add_client(READER, timeout=TIMEOUT)
            self.readers = [Reader(reader, each, committed=True) for each in PARTITIONS]
        self._faults: tuple[Callable[[str], None], ...] = (self._kill, self._pause, self._pause)

    @property
    def partitions(self) -> list[TopicPartition]:
        return [*PARTITIONS, TRANSACTION_STATE, OFFSETS_OF_GROUPS] if self.machines else []

    @property
    def is_idle(self) -> bool:
        return all(each.is_idle or each.is_over for each in self._writers.values())

    def turn(self, *, is_calm: bool = False) -> None:
        """In the calm at the end no transaction begins, and the last ones end."""
        chance = self._chance
        for reader in self.readers:
            reader.poll()
        for machine in self.machines if self.readers else ():
            if machine == READER:
                continue
            writer = self._writers.get(machine)
            if writer is None:
                if not is_calm and chance.random() < self.relief:
                    self._start(machine)
                continue
            if writer.process.paused:
                if is_calm or chance.random() < self.relief:
                    writer.process.resume()
            elif not is_calm and chance.random() < self.trouble:
                chance.choice(self._faults)(machine)
            elif writer.is_over or (is_calm and writer.waited > PATIENCE):
                self._kill(machine)
            else:
                writer.turn(begins=not is_calm)

    def _start(self, machine: str) -> None:
        client = self._world.add_client(machine, timeout=TIMEOUT)
        id = self._chance.choice(IDS)
        self._world.note("writer.started", machine=machine, transactional_id=id)
        writer = TransactionalWriter(
            client, id, PARTITIONS, self._source, self.transactions, self._chance
        )
        self._writers[machine] = writer
        self.everyone.append(writer)

    def _kill(self, machine: str) -> None:
        writer = self._writers.pop(machine)
        kind = "writer.fenced" if writer.is_over else "writer.killed"
        self._world.note(kind, machine=machine, transactional_id=writer.id)
        writer.process.kill()

    def _pause(self, machine: str) -> None:
        writer = self._writers[machine]
        self._world.note("writer.paused", machine=machine, transactional_id=writer.id)
        writer.process.pause()
