"""Moving partitions to other brokers: add, catch up, drop.

    from 1,2,3 to 4,5,6                   replicas     adding  removing  leader  ISR
                                          1,2,3                          1       1,2,3
    /brokers/topics/T is written          4,5,6,1,2,3  4,5,6   1,2,3     1       1,2,3
    A  4, 5 and 6 begin to follow         4,5,6,1,2,3  4,5,6   1,2,3     1       1,2,3
       the ISR has all of 4, 5, 6         4,5,6,1,2,3  4,5,6   1,2,3     1       1,2,3,4,5,6
    B  one of them leads                  4,5,6,1,2,3  4,5,6   1,2,3     4       1,2,3,4,5,6
       1, 2 and 3 leave and delete        4,5,6,1,2,3  4,5,6   1,2,3     4       4,5,6
       /brokers/topics/T is written       4,5,6                          4       4,5,6

Moves are asked for by AlterPartitionReassignments or, the old way, in /admin/reassign_partitions;
the newer one counts. To cancel is to move to where the partition came from.

Invariant: where a partition came from and where it goes stand in its topic's znode from before
the first step until after the last. So whoever becomes controller goes on, from any step.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from engine.controller import znodes
from engine.controller.asks import Exists, Get, Refused, Set, Work
from engine.controller.context import UNASSIGNED, Replica
from engine.controller.deletion import Deletion
from engine.controller.election import Rule
from engine.controller.partitions import Partitions
from engine.controller.replicas import Replicas, State
from engine.controller.term import Term, readable
from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition

Assignments = Mapping[TopicPartition, znodes.Replicas]
Outcomes = dict[TopicPartition, KafkaError | None]


def origin(assigned: znodes.Replicas) -> tuple[int, ...]:
    """Where the partition was before it began to move, as far as that can still be told."""
    return _without(assigned.replicas, assigned.adding)


def target(assigned: znodes.Replicas) -> tuple[int, ...]:
    return _without(assigned.replicas, assigned.removing)


def toward(assigned: znodes.Replicas, to: tuple[int, ...]) -> znodes.Replicas:
    """The replicas on the way there: those to come first, in the order asked for."""
    before = origin(assigned)
    every = tuple(dict.fromkeys((*to, *before)))
    return znodes.Replicas(every, _without(every, before), _without(every, to))


def is_moving(assigned: znodes.Replicas) -> bool:
    return bool(assigned.adding or assigned.removing)


def _without(brokers: tuple[int, ...], others: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(each for each in brokers if each not in others)


class Reassignment:
    def __init__(
        self, term: Term, partitions: Partitions, replicas: Replicas, deletion: Deletion
    ) -> None:
        self._term = term
        self._context = term.context
        self._partitions = partitions
        self._replicas = replicas
        self._deletion = deletion

    # -- what is asked for ---------------------------------------------------------------

    def alter(self, moves: Mapping[TopicPartition, tuple[int, ...] | None]) -> Work[Outcomes]:
        outcomes: Outcomes = {}
        accepted = {}
        for partition, to in sorted(moves.items()):
            try:
                accepted[partition] = self._way(partition, to)
            except KafkaError as error:
                outcomes[partition] = error
        yield from self._forget(lambda partition, to: partition in accepted)
        return outcomes | (yield from self._trigger(accepted))

    def look(self) -> Work[None]:
        """/admin/reassign_partitions: whoever wants something new has written it there."""
        path = znodes.REASSIGN_PARTITIONS
        _, node = yield [Exists(path, watch=True), Get(path)]
        listed = readable(znodes.decode_reassignment, node) or {}
        ways = {each: toward(self._assigned(each), to) for each, to in listed.items() if to}
        moving = self._context.moving
        news = {
            each: to
            for each, to in ways.items()
            if each not in moving or to != self._assigned(each)
        }
        outcomes = yield from self._trigger(news)
        failed = {each for each, to in listed.items() if not to or outcomes.get(each)}
        if failed:
            yield from self._forget(lambda partition, to: partition in failed)

    def resume(self) -> Work[None]:
        """Go on with what an earlier controller has begun."""
        yield from self._carry_out(self.under_way(None))

    def isr_changed(self, partitions: Iterable[TopicPartition]) -> Work[None]:
        """Perhaps those to come have caught up."""
        changed = sorted(self._context.moving.intersection(partitions))
        moving = {each: self._context.assignments[each] for each in changed}
        done = yield from self._in_sync(moving)
        yield from self._complete({each: to for each, to in moving.items() if each in done})

    def under_way(self, partitions: Iterable[TopicPartition] | None) -> Assignments:
        asked = sorted(self._context.moving if partitions is None else partitions)
        return {each: self._assigned(each) for each in asked if is_moving(self._assigned(each))}

    def _assigned(self, partition: TopicPartition) -> znodes.Replicas:
        return self._context.assignments.get(partition, UNASSIGNED)

    def _way(self, partition: TopicPartition, to: tuple[int, ...] | None) -> znodes.Replicas:
        """The way there; None is back. A KafkaError if there is none."""
        assigned = self._assigned(partition)
        if to is None:
            if is_moving(assigned):
                return toward(assigned, origin(assigned))
            code = ErrorCode.no_reassignment_in_progress
            raise KafkaError(code, "No partition reassignment is in progress.")
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
            raise KafkaError(ErrorCode.invalid_replica_assignment, fault)
        return way

    def _trigger(self, moves: Assignments) -> Work[Outcomes]:
        unknown = KafkaError(ErrorCode.unknown_topic_or_partition, "The partition does not exist.")
        real = {
            each: to
            for each, to in moves.items()
            if each in self._context.assignments and each.topic not in self._context.deleting
        }
        yield from self._carry_out(real)
        return {each: None if each in real else unknown for each in moves}

    # -- one step after the other --------------------------------------------------------

    def _carry_out(self, moves: Assignments) -> Work[None]:
        if not moves:
            return
        yield from self._note(moves)
        done = yield from self._in_sync(moves)
        yield from self._begin({each: to for each, to in moves.items() if each not in done})
        yield from self._complete({each: to for each, to in moves.items() if each in done})

    def _note(self, moves: Assignments) -> Work[None]:
        """The way there is in ZooKeeper before the first step on it.

        But first, those that an earlier move was adding, and this one does not want, go: nobody
        could tell that from what is written afterwards. And who is there already, as after a
        cancellation, has no way to go: that is written when all is done.
        """
        before = self._context.assignments
        news = {each: to for each, to in moves.items() if before[each] != to}
        yield from self._stop(
            {each: _without(before[each].replicas, to.replicas) for each, to in news.items()}
        )
        ways = {each: to for each, to in news.items() if is_moving(to)}
        yield from self._write(ways)
        self._context.assignments |= ways
        self._context.moving |= moves.keys()
        for partition, to in news.items():
            self._tell("reassignment.began", partition, to)

    def _in_sync(self, moves: Assignments) -> Work[set[TopicPartition]]:
        """Those whose replicas to come are all in the ISR. The ISR is watched from now on."""
        found = yield from self._term.read(list(moves), watch=True)
        return {
            partition
            for (partition, to), known in zip(moves.items(), found, strict=True)
            if not is_moving(to) or (known and set(target(to)) <= set(known.state.isr))
        }

    def _begin(self, moves: Assignments) -> Work[None]:
        """Phase A. The leader hears of those to come, for it must let them into the ISR."""
        yield from self._term.rewrite(moves, lambda partition, state: self._term.bump(state))
        for partition, to in moves.items():
            if partition in self._context.leadership:
                self._term.batch.role(origin(to), partition)
                self._term.batch.role(to.adding, partition, new=True)
        self._term.batch.send()
        adding = [Replica(each, broker) for each, to in moves.items() for broker in to.adding]
        yield from self._replicas.move(adding, State.NEW)

    def _complete(self, moves: Assignments) -> Work[None]:
        """Phase B."""
        if not moves:
            return
        adding = [Replica(each, broker) for each, to in moves.items() for broker in to.adding]
        yield from self._replicas.move(adding, State.ONLINE)
        final = {each: znodes.Replicas(target(to)) for each, to in moves.items()}
        self._context.assignments |= final
        yield from self._settle_leaders(final)
        yield from self._stop({each: to.removing for each, to in moves.items()})
        yield from self._write(final)
        yield from self._forget(lambda each, to: each in final and final[each].replicas == to)
        self._context.moving -= final.keys()
        for partition, to in final.items():
            self._tell("reassignment.done", partition, to)
        self._term.batch.metadata(self._context.brokers, final)
        self._term.batch.send()
        yield from self._deletion.resume(each.topic for each in final)

    def _settle_leaders(self, final: Assignments) -> Work[None]:
        """A leader that has to go is replaced; one that stays hears who is left."""
        stays: list[TopicPartition] = []
        goes: list[TopicPartition] = []
        for partition, to in final.items():
            leader = self._context.leader(partition)
            good = leader in to.replicas and self._context.online(leader, partition)
            (stays if good else goes).append(partition)
        yield from self._partitions.bring_online(goes, Rule.REASSIGNMENT)
        yield from self._term.rewrite(stays, lambda partition, state: self._term.bump(state))
        for partition in stays:
            self._term.batch.role(final[partition].replicas, partition)
        self._term.batch.send()

    def _stop(self, leaving: Mapping[TopicPartition, tuple[int, ...]]) -> Work[None]:
        """Nobody waits for their answers: a broker that is down keeps a log of no use."""
        replicas = [
            Replica(each, broker) for each, brokers in leaving.items() for broker in brokers
        ]
        yield from self._replicas.move(replicas, State.OFFLINE)
        unneeded = [each for each in replicas if not self._is_last(each)]
        for to in (State.STARTED, State.SUCCESSFUL, State.NON_EXISTENT):
            yield from self._replicas.move(unneeded, to)

    def _is_last(self, replica: Replica) -> bool:
        """Still in the ISR after it was told to leave: only there is every committed record."""
        known = self._context.leadership.get(replica.partition)
        return known is not None and replica.broker in known.state.isr

    def _tell(self, kind: str, partition: TopicPartition, to: znodes.Replicas) -> None:
        lists = {name: list(brokers) for name, brokers in to._asdict().items()}
        self._term.emit(kind, **partition._asdict(), **lists)

    # -- what stands in ZooKeeper --------------------------------------------------------

    def _write(self, news: Assignments) -> Work[None]:
        """Into the topics' nodes, by compare and set: somebody may be adding partitions."""
        moved: dict[str, dict[int, znodes.Replicas]] = defaultdict(dict)
        for (topic, number), to in news.items():
            moved[topic][number] = to
        remaining = list(moved)
        while remaining:
            nodes = yield [Get(znodes.topic_path(topic)) for topic in remaining]
            writes = {}
            for topic, node in zip(remaining, nodes, strict=True):
                if node is not None:
                    known = znodes.Topic.decode(node.data)
                    data = known._replace(partitions={**known.partitions, **moved[topic]}).encode()
                    if data != node.data:  # it may be there, and only the answer was lost
                        writes[topic] = Set(znodes.topic_path(topic), data, node.stat.version)
            answers = yield from self._term.write([(each,) for each in writes.values()])
            refused = [isinstance(answer, Refused) for answer in answers]
            remaining = [topic for topic, again in zip(writes, refused, strict=True) if again]

    def _forget(self, done: Callable[[TopicPartition, tuple[int, ...]], bool]) -> Work[None]:
        """Take what is settled off the list; an empty list goes altogether."""
        path = znodes.REASSIGN_PARTITIONS
        (node,) = yield [Get(path)]
        if node is None:
            return
        listed = readable(znodes.decode_reassignment, node) or {}
        left = {each: to for each, to in listed.items() if not done(each, to)}
        if not left:
            yield from self._term.delete([path])
        elif left != listed:
            yield from self._term.write([(Set(path, znodes.encode_reassignment(left)),)])
