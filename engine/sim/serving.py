"""What a broker answers: the handlers of broker/, on the virtual clock.

    from brokers   Fetch, ListOffsets, OffsetForLeaderEpoch     the handlers themselves
                   LeaderAndIsr, StopReplica, UpdateMetadata, ControlledShutdown
    from clients   Produce, Consume, Locate                     in short, without the bytes
    from members   JoinGroup, OffsetCommit, ... to the group coordinator; FindCoordinator, Metadata

What waits is the same as in the real broker: a Fetch for something to read, a Produce with acks=all
for the in-sync replicas. Both look again when something happens to their partition.
"""

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any, NamedTuple, cast

from kio.schema.fetch.v12.request import FetchRequest
from kio.schema.find_coordinator.v3.request import FindCoordinatorRequest
from kio.schema.list_offsets.v6.request import ListOffsetsRequest
from kio.schema.metadata.v11.request import MetadataRequest
from kio.schema.offset_for_leader_epoch.v4.request import OffsetForLeaderEpochRequest

from engine.broker.broker import Call
from engine.broker.handlers import fetch, offsets
from engine.broker.handlers import metadata as directory
from engine.broker.metadata import Metadata
from engine.broker.sessions import NO_SESSION, Session, Sessions
from engine.config import BrokerConfig
from engine.controller.events import ControlledShutdown
from engine.coordinator.coordinator import HANDLERS
from engine.errors import ErrorCode, KafkaError
from engine.model import Event, TopicPartition
from engine.replication.reading import ANY_EPOCH, Read, Wanted
from engine.replication.replicas import Replicas
from engine.sim.controlling import Controlling
from engine.sim.groups import Groups
from engine.sim.process import Process, Reply
from engine.storage.log import Emit
from engine.wire.errors import RequestHeader
from engine.wire.fetch import Response
from engine.wire.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    RemainingPartition,
)
from engine.wire.messages.leader_and_isr import LeaderAndIsrRequest
from engine.wire.messages.stop_replica import StopReplicaRequest
from engine.wire.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse

ALL = -1  # acks
CALL = Call(RequestHeader(1, 12, 0, "sim"), "sim")


class Produce(NamedTuple):
    partition: TopicPartition
    batch: bytes
    acks: int
    timeout: int  # ms


class Produced(NamedTuple):
    code: ErrorCode
    offset: int = -1  # of the first record


class Consume(NamedTuple):
    partition: TopicPartition
    offset: int
    leader_epoch: int = ANY_EPOCH  # as the consumer believes
    anywhere: bool = False  # also of a follower
    rack: str = ""


class Consumed(NamedTuple):
    code: ErrorCode
    read: Read | None = None


class Locate(NamedTuple):
    """Answered with the broker's own PartitionInfo, or None where it knows of none."""

    partition: TopicPartition


class Serving:
    """Also what the handlers of Fetch, ListOffsets and Metadata want to see of a broker."""

    def __init__(
        self,
        process: Process,
        replicas: Replicas,
        metadata: Metadata,
        controlling: Controlling,
        groups: Groups,
        random: Random,
        emit: Emit,
    ) -> None:
        self.config: BrokerConfig = replicas.config
        self.replicas = replicas
        self.metadata = metadata
        self.sessions = Sessions(self.config.max_incremental_fetch_session_cache_slots, random)
        self._process = process
        self._controlling = controlling
        self._emit = emit
        self._unacknowledged: dict[TopicPartition, dict[Acks, None]] = {}
        replicas.changed.append(self._changed)
        self._handlers: dict[type, Callable[[Any, Reply], object]] = {
            FetchRequest: self._fetch,
            ListOffsetsRequest: partial(self._at_once, offsets.list_offsets),
            OffsetForLeaderEpochRequest: partial(self._at_once, offsets.for_leader_epoch),
            LeaderAndIsrRequest: partial(self._obey, replicas.leader_and_isr),
            StopReplicaRequest: partial(self._obey, replicas.stop_replicas),
            UpdateMetadataRequest: partial(self._obey, self._update_metadata),
            ControlledShutdownRequest: self._hand_over,
            Produce: self._produce,
            Consume: self._consume,
            Locate: self._locate,
            MetadataRequest: partial(self._at_once, directory.handle),
            FindCoordinatorRequest: groups.find,
            **dict.fromkeys(HANDLERS, groups.ask),
        }

    def handle(self, request: Any, reply: Reply) -> None:
        self._handlers[type(request)](request, reply)

    def now(self) -> int:
        return self.replicas.now()

    def _at_once(self, handler: Callable[..., Any], request: Any, reply: Reply) -> None:
        """A handler that never waits is a coroutine that ends with its first step."""
        try:
            handler(self, CALL, request).send(None)
        except StopIteration as end:
            reply(end.value)

    # -- the controller's word -----------------------------------------------------------

    def _obey(self, order: Callable[[Any], Any], request: Any, reply: Reply) -> None:
        response = order(request)
        if response.error_code != ErrorCode.none:
            facts = {
                "request": type(request).__name__.removesuffix("Request"),
                "controller": request.controller_id,
                "controller_epoch": request.controller_epoch,
                "error": int(response.error_code),
            }
            self._emit(Event("controller.refused", self.now(), facts))
        reply(response)

    def _update_metadata(self, request: UpdateMetadataRequest) -> UpdateMetadataResponse:
        try:
            self.replicas.check_controller(request)
        except KafkaError as error:
            return UpdateMetadataResponse(error_code=error.code)
        self.metadata.update(request)
        return UpdateMetadataResponse(error_code=ErrorCode.none)

    def _hand_over(self, request: ControlledShutdownRequest, reply: Reply) -> None:
        event = ControlledShutdown(request.broker_id, request.broker_epoch)
        self._controlling.ask(event, partial(self._handed_over, reply))

    @staticmethod
    def _handed_over(reply: Reply, left: Any) -> None:
        failed = isinstance(left, KafkaError)
        reply(
            ControlledShutdownResponse(
                error_code=left.code if failed else ErrorCode.none,
                remaining_partitions=tuple(
                    RemainingPartition(topic_name=topic, partition_index=number)
                    for topic, number in ([] if failed else sorted(left))
                ),
            )
        )

    # -- fetching ------------------------------------------------------------------------

    def _fetch(self, request: FetchRequest, reply: Reply) -> None:
        try:
            session = self.sessions.begin(request, self.replicas, self.now())
        except KafkaError as error:
            reply(Response([], error.code, NO_SESSION))
            return
        reading = fetch.Reading(cast(Any, self), CALL, session, request)
        reading.look()
        while not reading.is_enough and session.due:  # its own question has moved something
            reading.look()
        if reading.is_enough:
            _send(reading, session, reply)
        else:
            Waiting(self._process, self.replicas, session, reading, reply, int(request.max_wait))

    # -- clients -------------------------------------------------------------------------

    def _produce(self, request: Produce, reply: Reply) -> None:
        replicas, partition = self.replicas, request.partition
        try:
            stored = replicas.append(partition, request.batch, to_all=request.acks == ALL)
        except KafkaError as error:
            reply(Produced(error.code))
            return
        answer = Produced(ErrorCode.none, stored.first_offset)
        if request.acks == ALL:
            reign = replicas.partitions[partition].reign
            acks = Acks(replicas, partition, stored.last_offset, reign, answer, reply)
            if not acks.look():
                self._unacknowledged.setdefault(partition, {})[acks] = None
                self._process.after(request.timeout, self._time_out, acks)
        elif request.acks:
            reply(answer)

    def _changed(self, partition: TopicPartition) -> None:
        waiting = self._unacknowledged.get(partition, {})
        for acks in [each for each in waiting if each.look()]:
            del waiting[acks]

    def _time_out(self, acks: "Acks") -> None:
        if self._unacknowledged[acks.partition].pop(acks, acks) is None:
            acks.reply(Produced(ErrorCode.request_timed_out))

    def _consume(self, request: Consume, reply: Reply) -> None:
        wanted = Wanted(request.offset, self.config.fetch_max_bytes, request.leader_epoch)
        racks = {number: node.rack for number, node in self.metadata.brokers.items()}
        try:
            read = self.replicas.read(
                request.partition,
                wanted,
                wanted.max_bytes,
                at_least_one=True,
                leads=not request.anywhere,
                rack=request.rack,
                racks=racks,
            )
        except KafkaError as error:
            reply(Consumed(error.code))
        else:
            reply(Consumed(ErrorCode.none, read))

    def _locate(self, request: Locate, reply: Reply) -> None:
        reply(self.metadata.partition(request.partition))


class Acks:
    """A Produce with acks=all, until all in-sync replicas have it."""

    def __init__(
        self,
        replicas: Replicas,
        partition: TopicPartition,
        offset: int,
        reign: int,
        answer: Produced,
        reply: Reply,
    ) -> None:
        self.partition = partition
        self.reply = reply
        self._replicas = replicas
        self._offset, self._reign, self._answer = offset, reign, answer

    def look(self) -> bool:
        """Whether it is over; then it was answered."""
        try:
            if not self._replicas.is_committed(self.partition, self._offset, self._reign):
                return False
        except KafkaError as error:
            self._answer = Produced(error.code)
        self.reply(self._answer)
        return True


class Waiting:
    """A Fetch that found too little, until there is enough or its time is up."""

    used = 0

    def __init__(
        self,
        process: Process,
        replicas: Replicas,
        session: Session,
        reading: fetch.Reading,
        reply: Reply,
        max_wait: int,
    ) -> None:
        self.replica_id = session.replica_id
        self._process = process
        self._replicas = replicas
        self._session, self._reading, self._reply = session, reading, reply
        self._partitions = list(session.partitions)
        for partition in self._partitions:
            replicas.watch(partition, self)
        self._timer = process.after(max_wait, self._end)
        self._stirred = False

    def changed(self, partition: TopicPartition) -> None:
        """Look again, but not before whoever tells us has finished."""
        if not self._stirred and self._timer.pending:
            self._stirred = True
            self._process.after(0, self._look)

    def _look(self) -> None:
        self._stirred = False
        if self._timer.pending:
            self._reading.look()
            if self._reading.is_enough:
                self._timer.cancel()
                self._end()

    def _end(self) -> None:
        for partition in self._partitions:
            self._replicas.unwatch(partition, self)
        _send(self._reading, self._session, self._reply)


def _send(reading: fetch.Reading, session: Session, reply: Reply) -> None:
    response = reading.response()
    if session.id == NO_SESSION:
        session.end()
    for topic in response.responses:
        for each in topic.partitions:
            if each.records:
                each.records = cast(Any, each.records).read()
    reply(response)
