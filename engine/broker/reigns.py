"""The partitions of __consumer_offsets that this broker leads, and what is being written to them.

    effects ── carry out ──> Reply    the answer of a waiting request goes out
                             Append   ──> the log of __consumer_offsets-n
                               ^               │
             written: none ────┴── high watermark beyond it, or an error, or patience is over

    a leader's reign begins: its log is read from end to end, a bite at a time, and no group in it
    is served before; it ends: the groups are let go, and nobody waits any more

What is decided is decided in engine/coordinator. This is the half of its surroundings that knows
no socket and no loop: broker/groups.py gives it asyncio's time, sim/groups.py the virtual one.

Invariant: records of a partition are reported in the order in which they were appended.
Invariant: nothing that belongs to an earlier reign over a partition reaches the coordinator in a
later one.
"""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from engine.config import BrokerConfig
from engine.coordinator.coordinator import Coordinator
from engine.coordinator.effects import Append, Effect, Reply
from engine.errors import ErrorCode, KafkaError
from engine.model import Event, TopicPartition
from engine.replication.replicas import Replicas
from engine.storage.batch import scan
from engine.storage.records import Record, decode, encode

OFFSETS = "__consumer_offsets"
ALL = -1  # offsets.commit.required.acks
START, END = 0, -1  # of a log, for who reads it from end to end


class Waiting(NamedTuple):
    """What was appended, and is not known to be replicated yet."""

    token: int
    last_offset: int
    until: float  # when patience ends: offsets.commit.timeout.ms


class Surroundings(NamedTuple):
    """What the one world does with asyncio, and the other with a virtual clock."""

    now: Callable[[], int]  # ms since 1970
    clock: Callable[[], float]  # ms, and never set back
    answer: Callable[[Reply], None]
    wake: Callable[[float | None], None]  # ring when the clock says so; None: there is no need
    begin: Callable[[int, int], object]  # to read a partition in a new reign: `read`, `loaded`
    emit: Callable[[Event], None]


class Reigns:
    def __init__(
        self,
        config: BrokerConfig,
        coordinator: Coordinator,
        replicas: Replicas,
        surroundings: Surroundings,
    ) -> None:
        self.config = config
        self._coordinator = coordinator
        self._replicas = replicas
        self._around = surroundings
        self._reigns: dict[int, int] = {}  # the partitions that we lead, and since which epoch
        self._waiting: dict[int, deque[Waiting]] = {}  # by partition; never empty
        self._stirred: set[int] = set()  # partitions to look at

    # -- what the coordinator wants --------------------------------------------------------

    def carry_out(self, effects: Iterable[Effect]) -> None:
        todo = deque(effects)
        while todo:
            effect = todo.popleft()
            if isinstance(effect, Append):
                todo.extend(self._append(effect))
            else:
                self._around.answer(effect)
        self._around.wake(self._due())

    def ring(self) -> None:
        """The next deadline of a group is over, or the patience for a write."""
        effects = self._coordinator.tick(self._around.now())
        for number in sorted(self._waiting):
            effects += self._settled(number)
        self.carry_out(effects)

    def _due(self) -> float | None:
        times, due = [each[0].until for each in self._waiting.values()], self._coordinator.due()
        if due is not None:
            times.append(self._around.clock() + due - self._around.now())
        return min(times, default=None)

    def _append(self, write: Append) -> list[Effect]:
        """Returns what follows at once: without replicas to wait for, or without success."""
        number, token = write.partition, write.token
        try:
            stored = self._replicas.append(
                TopicPartition(OFFSETS, number), encode(write.records), to_all=True
            )
        except KafkaError as error:
            return self._written(token, error.code)
        if token is None:
            return []
        if self.config.offsets_commit_required_acks != ALL:
            return self._written(token, ErrorCode.none)
        until = self._around.clock() + self.config.offsets_commit_timeout_ms
        waiting = self._waiting.setdefault(number, deque())
        waiting.append(Waiting(token, stored.last_offset, until))
        return self._settled(number)

    def _written(self, token: int | None, code: ErrorCode) -> list[Effect]:
        now = self._around.now()
        return [] if token is None else self._coordinator.written(token, code, now)

    def _settled(self, number: int) -> list[Effect]:
        """What follows for the oldest writes to a partition, as far as it is known by now."""
        effects: list[Effect] = []
        waiting = self._waiting.get(number)
        while waiting and (code := self._outcome(number, waiting[0])) is not None:
            effects += self._written(waiting.popleft().token, code)
        if not waiting:
            self._waiting.pop(number, None)
        return effects

    def _outcome(self, number: int, write: Waiting) -> ErrorCode | None:
        partition, reign = TopicPartition(OFFSETS, number), self._reigns.get(number, -1)
        try:
            if self._replicas.is_committed(partition, write.last_offset, reign):
                return ErrorCode.none
        except KafkaError as error:
            return error.code
        late = self._around.clock() >= write.until
        return ErrorCode.request_timed_out if late else None

    # -- who leads what --------------------------------------------------------------------

    def stir(self, partition: TopicPartition) -> bool:
        """Its role or its high watermark has changed. Whether it is time to plan a `look`: not at
        once, since whoever tells us may be appending this moment."""
        if partition.topic != OFFSETS:
            return False
        first = not self._stirred
        self._stirred.add(partition.partition)
        return first

    def look(self) -> None:
        stirred, self._stirred = sorted(self._stirred), set()
        effects: list[Effect] = []
        for number in stirred:
            role = self._replicas.partitions.get(TopicPartition(OFFSETS, number))
            reign = role.reign if role is not None and role.is_leader else None
            if reign != self._reigns.get(number):
                effects += self._succeed(number, reign)
            effects += self._settled(number)
        self.carry_out(effects)

    def _succeed(self, number: int, reign: int | None) -> list[Effect]:
        """A reign is over, or begins, or both."""
        effects: list[Effect] = []
        if self._reigns.pop(number, None) is not None:
            self._waiting.pop(number, None)
            effects = self._coordinator.unload(number, self._around.now())
            self.tell("group.unloaded", number)
        if reign is not None:
            self._reigns[number] = reign
            self._coordinator.load(number)
            self._around.begin(number, reign)
        return effects

    # -- reading, in the shell's own time ----------------------------------------------------

    def lasts(self, number: int, reign: int) -> bool:
        return self._reigns.get(number) == reign

    def read(self, number: int, offset: int) -> tuple[int, int]:
        """One bite: where to go on, or END; and how many records it had."""
        partition = TopicPartition(OFFSETS, number)
        data = self._replicas.replay(partition, offset, self.config.offsets_load_buffer_size)
        following, records = unpacked(data, offset)
        self._coordinator.replay(number, records, self._around.now())
        return following, len(records)

    def loaded(self, number: int, records: int) -> None:
        self.carry_out(self._coordinator.loaded(number, self._around.now()))
        self.tell("group.loaded", number, records=records)

    def tell(self, kind: str, number: int, **facts: Any) -> None:
        now = self._around.now()
        self._around.emit(Event(kind, now, {"topic": OFFSETS, "partition": number, **facts}))


def unpacked(data: bytes, offset: int = START) -> tuple[int, list[Record]]:
    """The records in whole batches from an offset on, and where to go on."""
    following, records = END, []
    for position, header in scan(data):
        following = header.next_offset
        if not header.is_control:
            batch = memoryview(data)[position : position + header.size]
            records += [record for record in decode(batch) if record.offset >= offset]
    return following, records
