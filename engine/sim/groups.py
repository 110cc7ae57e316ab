"""What broker/groups.py is, on the virtual clock: the group coordinator's hands.

    a member's request ──> ask ──┐
    the deadline that is due ────┼──> effects:  Reply    goes out
    replicated, or not ──────────┘              Append   to the log of __consumer_offsets-n

What decides is engine/coordinator, as in the real broker. It reads a partition from end to end
when its broker becomes the leader, and is told of each write when the in-sync replicas have it.

Invariant: nothing that belongs to an earlier reign over a partition reaches the coordinator in a
later one.

Left out: whoever asks first has the topic made. Here it is there, with as many partitions as
`offsets.topic.num.partitions` says.
"""

from collections import defaultdict, deque
from collections.abc import Iterable
from random import Random
from typing import Any, NamedTuple

from kio.schema.find_coordinator.v3.response import FindCoordinatorResponse

from engine.broker.groups import ALL, OFFSETS
from engine.broker.handlers.outcome import NO_THROTTLE
from engine.broker.metadata import NO_BROKER, Metadata, Node
from engine.coordinator.coordinator import Coordinator
from engine.coordinator.effects import Append, Caller, Effect
from engine.coordinator.group import Group
from engine.coordinator.groups import partition_of
from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition
from engine.replication.replicas import Replicas
from engine.sim.clock import Timer
from engine.sim.process import Process, Reply
from engine.storage import records
from engine.storage.batch import scan
from engine.storage.log import Emit
from engine.storage.records import Record

LOADING = 40  # ms: the longest that reading a partition takes
NEWEST = 9  # above the newest version of any request: members know every feature


class Waiting(NamedTuple):
    """What was appended, and is not known to be replicated yet."""

    token: int
    last_offset: int
    until: int  # when patience ends: offsets.commit.timeout.ms


class Groups:
    def __init__(
        self,
        process: Process,
        replicas: Replicas,
        metadata: Metadata,
        random: Random,
        emit: Emit,
        kind: type[Coordinator] = Coordinator,
    ) -> None:
        self._process = process
        self._replicas = replicas
        self._metadata = metadata
        self._random = random
        self._coordinator = kind(
            replicas.config,
            lambda: f"{random.getrandbits(32):08x}",
            lambda partition: metadata.partition(partition) is not None,
            emit,
        )
        self._reigns: dict[int, int] = {}  # the partitions that we lead, and since which epoch
        self._waiting: defaultdict[int, deque[Waiting]] = defaultdict(deque)  # by partition
        self._stirred: set[int] = set()  # partitions to look at when others have finished
        self._alarm: Timer | None = None
        replicas.changed.append(self._changed)

    def group(self, group_id: str) -> Group | None:
        """As this broker knows it; None if it knows of none, or is no coordinator of it."""
        try:
            return self._coordinator.groups.find(group_id)
        except KafkaError:
            return None

    # -- what members ask ------------------------------------------------------------------

    def find(self, request: Any, reply: Reply) -> None:
        """Who coordinates a group? The leader of its partition, as this broker has heard."""
        count = self._replicas.config.offsets_topic_num_partitions
        info = self._metadata.partition(TopicPartition(OFFSETS, partition_of(request.key, count)))
        found = self._metadata.node(info.leader) if info else None
        node = found or Node(NO_BROKER, "", -1)
        reply(
            FindCoordinatorResponse(
                throttle_time=NO_THROTTLE,
                error_code=ErrorCode.none if found else ErrorCode.coordinator_not_available,
                error_message=None,
                node_id=node.id,
                host=node.host,
                port=node.port,
            )
        )

    def ask(self, request: Any, reply: Reply) -> None:
        caller = Caller(reply, NEWEST, "member", "/sim")
        self._carry_out(self._coordinator.handle(request, caller, self._replicas.now()))

    # -- what the coordinator wants --------------------------------------------------------

    def _carry_out(self, effects: Iterable[Effect]) -> None:
        todo = deque(effects)
        while todo:
            effect = todo.popleft()
            if isinstance(effect, Append):
                todo.extend(self._append(effect))
            else:
                reply: Any = effect.to
                reply(effect.response)
        self._wake_in_time()

    def _append(self, write: Append) -> list[Effect]:
        """Returns what follows at once."""
        number, token, config = write.partition, write.token, self._replicas.config
        try:
            stored = self._replicas.append(
                TopicPartition(OFFSETS, number), records.encode(write.records), to_all=True
            )
        except KafkaError as error:
            return self._written(token, error.code)
        if token is None:
            return []
        if config.offsets_commit_required_acks != ALL:
            return self._written(token, ErrorCode.none)
        until = self._process.clock.now + config.offsets_commit_timeout_ms
        self._waiting[number].append(Waiting(token, stored.last_offset, until))
        return self._settled(number)

    def _written(self, token: int | None, code: ErrorCode) -> list[Effect]:
        now = self._replicas.now()
        return [] if token is None else self._coordinator.written(token, code, now)

    def _settled(self, number: int) -> list[Effect]:
        """What follows for the oldest writes to a partition, as far as it is known by now."""
        effects: list[Effect] = []
        waiting = self._waiting[number]
        while waiting and (code := self._outcome(number, waiting[0])) is not None:
            effects += self._written(waiting.popleft().token, code)
        return effects

    def _outcome(self, number: int, write: Waiting) -> ErrorCode | None:
        partition, reign = TopicPartition(OFFSETS, number), self._reigns.get(number, -1)
        try:
            if self._replicas.is_committed(partition, write.last_offset, reign):
                return ErrorCode.none
        except KafkaError as error:
            return error.code
        late = self._process.clock.now >= write.until
        return ErrorCode.request_timed_out if late else None

    def _wake_in_time(self) -> None:
        now, due = self._process.clock.now, self._coordinator.due()
        times = [each[0].until for each in self._waiting.values() if each]
        if due is not None:
            times.append(now + due - self._replicas.now())
        if self._alarm is not None:
            self._alarm.cancel()
        if times:
            self._alarm = self._process.after(max(min(times) - now, 0), self._ring)

    def _ring(self) -> None:
        effects = self._coordinator.tick(self._replicas.now())
        for number in self._waiting:
            effects += self._settled(number)
        self._carry_out(effects)

    # -- partitions of __consumer_offsets --------------------------------------------------

    def _changed(self, partition: TopicPartition) -> None:
        """Its role, its high watermark: looked at when whoever tells us has finished."""
        if partition.topic == OFFSETS:
            if not self._stirred:
                self._process.after(0, self._look)
            self._stirred.add(partition.partition)

    def _look(self) -> None:
        stirred, self._stirred = sorted(self._stirred), set()
        effects: list[Effect] = []
        for number in stirred:
            role = self._replicas.partitions.get(TopicPartition(OFFSETS, number))
            reign = role.reign if role is not None and role.is_leader else None
            if reign != self._reigns.get(number):
                effects += self._succeed(number, reign)
            effects += self._settled(number)
        self._carry_out(effects)

    def _succeed(self, number: int, reign: int | None) -> list[Effect]:
        """A reign is over, or begins, or both."""
        effects: list[Effect] = []
        if self._reigns.pop(number, None) is not None:
            self._waiting[number].clear()
            effects = self._coordinator.unload(number, self._replicas.now())
        if reign is not None:
            self._reigns[number] = reign
            self._coordinator.load(number)
            self._process.after(self._random.randint(1, LOADING), self._load, number, reign)
        return effects

    def _load(self, number: int, reign: int) -> None:
        if self._reigns.get(number) != reign:
            return
        now, most = self._replicas.now(), self._replicas.config.offsets_load_buffer_size
        data = self._replicas.replay(TopicPartition(OFFSETS, number), 0, most)
        self._coordinator.replay(number, unpacked(data), now)
        self._carry_out(self._coordinator.loaded(number, now))


def unpacked(data: bytes) -> list[Record]:
    """The records in whole batches."""
    return [
        record
        for position, header in scan(data)
        for record in records.decode(data[position : position + header.size])
    ]
