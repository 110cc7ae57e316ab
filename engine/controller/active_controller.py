"""The active controller: its first steps, and the part that handles each event.

    taking over    1  watch everything, delete the notes of earlier changes
                   2  read: brokers, topics, states, deletions
                   3  send every broker the live brokers and the leaders so far
                   4  replicas get their roles, partitions their leaders
                   5  continue the moves, deletions and elections of an earlier controller

    afterwards     one event after the other, each from beginning to end

Invariant: after a change, a path is read and watched again in one step, before any decision. So no
change is missed, and a notification of a known change does no harm.
"""

import re
from collections.abc import Callable
from typing import Any
from uuid import UUID

from engine.config import BrokerConfig
from engine.controller import events
from engine.controller.brokers import Brokers
from engine.controller.context import Context, Leadership, PartitionAndReplica
from engine.controller.deletion import Deletion
from engine.controller.election import Elect, elect
from engine.controller.isr_changes import IsrChanges
from engine.controller.leaders import Leaders
from engine.controller.metadata_store import MetadataStore
from engine.controller.partition_state_machine import PartitionStateMachine
from engine.controller.reassignment import Reassignment
from engine.controller.replica_state_machine import ReplicaStateMachine
from engine.controller.requests import ControllerRequestBatch
from engine.controller.topic_changes import TopicChanges
from engine.errors import ErrorCode
from engine.model import TopicPartition
from engine.wire.messages.leader_and_isr import LeaderAndIsrRequest
from engine.wire.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from engine.zookeeper import znodes
from engine.zookeeper.requests import Changed, Children, Work

_CHILD = re.compile(
    f"{znodes.BROKER_IDS}/(?P<broker>[0-9]+)"
    f"|{znodes.TOPICS}/(?P<topic>[^/]+)(/partitions/(?P<number>[0-9]+)/state)?"
)


class ActiveController:
    """The work of the broker that is the controller, in one epoch."""

    def __init__(
        self,
        context: Context,
        store: MetadataStore,
        batch: ControllerRequestBatch,
        config: Callable[[], BrokerConfig],
        emit: Callable[..., None],  # an event: its kind, then the facts by name
        new_uuid: Callable[[], UUID],
        elect: Elect = elect,
    ) -> None:
        self.context, self._store, self._batch = context, store, batch
        shared = context, store, batch
        self.partitions = PartitionStateMachine(*shared, config, emit, elect)
        self.replicas = ReplicaStateMachine(*shared)
        machines = *shared, self.partitions, self.replicas
        self.deletion = Deletion(*machines, config(), emit)
        self._reassignment = Reassignment(*machines, self.deletion, emit)
        self._leaders, self._isr_changes = Leaders(*machines, config()), IsrChanges(*shared)
        self._topic_changes = TopicChanges(*machines, self._reassignment, config(), emit, new_uuid)
        self._brokers = Brokers(*machines, self.deletion, emit)
        self._watched: dict[str, Callable[[], Work[None]]] = {
            znodes.BROKER_IDS: self._brokers.process_change,
            znodes.TOPICS: self._topic_changes.process_change,
            znodes.DELETE_TOPICS: self._process_deletions,
            znodes.ISR_CHANGES: self._topic_changes.process_isr_notifications,
            znodes.LOG_DIR_EVENTS: self._brokers.process_log_dir_events,
            znodes.REASSIGN_PARTITIONS: self._reassignment.process_requests,
            znodes.PREFERRED_ELECTION: self._leaders.process_requests,
        }

    @property
    def epoch(self) -> int:
        return self._store.epoch

    def take_over(self) -> Work[None]:
        context, batch = self.context, self._batch
        for path in (znodes.LOG_DIR_EVENTS, znodes.ISR_CHANGES):
            names = (yield [Children(path, watch=True)])[0] or ()
            yield from self._store.delete(f"{path}/{name}" for name in sorted(names))
        context.brokers = yield from self._brokers.read()
        yield from self._topic_changes.read()
        yield from self._store.read_states(list(context.assignments))
        yield from self.deletion.process_requests()
        batch.update_metadata(context.brokers, (partition for partition, _ in context.led()))
        batch.send()
        yield from self.replicas.start()
        yield from self.partitions.start()
        yield from self._reassignment.process_requests()
        yield from self._reassignment.resume()
        yield from self.deletion.proceed()
        yield from self._leaders.process_requests()

    def handle(self, event: events.ControllerEvent) -> Work[Any]:
        match event:
            case Changed(path):
                yield from self._changed(path)
            case events.Answered():
                yield from self._answered(event)
            case events.Rebalance():
                yield from self._leaders.rebalance()
            case events.UncleanAllowed(topic):
                yield from self.partitions.retry(topic)
            case events.ControlledShutdown(broker, broker_epoch):
                return (yield from self._leaders.shut_down(broker, broker_epoch))
            case events.AlterIsr():
                return (yield from self._isr_changes.alter(event))
            case events.ElectLeaders(partitions, unclean):
                return (yield from self._leaders.elect(partitions, unclean))
            case events.AlterReassignments(moves):
                return (yield from self._reassignment.alter(moves))
            case events.ListReassignments(partitions):
                return self._reassignment.under_way(partitions)

    def _changed(self, path: str) -> Work[None]:
        if path in self._watched:
            yield from self._watched[path]()
        elif found := _CHILD.fullmatch(path):
            if found["broker"]:
                yield from self._brokers.process_broker(int(found["broker"]))
            elif found["number"]:
                partition = TopicPartition(found["topic"], int(found["number"]))
                unreadable = path in self._store.decoder.faults
                yield from self._reassignment.isr_changed([partition])
                if unreadable and not self.context.deleted(partition):
                    yield from self.partitions.bring_online([partition])  # in a new epoch
            else:
                unreadable = path in self._store.decoder.faults
                yield from self._topic_changes.process_partitions(found["topic"])
                if unreadable:
                    yield from self._process_deletions()

    def _process_deletions(self) -> Work[None]:
        yield from self.deletion.process_requests()
        yield from self.deletion.proceed()

    # -- answers of the brokers ----------------------------------------------------------

    def _answered(self, event: events.Answered) -> Work[None]:
        """Ignore answers from an earlier session of the broker, and to an earlier controller."""
        broker, epoch, request, response = event
        alive = self.context.brokers.get(broker)
        if alive is None or alive.epoch != epoch or request.controller_epoch != self.epoch:
            return
        match request:
            case LeaderAndIsrRequest():
                yield from self._brokers.answered(broker, request, response)
            case StopReplicaRequest():
                yield from self._stopped(broker, request, response)

    def _stopped(
        self, broker: int, request: StopReplicaRequest, response: StopReplicaResponse
    ) -> Work[None]:
        asked = {
            PartitionAndReplica(TopicPartition(topic.topic_name, each.partition_index), broker)
            for topic in request.topic_states
            for each in topic.partition_states
            if each.delete_partition and topic.topic_name in self.context.deletable
        }
        deleted = {
            PartitionAndReplica(TopicPartition(each.topic_name, each.partition_index), broker)
            for each in response.partition_errors
            if response.error_code == each.error_code == ErrorCode.none
        }
        if asked - deleted:
            yield from self.deletion.replicas_failed(sorted(asked - deleted))
        if asked & deleted:
            yield from self.deletion.replicas_deleted(sorted(asked & deleted))

    def snapshot(self) -> dict[str, Any]:
        context = self.context
        return {
            "brokers": {broker: alive.epoch for broker, alive in sorted(context.brokers.items())},
            "shutting_down": sorted(context.shutting_down),
            "deleting": sorted(context.deleting),
            "partitions": [
                {
                    **partition._asdict(),
                    "state": self.partitions.state(partition).value,
                    **assigned._asdict(),
                    "replica_states": {
                        broker: self.replicas.state(PartitionAndReplica(partition, broker)).value
                        for broker in assigned.replicas
                    },
                    **_leadership(context.leadership.get(partition)),
                }
                for partition, assigned in sorted(context.assignments.items())
            ],
        }


def _leadership(known: Leadership | None) -> dict[str, Any]:
    return {**known.state._asdict(), "version": known.version} if known else {}
