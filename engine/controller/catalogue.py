"""Which topics there are: new ones, more partitions, and what their leaders report.

    /brokers/topics          a new name: its partitions get their first leaders
    /brokers/topics/T        more partitions; while T is being deleted they are taken back
    /isr_change_notification a leader has changed an ISR: read it, tell everybody, clear the note

A new partition goes through both machines: NEW, then its first leader, then its replicas ONLINE.
"""

from engine.controller import znodes
from engine.controller.asks import Children, Get, Set, Work
from engine.controller.partitions import Partitions
from engine.controller.partitions import State as PartitionState
from engine.controller.reassignment import Reassignment
from engine.controller.replicas import Replicas, State
from engine.controller.term import Term, readable
from engine.model import TopicPartition


class Catalogue:
    def __init__(
        self, term: Term, partitions: Partitions, replicas: Replicas, reassignment: Reassignment
    ) -> None:
        self._term = term
        self._context = term.context
        self._partitions = partitions
        self._replicas = replicas
        self._reassignment = reassignment

    def read(self) -> Work[list[str]]:
        """Learn of topics that are not known yet; those that are no more are forgotten."""
        names = set((yield [Children(znodes.TOPICS, watch=True)])[0] or ())
        for gone in sorted(self._context.topics.keys() - names):
            self._forget(gone)
        new = sorted(names - self._context.topics.keys())
        asks = [Get(znodes.topic_path(each), watch=True) for each in new]
        nodes = (yield asks) if asks else ()
        found = [name for name, node in zip(new, nodes, strict=True) if node is not None]
        for name, node in zip(new, nodes, strict=True):
            if node is not None:
                self._context.add_topic(name, znodes.Topic.decode(node.data))
        return found

    def look(self) -> Work[None]:
        new = yield from self.read()
        for name in new:
            self._term.emit("topic.created", topic=name)
        yield from self._begin(
            [each for name in new for each in self._context.topics[name].values()]
        )

    def look_at(self, name: str) -> Work[None]:
        (node,) = yield [Get(znodes.topic_path(name), watch=True)]
        known = self._context.topics.get(name)
        if node is None or known is None:
            return  # gone, or not heard of yet: that is another watch's business
        topic = znodes.Topic.decode(node.data)
        added = {
            number: replicas for number, replicas in topic.partitions.items() if number not in known
        }
        if added and name in self._context.deleting:
            left = {each: topic.partitions[each] for each in topic.partitions if each in known}
            data = topic._replace(partitions=left).encode()
            yield from self._term.write([(Set(znodes.topic_path(name), data, node.stat.version),)])
        elif added:
            self._context.add_topic(name, topic._replace(partitions=added))
            yield from self._begin([TopicPartition(name, number) for number in sorted(added)])

    def look_at_isrs(self) -> Work[None]:
        names = (yield [Children(znodes.ISR_CHANGES, watch=True)])[0] or ()
        paths = [f"{znodes.ISR_CHANGES}/{name}" for name in sorted(names)]
        notes = (yield [Get(path) for path in paths]) if paths else ()
        changed = {
            partition: None
            for note in notes
            for partition in sorted(readable(znodes.decode_partitions, note) or ())
            if partition in self._context.assignments
        }
        yield from self._term.read(list(changed))
        self._term.batch.metadata(self._context.brokers if changed else (), changed)
        self._term.batch.send()
        yield from self._term.delete(paths)
        yield from self._reassignment.isr_changed(changed)

    def _begin(self, partitions: list[TopicPartition]) -> Work[None]:
        replicas = self._context.replicas_of(partitions)
        self._partitions.mark(partitions, PartitionState.NEW)
        yield from self._replicas.move(replicas, State.NEW)
        yield from self._partitions.bring_online(partitions)
        yield from self._replicas.move(replicas, State.ONLINE)

    def _forget(self, name: str) -> None:
        partitions = self._context.topics[name].values()
        self._replicas.forget(self._context.replicas_of(partitions))
        self._partitions.forget(partitions)
        self._context.remove_topic(name)
