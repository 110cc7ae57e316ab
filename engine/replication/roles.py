"""What this broker's replicas are told to be, and what they do then.

    controller ── LeaderAndIsr, StopReplica ──> roles ── Proposal ──> ZooKeeper
                                                  └──── Fetcher ───> the leaders that we follow

What is to be done elsewhere is data: the shell takes `proposals` and `fetchers`, carries them out,
and is called by `stirred` when there may be new ones.

Invariant: no order counts that was given by a controller, or for a life of this broker, that is
over (`check_controller`), nor one of an older epoch of the partition.
"""

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from engine.config import BrokerConfig
from engine.errors import ErrorCode, KafkaError
from engine.model import Event, TopicPartition
from engine.replication.fetcher import Fetcher, Policy
from engine.replication.following import Following, Host
from engine.replication.hosting import Hosting
from engine.replication.logs import Log
from engine.replication.partition import Isr, Partition, Proposal
from engine.replication.throttle import Throttle
from engine.storage.log import Emit
from engine.wire.messages.leader_and_isr import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
)
from engine.wire.messages.stop_replica import (
    EPOCH_DURING_DELETE,
    StopReplicaPartitionError,
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaResponse,
)

NO_EPOCH = -1  # of a controller, a broker or an order: older than any
NO_BROKER = -1


def _nothing(event: Event) -> None:
    """Nobody is told."""


class Roles(Hosting):
    def __init__(
        self,
        config: BrokerConfig,
        homes: Sequence[Any],
        clock: Callable[[], int],
        emit: Emit = _nothing,
        duration: Callable[[int], Any] = int,  # milliseconds -> what a request has for them
    ) -> None:
        super().__init__(config, homes, clock, emit)
        self.controller_epoch = NO_EPOCH
        self.broker_epoch = NO_EPOCH  # of our registration; the shell sets it
        self.fetchers: dict[int, Fetcher] = {}  # by leader
        self.proposals: list[Proposal] = []
        self.truncated: list[Callable[[Log], None]] = []  # called when the end of a log was cut
        self.stirred: list[Callable[[], None]] = []  # called when `proposals`, `fetchers` changed
        self._sent, fetched = Throttle(), Throttle()
        self._policy = Policy(self.broker_id, lambda: self.config, fetched, duration)
        self._host = Host(self._cut, lambda role: self._tell(role.id))

    # -- the controller's word -----------------------------------------------------------

    def check_controller(self, request: Any) -> None:
        """Refuse a controller that is not the newest, and a word for an earlier life of ours."""
        if NO_EPOCH < request.broker_epoch < self.broker_epoch:
            raise KafkaError(
                ErrorCode.stale_broker_epoch,
                f"meant for broker epoch {request.broker_epoch}, this is {self.broker_epoch}",
            )
        if request.controller_epoch < self.controller_epoch:
            raise KafkaError(
                ErrorCode.stale_controller_epoch,
                f"controller epoch {request.controller_epoch}, "
                f"but {self.controller_epoch} was heard",
            )
        self.controller_epoch = request.controller_epoch

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> LeaderAndIsrResponse:
        code = self._code(self.check_controller, request)
        topics, flat = [], []
        for topic in request.topic_states:
            errors = []
            for state in topic.partition_states:
                partition = TopicPartition(topic.topic_name, state.partition_index)
                error = code or self._code(self._assume, partition, state, topic.topic_id)
                errors.append(
                    LeaderAndIsrPartitionError(
                        topic_name=topic.topic_name,
                        partition_index=state.partition_index,
                        error_code=error,
                    )
                )
            flat += errors
            topics.append(
                LeaderAndIsrTopicError(topic_id=topic.topic_id, partition_errors=tuple(errors))
            )
        self._hang_up()
        return LeaderAndIsrResponse(
            error_code=code, topics=tuple(topics), partition_errors=tuple(flat)
        )

    def _assume(
        self, partition: TopicPartition, state: LeaderAndIsrPartitionState, topic_id: UUID | None
    ) -> None:
        """Become what the controller says, if that is news."""
        role, home = self.partitions.get(partition), self._home.get(partition)
        if home is not None and home.offline is not None:
            raise KafkaError(ErrorCode.kafka_storage_error, home.offline)
        if role is not None and state.leader_epoch <= role.leader_epoch:
            raise KafkaError(
                ErrorCode.stale_controller_epoch,
                f"{partition} is in leader epoch {role.leader_epoch}, not {state.leader_epoch}",
            )
        if self.broker_id not in state.replicas:
            raise KafkaError(
                ErrorCode.unknown_topic_or_partition, f"{partition} is none of our replicas"
            )
        role, log = self._create(partition, topic_id)
        if state.leader == self.broker_id:
            self._lead(role, log, state)
        else:
            self._follow(role, log, state)
        self.emit(
            "replica.role",
            role,
            role=role.role.value,
            leader=role.leader,
            leader_epoch=role.leader_epoch,
        )
        self._tell(partition)

    def _lead(self, role: Partition, log: Log, state: LeaderAndIsrPartitionState) -> None:
        self._stop_fetching(role)
        # A follower may ask where this epoch began, even if nothing is ever written in it. Not so
        # in the first one of all: nobody can have older records, and a new topic is there sooner.
        if state.leader_epoch > 0 or log.end_offset > 0:
            with self._home[role.id].guard(self.now()):
                log.epochs.assign(state.leader_epoch, log.end_offset)
        role.lead(state, log.end_offset, self.now())

    def _follow(self, role: Partition, log: Log, state: LeaderAndIsrPartitionState) -> None:
        self._stop_fetching(role)
        role.follow(state)
        if role.leader == NO_BROKER:
            return
        if role.leader not in self.fetchers:
            self.fetchers[role.leader] = Fetcher(role.leader, self._policy)
        following = Following(role, log, self._home[role.id], self._host)
        self.fetchers[role.leader].follow(role.id, following)

    def stop_replicas(self, request: StopReplicaRequest) -> StopReplicaResponse:
        code = self._code(self.check_controller, request)
        errors = []
        for topic in request.topic_states:
            for state in topic.partition_states:
                partition = TopicPartition(topic.topic_name, state.partition_index)
                errors.append(
                    StopReplicaPartitionError(
                        topic_name=topic.topic_name,
                        partition_index=state.partition_index,
                        error_code=code or self._code(self._stop, partition, state),
                    )
                )
        self._hang_up()
        return StopReplicaResponse(error_code=code, partition_errors=tuple(errors))

    def _stop(self, partition: TopicPartition, state: StopReplicaPartitionState) -> None:
        role, home = self.partitions.get(partition), self._home.get(partition)
        if home is not None and home.offline is not None:
            raise KafkaError(ErrorCode.kafka_storage_error, home.offline)
        if role is not None:
            always = state.leader_epoch in (EPOCH_DURING_DELETE, NO_EPOCH)
            if not always and state.leader_epoch <= role.leader_epoch:
                raise KafkaError(
                    ErrorCode.fenced_leader_epoch,
                    f"{partition} is in leader epoch {role.leader_epoch}, not {state.leader_epoch}",
                )
            self._stop_fetching(role)
            role.stop()
        if state.delete_partition:
            self.delete(partition)
        self._tell(partition)

    def _stop_fetching(self, role: Partition) -> None:
        if role.leader in self.fetchers:
            self.fetchers[role.leader].leave(role.id)

    def _hang_up(self) -> None:
        """After orders: whom we follow no more needs no fetcher, and the shell has to know."""
        for leader in [each for each, fetcher in self.fetchers.items() if not fetcher.following]:
            del self.fetchers[leader]
        self._stir()

    def _stir(self) -> None:
        for tell in self.stirred:
            tell()

    def _cut(self, log: Log) -> None:
        for tell in self.truncated:
            tell(log)

    @staticmethod
    def _code(step: Callable[..., None], *args: Any) -> ErrorCode:
        try:
            step(*args)
        except KafkaError as error:
            return error.code
        return ErrorCode.none

    # -- in sync or not ------------------------------------------------------------------

    def tick(self) -> None:
        """Every half of `replica.lag.time.max.ms`: who has fallen behind?"""
        for role in self.partitions.values():
            if role.is_leader and self._home[role.id].offline is None:
                self._propose(role.shrink(self.now()))

    def _propose(self, proposal: Proposal | None) -> None:
        if proposal is not None:
            self.proposals.append(proposal)
            self._stir()

    def isr_answered(self, proposal: Proposal, version: int | None) -> None:
        """ZooKeeper has it now in this version; None: somebody else has written there."""
        role, now = self.partitions.get(proposal.partition), self.now()
        if role is None or role.isr_state is not Isr.PROPOSED or role.proposal != proposal:
            return  # the controller has spoken meanwhile
        if version is None:
            role.refused()
            self.emit("isr.refused", role, isr=proposal.isr, leader_epoch=role.leader_epoch)
            return
        was = role.isr
        role.written(version)
        self.emit(
            "isr.changed",
            role,
            isr=role.isr,
            was=was,
            version=version,
            leader_epoch=role.leader_epoch,
        )
        self._propose(role.expand_next(now))
        role.advance(now)
        self._tell(role.id)
