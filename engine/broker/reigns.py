"""The partitions of a coordinator's topic that this broker leads, and what is written to them.

    __consumer_offsets      what groups have read             engine/coordinator/
    __transaction_state     what transactions are about       engine/coordinator/transactions/

    effects ── carry out ──> Reply    the answer of a waiting request goes out
                             Mark     the end of a transaction is told to those it wrote to
                             Append   ──> the log of __consumer_offsets-n
                               ^               │
             written: none ────┴── high watermark beyond it, or an error, or patience is over

    a leader's reign begins: its log is read from end to end, a bite at a time, and nobody in it
    is served before; it ends: all of it is let go, and nobody waits any more

What is decided is decided in engine/coordinator. This is the half of its surroundings that knows
no socket and no loop: broker/coordinating.py gives it asyncio's time, sim/groups.py the virtual
one.

Invariant: records of a partition are reported in the order in which they were appended.
Invariant: nothing that belongs to an earlier reign over a partition reaches the coordinator in a
later one.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, Protocol

from engine.config import BrokerConfig
from engine.coordinator.effects import Append, Effect, Mark, Reply
from engine.errors import ErrorCode, KafkaError
from engine.model import Event, TopicPartition
from engine.replication.replicas import Replicas
from engine.storage import control
from engine.storage.batch import NO_PRODUCER_ID, Header, scan
from engine.storage.control import ControlType
from engine.storage.records import Record, decode, encode

OFFSETS = "__consumer_offsets"
TRANSACTIONS = "__transaction_state"
ALL = -1  # acks: every replica in sync has it
START, END = 0, -1  # of a log, for who reads it from end to end
PATIENCE = 60_000  # ms for a write about a transaction: as long as most of them may take


class Shelf(NamedTuple):
    """Where a coordinator keeps what it decides, and what the broker's configuration says of it."""

    topic: str
    events: str  # how the names of its events begin
    partitions: Callable[[BrokerConfig], int]
    bite: Callable[[BrokerConfig], int]  # bytes that are read at once
    acks: Callable[[BrokerConfig], int]
    patience: Callable[[BrokerConfig], int]  # ms for a write to be replicated


GROUPS_SHELF = Shelf(
    OFFSETS,
    "group",
    partitions=lambda config: config.offsets_topic_num_partitions,
    bite=lambda config: config.offsets_load_buffer_size,
    acks=lambda config: config.offsets_commit_required_acks,
    patience=lambda config: config.offsets_commit_timeout_ms,
)
TRANSACTIONS_SHELF = Shelf(
    TRANSACTIONS,
    "transaction",
    partitions=lambda config: config.transaction_state_log_num_partitions,
    bite=lambda config: config.transaction_state_log_load_buffer_size,
    acks=lambda config: ALL,
    patience=lambda config: PATIENCE,
)


class Coordinator(Protocol):
    """What both coordinators are to their surroundings; see engine/coordinator/coordinator.py."""

    def load(self, partition: int, epoch: int) -> None: ...
    def replay(
        self, partition: int, records: Iterable[Record], now: int, producer_id: int
    ) -> None: ...
    def ended(
        self, partition: int, producer_id: int, committed: bool, now: int
    ) -> list[Effect]: ...
    def loaded(self, partition: int, now: int) -> list[Effect]: ...
    def unload(self, partition: int, now: int) -> list[Effect]: ...
    def written(self, token: int, error: ErrorCode, now: int) -> list[Effect]: ...
    def tick(self, now: int) -> list[Effect]: ...
    def due(self) -> int | None: ...


class Waiting(NamedTuple):
    """What was appended, and is not known to be replicated yet."""

    token: int
    last_offset: int
    until: float  # when patience ends


class Surroundings(NamedTuple):
    """What the one world does with asyncio, and the other with a virtual clock."""

    now: Callable[[], int]  # ms since 1970
    clock: Callable[[], float]  # ms, and never set back
    answer: Callable[[Reply], None]
    wake: Callable[[float | None], None]  # ring when the clock says so; None: there is no need
    begin: Callable[[int, int], object]  # to read a partition in a new reign: `read`, `loaded`
    emit: Callable[[Event], None]
    mark: Callable[[Mark], object] | None = None  # groups have no use for it


class Reigns:
    def __init__(
        self,
        config: BrokerConfig,
        shelf: Shelf,
        coordinator: Coordinator,
        replicas: Replicas,
        surroundings: Surroundings,
    ) -> None:
        self.config = config
        self._shelf = shelf
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
            match todo.popleft():
                case Append() as write:
                    todo.extend(self._append(write))
                case Mark() as mark:
                    assert self._around.mark is not None, "only transactions end"
                    self._around.mark(mark)
                case Reply() as answer:
                    self._around.answer(answer)
        self._around.wake(self._due())

    def ring(self) -> None:
        """The coordinator's next deadline is over, or the patience for a write."""
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
                self._at(number), _batch(write), to_all=True, client=False
            )
        except KafkaError as error:
            return self._written(token, error.code)
        if token is None:
            return []
        if self._shelf.acks(self.config) != ALL:
            return self._written(token, ErrorCode.none)
        until = self._around.clock() + self._shelf.patience(self.config)
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
        partition, reign = self._at(number), self._reigns.get(number, -1)
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
        if partition.topic != self._shelf.topic:
            return False
        first = not self._stirred
        self._stirred.add(partition.partition)
        return first

    def look(self) -> None:
        stirred, self._stirred = sorted(self._stirred), set()
        effects: list[Effect] = []
        for number in stirred:
            role = self._replicas.partitions.get(self._at(number))
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
            self.tell("unloaded", number)
        if reign is not None:
            self._reigns[number] = reign
            self._coordinator.load(number, reign)
            self._around.begin(number, reign)
        return effects

    # -- reading, in the shell's own time ----------------------------------------------------

    def lasts(self, number: int, reign: int) -> bool:
        return self._reigns.get(number) == reign

    def read(self, number: int, offset: int) -> tuple[int, int]:
        """One bite: where to go on, or END; and how many records it had."""
        bite, now = self._shelf.bite(self.config), self._around.now()
        data = self._replicas.replay(self._at(number), offset, bite)
        following, count = END, 0
        for header, records in batches(data, offset):
            following, count = header.next_offset, count + len(records)
            writer = header.producer_id if header.is_transactional else NO_PRODUCER_ID
            if not header.is_control:
                self._coordinator.replay(number, records, now, writer)
            elif (committed := _verdict(records)) is not None:
                self.carry_out(self._coordinator.ended(number, writer, committed, now))
        return following, count

    def loaded(self, number: int, records: int) -> None:
        self.carry_out(self._coordinator.loaded(number, self._around.now()))
        self.tell("loaded", number, records=records)

    def tell(self, what: str, number: int, **facts: Any) -> None:
        kind, now = f"{self._shelf.events}.{what}", self._around.now()
        self._around.emit(
            Event(kind, now, {"topic": self._shelf.topic, "partition": number, **facts})
        )

    def _at(self, number: int) -> TopicPartition:
        return TopicPartition(self._shelf.topic, number)


def _batch(write: Append) -> bytes:
    if write.writer is None:
        return encode(write.records)
    producer_id, epoch = write.writer
    return encode(write.records, producer_id=producer_id, producer_epoch=epoch, transactional=True)


def _verdict(records: list[Record]) -> bool | None:
    """Whether a control batch commits; None if it says nothing of the kind."""
    kinds = {control.decode(record).type for record in records} - {ControlType.UNKNOWN}
    return ControlType.COMMIT in kinds if kinds else None


def batches(data: bytes, offset: int = START) -> Iterator[tuple[Header, list[Record]]]:
    """Each whole batch, with its records from an offset on."""
    for position, header in scan(data):
        batch = memoryview(data)[position : position + header.size]
        yield header, [record for record in decode(batch) if record.offset >= offset]


def unpacked(data: bytes) -> list[Record]:
    """All records that are no control records."""
    return [
        record for header, records in batches(data) if not header.is_control for record in records
    ]
