"""The states of a replica in the controller, and the requests to its broker.

    NON_EXISTENT ──> NEW ──> ONLINE <──> OFFLINE ──> STARTED ──> SUCCESSFUL ──> NON_EXISTENT
                                            ^           │
                                            └─ INELIGIBLE <┘   broker down, or it failed

    to NEW, ONLINE       LeaderAndIsr: lead or follow
    to OFFLINE           StopReplica, keep the log; leave the ISR, and LeaderAndIsr to the others
    to STARTED           StopReplica, delete the log
    the rest             no request: they are the progress of a deletion

Invariant: an ISR is never empty. Its last member stays in it, dead or alive: only that replica is
sure to have every committed record.
Invariant: a change that is not in the table is not made, and no request is sent for it.
"""

from collections import defaultdict
from collections.abc import Iterable
from enum import Enum

from engine.controller.context import Context, PartitionAndReplica
from engine.controller.metadata_store import MetadataStore
from engine.controller.requests import ControllerRequestBatch
from engine.model import NO_BROKER, TopicPartition
from engine.zookeeper.requests import Work
from engine.zookeeper.znodes import LeaderAndIsr


class ControllerReplicaState(Enum):
    NON_EXISTENT = "non-existent"
    NEW = "new"
    ONLINE = "online"
    OFFLINE = "offline"
    STARTED = "deletion started"
    SUCCESSFUL = "deletion successful"
    INELIGIBLE = "deletion ineligible"


NON_EXISTENT, NEW, ONLINE, OFFLINE, STARTED, SUCCESSFUL, INELIGIBLE = ControllerReplicaState
_LIVING = frozenset({NEW, ONLINE, OFFLINE, INELIGIBLE})

# For each state, the states before it.
BEFORE: dict[ControllerReplicaState, frozenset[ControllerReplicaState]] = {
    NEW: frozenset({NON_EXISTENT}),
    ONLINE: _LIVING,
    OFFLINE: _LIVING,
    STARTED: frozenset({OFFLINE}),
    SUCCESSFUL: frozenset({STARTED}),
    INELIGIBLE: frozenset({OFFLINE, STARTED}),
    NON_EXISTENT: frozenset({SUCCESSFUL}),
}


class ReplicaStateMachine:
    def __init__(
        self, context: Context, store: MetadataStore, batch: ControllerRequestBatch
    ) -> None:
        self._context, self._store, self._batch = context, store, batch
        self.states: dict[PartitionAndReplica, ControllerReplicaState] = {}

    def state(self, replica: PartitionAndReplica) -> ControllerReplicaState:
        return self.states.get(replica, NON_EXISTENT)

    def forget(self, replicas: Iterable[PartitionAndReplica]) -> None:
        for replica in replicas:
            self.states.pop(replica, None)

    def start(self) -> Work[None]:
        """Send all live replicas their roles, whatever an earlier controller has sent."""
        replicas = self._context.replicas_of(self._context.assignments)
        online = [each for each in replicas if self._context.online(each.broker, each.partition)]
        self.states = dict.fromkeys(replicas, INELIGIBLE) | dict.fromkeys(online, ONLINE)
        yield from self.move(online, ONLINE)
        gone = [each for each in replicas if self.states[each] is INELIGIBLE]
        yield from self.move(gone, OFFLINE)

    def move(
        self, replicas: Iterable[PartitionAndReplica], to: ControllerReplicaState
    ) -> Work[None]:
        legal = [each for each in replicas if self.state(each) in BEFORE[to]]
        match to:
            case ControllerReplicaState.NEW | ControllerReplicaState.ONLINE:
                self._give_roles(legal, to)
            case ControllerReplicaState.OFFLINE:
                yield from self._take_offline(legal)
            case ControllerReplicaState.STARTED:
                for partition, broker in legal:
                    self._batch.stop_replica(broker, partition, delete=True)
        if to is NON_EXISTENT:
            self.forget(legal)
        elif to is not OFFLINE:
            self.states.update(dict.fromkeys(legal, to))
        self._batch.send()

    def _give_roles(self, replicas: list[PartitionAndReplica], to: ControllerReplicaState) -> None:
        for replica in replicas:
            is_new = self.state(replica) is NEW  # it has its role already
            if not is_new and replica.partition in self._context.leadership:
                self._batch.leader_and_isr([replica.broker], replica.partition, new=to is NEW)

    # -- out of the ISR ------------------------------------------------------------------

    def _take_offline(self, replicas: list[PartitionAndReplica]) -> Work[None]:
        leaving: dict[TopicPartition, set[int]] = defaultdict(set)
        for partition, broker in replicas:
            self._batch.stop_replica(broker, partition, delete=False)
            leaving[partition].add(broker)

        def leave(partition: TopicPartition, state: LeaderAndIsr) -> LeaderAndIsr | None:
            gone = leaving[partition]
            isr = tuple(each for each in state.isr if each not in gone) or state.isr[-1:]
            leader = NO_BROKER if state.leader in gone else state.leader
            if (leader, isr) == (state.leader, state.isr):
                return None
            return self._store.bump(state, leader=leader, isr=isr)

        left = yield from self._store.rewrite(leaving, leave)
        kept = [each for each in leaving if not self._context.deleted(each)]
        for partition in (each for each in kept if each in left):
            stay = set(self._context.replicas(partition)) - leaving[partition]
            self._batch.leader_and_isr(sorted(stay), partition)
        self._batch.update_metadata(self._context.brokers if kept else (), kept)
        self.states.update(dict.fromkeys(replicas, OFFLINE))
