"""The controller in office: what it does first, and which event it answers with what.

    taking over    1  watch everything, clear the notes that are now of no use
                   2  read: brokers, topics, states, deletions
                   3  tell every broker who is alive, and who led what so far
                   4  replicas get their roles, partitions their leaders
                   5  go on with what a predecessor had begun: moves, deletions, elections

    afterwards     one event after the other, each from beginning to end

Invariant: a path is read again, and watched again, in one go before anything follows from it. So
no change can be missed, and being told of one that is known already does no harm.
"""

import re
from collections.abc import Callable
from typing import Any

from engine.controller import znodes
from engine.controller.asks import Changed, Children, Work
from engine.controller.brokers import Brokers
from engine.controller.catalogue import Catalogue
from engine.controller.context import Leadership, Replica
from engine.controller.deletion import Deletion
from engine.controller.events import (
    AlterReassignments,
    Answered,
    ControlledShutdown,
    ElectLeaders,
    Event,
    ListReassignments,
    Rebalance,
    UncleanAllowed,
)
from engine.controller.leaders import Leaders
from engine.controller.partitions import Partitions
from engine.controller.reassignment import Reassignment
from engine.controller.replicas import Replicas
from engine.controller.term import Term
from engine.errors import ErrorCode
from engine.model import TopicPartition
from engine.wire.messages.leader_and_isr import LeaderAndIsrRequest
from engine.wire.messages.stop_replica import StopReplicaRequest, StopReplicaResponse

_BELOW = re.compile(
    f"{znodes.BROKER_IDS}/(?P<broker>[0-9]+)"
    f"|{znodes.TOPICS}/(?P<topic>[^/]+)(/partitions/(?P<number>[0-9]+)/state)?"
)


class Office:
    def __init__(self, term: Term) -> None:
        self.term = term
        self._context = term.context
        self.partitions = Partitions(term)
        self.replicas = Replicas(term)
        self.deletion = Deletion(term, self.partitions, self.replicas)
        self._reassignment = Reassignment(term, self.partitions, self.replicas, self.deletion)
        machines = term, self.partitions, self.replicas
        self._leaders = Leaders(*machines)
        self._catalogue = Catalogue(*machines, self._reassignment)
        self._brokers = Brokers(*machines, self.deletion)
        self._watched: dict[str, Callable[[], Work[None]]] = {
            znodes.BROKER_IDS: self._brokers.look,
            znodes.TOPICS: self._catalogue.look,
            znodes.DELETE_TOPICS: self._look_at_deletions,
            znodes.ISR_CHANGES: self._catalogue.look_at_isrs,
            znodes.LOG_DIR_EVENTS: self._brokers.look_at_disks,
            znodes.REASSIGN_PARTITIONS: self._reassignment.look,
            znodes.PREFERRED_ELECTION: self._leaders.look,
        }

    def take_over(self) -> Work[None]:
        context, batch = self._context, self.term.batch
        for path in (znodes.LOG_DIR_EVENTS, znodes.ISR_CHANGES):
            names = (yield [Children(path, watch=True)])[0] or ()
            yield from self.term.delete(f"{path}/{name}" for name in sorted(names))
        context.brokers = yield from self._brokers.read()
        yield from self._catalogue.read()
        yield from self.term.read(list(context.assignments))
        yield from self.deletion.look()
        batch.metadata(context.brokers, (partition for partition, _ in context.led()))
        batch.send()
        yield from self.replicas.start()
        yield from self.partitions.start()
        yield from self._reassignment.look()
        yield from self._reassignment.resume()
        yield from self.deletion.proceed()
        yield from self._leaders.look()

    def handle(self, event: Event) -> Work[Any]:
        match event:
            case Changed(path):
                yield from self._changed(path)
            case Answered():
                yield from self._answered(event)
            case Rebalance():
                yield from self._leaders.rebalance()
            case UncleanAllowed(topic):
                yield from self.partitions.retry(topic)
            case ControlledShutdown(broker, broker_epoch):
                return (yield from self._leaders.shut_down(broker, broker_epoch))
            case ElectLeaders(partitions, unclean):
                return (yield from self._leaders.elect(partitions, unclean))
            case AlterReassignments(moves):
                return (yield from self._reassignment.alter(moves))
            case ListReassignments(partitions):
                return self._reassignment.under_way(partitions)

    def _changed(self, path: str) -> Work[None]:
        if path in self._watched:
            yield from self._watched[path]()
        elif found := _BELOW.fullmatch(path):
            if found["broker"]:
                yield from self._brokers.look_at(int(found["broker"]))
            elif found["number"]:
                moving = TopicPartition(found["topic"], int(found["number"]))
                yield from self._reassignment.isr_changed([moving])
            else:
                yield from self._catalogue.look_at(found["topic"])

    def _look_at_deletions(self) -> Work[None]:
        yield from self.deletion.look()
        yield from self.deletion.proceed()

    # -- what the brokers answer ---------------------------------------------------------

    def _answered(self, event: Answered) -> Work[None]:
        """Only what this broker says in this life, to this controller, counts."""
        broker, epoch, request, response = event
        alive = self._context.brokers.get(broker)
        if alive is None or alive.epoch != epoch or request.controller_epoch != self.term.epoch:
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
            Replica(TopicPartition(topic.topic_name, each.partition_index), broker)
            for topic in request.topic_states
            for each in topic.partition_states
            if each.delete_partition and topic.topic_name in self._context.doomed
        }
        errors = {
            Replica(TopicPartition(each.topic_name, each.partition_index), broker): each.error_code
            for each in response.partition_errors
        }
        good = {
            each
            for each in asked
            if (response.error_code, errors.get(each)) == (ErrorCode.none, ErrorCode.none)
        }
        if asked - good:
            yield from self.deletion.fail(sorted(asked - good))
        if good:
            yield from self.deletion.succeed(sorted(good))

    # -- for those who look on -----------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        context = self._context
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
                        broker: self.replicas.state(Replica(partition, broker)).value
                        for broker in assigned.replicas
                    },
                    **_leadership(context.leadership.get(partition)),
                }
                for partition, assigned in sorted(context.assignments.items())
            ],
        }


def _leadership(known: Leadership | None) -> dict[str, Any]:
    return {**known.state._asdict(), "version": known.version} if known else {}
