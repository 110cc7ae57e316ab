"""What broker/groups.py is, on the virtual clock: the group coordinator among its members.

What decides is engine/coordinator, and what is written and awaited is in broker/reigns.py, as in
the real broker. Here a deadline is a timer of the process, and reading a log takes a while by
chance.

Left out: whoever asks first has the topic made. Here it is there, with as many partitions as
`offsets.topic.num.partitions` says.
"""

from random import Random
from typing import Any

from kio.schema.find_coordinator.v3.response import FindCoordinatorResponse

from engine.broker.handlers.outcome import NO_THROTTLE
from engine.broker.metadata import NO_BROKER, Metadata, Node
from engine.broker.reigns import END, GROUPS_SHELF, OFFSETS, START, Reigns, Surroundings
from engine.coordinator.coordinator import Coordinator
from engine.coordinator.effects import Caller
from engine.coordinator.effects import Reply as Answer
from engine.coordinator.group import Group
from engine.coordinator.groups import partition_of
from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition
from engine.replication.replicas import Replicas
from engine.sim.clock import Timer
from engine.sim.process import Process, Reply
from engine.storage.log import Emit

LOADING = 40  # ms: the longest that reading a partition takes
NEWEST = 9  # above the newest version of any request: members know every feature


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
        self._reigns = Reigns(
            replicas.config,
            GROUPS_SHELF,
            self._coordinator,
            replicas,
            Surroundings(
                now=replicas.now,
                clock=lambda: process.clock.now,
                answer=_answer,
                wake=self._wake,
                begin=self._begin,
                emit=emit,
            ),
        )
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
        self._reigns.carry_out(self._coordinator.handle(request, caller, self._replicas.now()))

    # -- in time ---------------------------------------------------------------------------

    def _wake(self, due: float | None) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        if due is not None:
            wait = max(int(due) - self._process.clock.now, 0)
            self._alarm = self._process.after(wait, self._reigns.ring)

    def _changed(self, partition: TopicPartition) -> None:
        if self._reigns.stir(partition):
            self._process.after(0, self._reigns.look)

    def _begin(self, number: int, reign: int) -> None:
        self._process.after(self._random.randint(1, LOADING), self._load, number, reign)

    def _load(self, number: int, reign: int) -> None:
        if self._reigns.lasts(number, reign):
            offset, read = START, 0
            while offset != END:
                offset, records = self._reigns.read(number, offset)
                read += records
            self._reigns.loaded(number, read)


def _answer(answer: Answer) -> None:
    to: Any = answer.to  # what is to be called with the response
    to(answer.response)
