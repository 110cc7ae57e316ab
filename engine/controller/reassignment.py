"""Reassignment: move partitions to other brokers.

    from 1,2,3 to 4,5,6                   replicas     adding  removing  leader  ISR
                                          1,2,3                          1       1,2,3
    /brokers/topics/T is written          4,5,6,1,2,3  4,5,6   1,2,3     1       1,2,3
    A  4, 5 and 6 begin to follow         4,5,6,1,2,3  4,5,6   1,2,3     1       1,2,3
       the ISR has all of 4, 5, 6         4,5,6,1,2,3  4,5,6   1,2,3     1       1,2,3,4,5,6
    B  one of them leads, in one write    4,5,6,1,2,3  4,5,6   1,2,3     4       4,5,6
       1, 2 and 3 delete their logs       4,5,6,1,2,3  4,5,6   1,2,3     4       4,5,6
       /brokers/topics/T is written       4,5,6                          4       4,5,6

A move is requested by AlterPartitionReassignments or, before Kafka 2.4, in
/admin/reassign_partitions; the newest request is valid. Cancelling is a move back.

Kafka makes two writes of the first step of B: the leader changes, then the old replicas leave the
ISR. Between the two the leader commits without replicas that ZooKeeper still has in the ISR, and if
leader and controller die at that moment, one of them may be elected. Here it is one write.

Invariant: the old and the new replicas of a partition are in its topic's znode from before the
first step until after the last. So a new controller can continue from any step.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from engine.controller.context import UNASSIGNED, Context, PartitionAndReplica
from engine.controller.deletion import Deletion
from engine.controller.election import Rule
from engine.controller.metadata_store import MetadataStore
from engine.controller.partition_state_machine import PartitionStateMachine
from engine.controller.replica_state_machine import ControllerReplicaState, ReplicaStateMachine
from engine.controller.requests import ControllerRequestBatch
from engine.errors import ApiException, ErrorCode
from engine.metadata.replica_assignment import (
    ReplicaAssignment,
    is_moving,
    origin,
    target,
    toward,
    without,
)
from engine.model import TopicPartition
from engine.zookeeper import znodes
from engine.zookeeper.requests import Exists, Get, Refused, Set, Work, ZnodeData
from engine.zookeeper.znodes import LeaderAndIsr

Assignments = Mapping[TopicPartition, ReplicaAssignment]
Outcomes = dict[TopicPartition, ApiException | None]


def _adding(moves: Assignments) -> list[PartitionAndReplica]:
    return [PartitionAndReplica(each, broker) for each, to in moves.items() for broker in to.adding]


@dataclass(eq=False)
class Reassignment:
    _context: Context
    _store: MetadataStore
    _batch: ControllerRequestBatch
    _partitions: PartitionStateMachine
    _replicas: ReplicaStateMachine
    _deletion: Deletion
    _emit: Callable[..., None]  # an event: its kind, then the facts by name

    # -- requests ------------------------------------------------------------------------

    def alter(self, moves: Mapping[TopicPartition, tuple[int, ...] | None]) -> Work[Outcomes]:
        outcomes: Outcomes = {}
        accepted = {}
        for partition, to in sorted(moves.items()):
            try:
                accepted[partition] = self._way(partition, to)
            except ApiException as error:
                outcomes[partition] = error
        yield from self._forget(lambda partition, to: partition in accepted)
        return outcomes | (yield from self._trigger(accepted))

    def process_requests(self) -> Work[None]:
        """Read /admin/reassign_partitions, and start the new moves."""
        path = znodes.REASSIGN_PARTITIONS
        _, node = yield [Exists(path, watch=True), Get(path)]
        if node is None:
            return
        listed = self._listed(node)
        ways = {each: toward(self._assigned(each), to) for each, to in listed.items() if to}
        moving = self._context.moving
        news = {
            each: to
            for each, to in ways.items()
            if each not in moving or to != self._assigned(each)
        }
        outcomes = yield from self._trigger(news)
        failed = {each for each, to in listed.items() if not to or outcomes.get(each)}
        if failed or not listed:
            yield from self._forget(lambda partition, to: partition in failed)

    def _listed(self, node: ZnodeData) -> dict[TopicPartition, tuple[int, ...]]:
        path, harm = znodes.REASSIGN_PARTITIONS, "nothing is moved, and it is deleted"
        return self._store.decoder.read(znodes.decode_reassignment, path, node.data, harm) or {}

    def resume(self) -> Work[None]:
        """Continue the moves of an earlier controller."""
        yield from self._carry_out(self.under_way(None))

    def isr_changed(self, partitions: Iterable[TopicPartition]) -> Work[None]:
        """The new replicas may have caught up. While a topic cannot be read, no move of it ends."""
        faults = self._store.decoder.faults
        moved = sorted(self._context.moving.intersection(partitions))
        changed = [each for each in moved if znodes.topic_path(each.topic) not in faults]
        moving = {each: self._context.assignments[each] for each in changed}
        done = yield from self._in_sync(moving)
        yield from self._complete({each: to for each, to in moving.items() if each in done})

    def under_way(self, partitions: Iterable[TopicPartition] | None) -> Assignments:
        asked = sorted(self._context.moving if partitions is None else partitions)
        return {each: self._assigned(each) for each in asked if is_moving(self._assigned(each))}

    def _assigned(self, partition: TopicPartition) -> ReplicaAssignment:
        return self._context.assignments.get(partition, UNASSIGNED)

    def _way(self, partition: TopicPartition, to: tuple[int, ...] | None) -> ReplicaAssignment:
        """The assignment during the move; None: back. Raises an ApiException if impossible."""
        assigned = self._assigned(partition)
        if to is None:
            if is_moving(assigned):
                return toward(assigned, origin(assigned))
            code = ErrorCode.no_reassignment_in_progress
            raise ApiException(code, "No partition reassignment is in progress.")
        way, live, fault = toward(assigned, to), self._context.live, ""
        if not to:
            fault = "Empty replica list specified in partition reassignment."
        elif len(set(to)) != len(to):
            fault = f"Duplicate replica ids in partition reassignment replica list: {list(to)}"
        elif min(to) < 0:
            fault = f"Invalid broker id in replica list: {list(to)}"
        elif not set(way.adding) <= set(live):
            fault = (
                "Replica assignment has brokers that are not alive. Replica list: "
                f"{list(way.adding)}, live broker list: {live}"
            )
        if fault:
            raise ApiException(ErrorCode.invalid_replica_assignment, fault)
        return way

    def _trigger(self, moves: Assignments) -> Work[Outcomes]:
        unknown = ApiException(
            ErrorCode.unknown_topic_or_partition, "The partition does not exist."
        )
        faults = self._store.decoder.faults
        real = {
            each: to
            for each, to in moves.items()
            if each in self._context.assignments
            and each.topic not in self._context.deleting
            and faults.keys().isdisjoint((znodes.topic_path(each.topic), znodes.state_path(each)))
        }
        yield from self._carry_out(real)
        return {each: None if each in real else unknown for each in moves}

    # -- steps ---------------------------------------------------------------------------

    def _carry_out(self, moves: Assignments) -> Work[None]:
        if not moves:
            return
        yield from self._note(moves)
        done = yield from self._in_sync(moves)
        yield from self._begin({each: to for each, to in moves.items() if each not in done})
        yield from self._complete({each: to for each, to in moves.items() if each in done})

    def _note(self, moves: Assignments) -> Work[None]:
        """Write the move to ZooKeeper before its first step.

        But first, stop the replicas that an earlier move was adding and this one does not have:
        afterwards they are not in the znode any more. If no replica is added or removed, as after
        a cancellation, the znode is written at the end.
        """
        before = self._context.assignments
        news = {each: to for each, to in moves.items() if before[each] != to}
        yield from self._stop(
            {each: without(before[each].replicas, to.replicas) for each, to in news.items()}
        )
        ways = {each: to for each, to in news.items() if is_moving(to)}
        yield from self._write(ways)
        self._context.assignments |= ways
        self._context.moving |= moves.keys()
        for partition, to in news.items():
            self._report("reassignment.began", partition, to)

    def _in_sync(self, moves: Assignments) -> Work[set[TopicPartition]]:
        """The partitions whose target replicas are all in the ISR. It also watches the ISR."""
        found = yield from self._store.read_states(list(moves), watch=True)
        return {
            partition
            for (partition, to), known in zip(moves.items(), found, strict=True)
            if not is_moving(to) or (known and set(target(to)) <= set(known.state.isr))
        }

    def _begin(self, moves: Assignments) -> Work[None]:
        """Phase A. The leader gets the new replicas, because it must add them to the ISR."""
        yield from self._store.rewrite(moves, lambda partition, state: self._store.bump(state))
        for partition, to in moves.items():
            if partition in self._context.leadership:
                self._batch.leader_and_isr(origin(to), partition)
                self._batch.leader_and_isr(to.adding, partition, new=True)
        self._batch.send()
        yield from self._replicas.move(_adding(moves), ControllerReplicaState.NEW)

    def _complete(self, moves: Assignments) -> Work[None]:
        """Phase B."""
        if not moves:
            return
        yield from self._replicas.move(_adding(moves), ControllerReplicaState.ONLINE)
        final = {each: ReplicaAssignment(target(to)) for each, to in moves.items()}
        self._context.assignments |= final
        yield from self._settle_leaders(final)
        yield from self._stop({each: to.removing for each, to in moves.items()})
        unwritten = yield from self._write(final)
        self._context.assignments |= {each: moves[each] for each in unwritten}
        final = {each: to for each, to in final.items() if each not in unwritten}
        yield from self._forget(lambda each, to: each in final and final[each].replicas == to)
        self._context.moving -= final.keys()
        for partition, to in final.items():
            self._report("reassignment.done", partition, to)
        self._batch.update_metadata(self._context.brokers, final)
        self._batch.send()
        yield from self._deletion.resume(each.topic for each in final)

    def _settle_leaders(self, final: Assignments) -> Work[None]:
        """A leader that is removed is replaced; one that stays gets the new assignment.

        With the same write the replicas that are removed leave the ISR.
        """

        def leave(partition: TopicPartition, state: LeaderAndIsr) -> LeaderAndIsr:
            stay = tuple(each for each in state.isr if each in final[partition].replicas)
            return self._store.bump(state, isr=stay or state.isr)

        stays: list[TopicPartition] = []
        goes: list[TopicPartition] = []
        for partition, to in final.items():
            leader = self._context.leader(partition)
            good = leader in to.replicas and self._context.online(leader, partition)
            (stays if good else goes).append(partition)
        yield from self._partitions.bring_online(goes, Rule.REASSIGNMENT)
        yield from self._store.rewrite(stays, leave)
        for partition in stays:
            self._batch.leader_and_isr(final[partition].replicas, partition)
        self._batch.send()

    def _stop(self, leaving: Mapping[TopicPartition, tuple[int, ...]]) -> Work[None]:
        """Their answers are not awaited: a broker that is down keeps an unused log."""
        replicas = [
            PartitionAndReplica(each, broker)
            for each, brokers in leaving.items()
            for broker in brokers
        ]
        yield from self._replicas.move(replicas, ControllerReplicaState.OFFLINE)
        unneeded = [each for each in replicas if not self._is_last(each)]
        for to in (
            ControllerReplicaState.STARTED,
            ControllerReplicaState.SUCCESSFUL,
            ControllerReplicaState.NON_EXISTENT,
        ):
            yield from self._replicas.move(unneeded, to)

    def _is_last(self, replica: PartitionAndReplica) -> bool:
        """Whether it is still in the ISR: then only this replica has every committed record."""
        known = self._context.leadership.get(replica.partition)
        return known is not None and replica.broker in known.state.isr

    def _report(self, kind: str, partition: TopicPartition, to: ReplicaAssignment) -> None:
        lists = {name: list(brokers) for name, brokers in to._asdict().items()}
        self._emit(kind, **partition._asdict(), **lists)

    # -- in ZooKeeper --------------------------------------------------------------------

    def _write(self, news: Assignments) -> Work[set[TopicPartition]]:
        """Write the topics' znodes by compare-and-set: a client may be adding partitions.

        Returns the partitions whose topic cannot be read. Their moves end when it can.
        """
        moved: dict[str, dict[int, ReplicaAssignment]] = defaultdict(dict)
        for (topic, number), to in news.items():
            moved[topic][number] = to
        remaining, unreadable, harm = list(moved), set[str](), "its move is not written"
        while remaining:
            nodes = yield [Get(znodes.topic_path(topic)) for topic in remaining]
            writes = {}
            for topic, node in zip(remaining, nodes, strict=True):
                path, was = znodes.topic_path(topic), node and node.data
                known = self._store.decoder.read(znodes.Topic.decode, path, was, harm)
                if known is None:
                    unreadable.add(topic)
                else:
                    data = known._replace(partitions={**known.partitions, **moved[topic]}).encode()
                    if data != was:  # else only the answer was lost
                        writes[topic] = Set(path, data, node.stat.version)
            answers = yield from self._store.write([(each,) for each in writes.values()])
            refused = [isinstance(answer, Refused) for answer in answers]
            remaining = [topic for topic, again in zip(writes, refused, strict=True) if again]
        return {each for each in news if each.topic in unreadable}

    def _forget(self, done: Callable[[TopicPartition, tuple[int, ...]], bool]) -> Work[None]:
        """Remove the finished moves from the list; an empty list is deleted."""
        path = znodes.REASSIGN_PARTITIONS
        (node,) = yield [Get(path)]
        if node is None:
            return
        listed = self._listed(node)
        left = {each: to for each, to in listed.items() if not done(each, to)}
        if not left:
            yield from self._store.delete([path])
        elif left != listed:
            yield from self._store.write([(Set(path, znodes.encode_reassignment(left)),)])
