"""Changes of topics: new topics, new partitions, and ISR changes by leaders.

    /brokers/topics          a new name: its partitions get their first leaders, and it gets an
                             id, if another program made it without one
    /brokers/topics/T        more partitions; while T is being deleted they are removed again
    /isr_change_notification a leader has changed an ISR: read it, update the metadata, delete the
                             note

A new partition goes through both machines: NEW, then its first leader, then its replicas ONLINE.
"""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from engine.config import BrokerConfig
from engine.config.protocol import Feature
from engine.controller.context import Context
from engine.controller.metadata_store import MetadataStore
from engine.controller.partition_state_machine import (
    ControllerPartitionState,
    PartitionStateMachine,
)
from engine.controller.reassignment import Reassignment
from engine.controller.replica_state_machine import ControllerReplicaState, ReplicaStateMachine
from engine.controller.requests import ControllerRequestBatch
from engine.model import TopicPartition
from engine.topics import name_fault
from engine.zookeeper import znodes
from engine.zookeeper.requests import Children, Get, Refused, Set, Work, ZnodeData


@dataclass(eq=False)
class TopicChanges:
    _context: Context
    _store: MetadataStore
    _batch: ControllerRequestBatch
    _partitions: PartitionStateMachine
    _replicas: ReplicaStateMachine
    _reassignment: Reassignment
    _config: BrokerConfig
    _emit: Callable[..., None]  # an event: its kind, then the facts by name
    _new_uuid: Callable[[], UUID]  # for topics that have no id

    def read(self) -> Work[list[str]]:
        """Read the new topics, and forget those that are gone. Returns the new names."""
        names = set((yield [Children(znodes.TOPICS, watch=True)])[0] or ())
        for gone in sorted(self._context.topics.keys() - names):
            self._forget(gone)
        new = sorted(names - self._context.topics.keys())
        found = yield from self._read(new)
        for name, topic in found.items():
            self._context.add_topic(name, topic)
        return list(found)

    def _read(self, names: list[str]) -> Work[dict[str, znodes.Topic]]:
        """The topics that can be read. One without an id gets an id, from protocol 2.8 on."""
        found = dict[str, znodes.Topic]()
        while names:
            nodes = yield [Get(znodes.topic_path(each), watch=True) for each in names]
            writes = dict[str, Set]()
            for name, node in zip(names, nodes, strict=True):
                if (topic := self._topic(name, node)) is None:
                    continue
                if topic.topic_id is None and self._config.speaks(Feature.TOPIC_IDS):
                    topic = topic._replace(topic_id=self._new_uuid())
                    path = znodes.topic_path(name)
                    writes[name] = Set(path, topic.encode(), node.stat.version)
                found[name] = topic
            answers = yield from self._store.write([(write,) for write in writes.values()])
            answered = zip(writes, answers, strict=True)
            names = [name for name, answer in answered if isinstance(answer, Refused)]
            for changed in names:  # by another program, at the same time: read it again
                del found[changed]
        return found

    def _topic(self, name: str, node: ZnodeData | None) -> znodes.Topic | None:
        def decode(data: bytes) -> znodes.Topic:
            if fault := name_fault(name):  # it names directories
                raise ValueError(fault)
            return znodes.Topic.decode(data)

        data, harm = node and node.data, "the topic stays as it was read before"
        return self._store.decoder.read(decode, znodes.topic_path(name), data, harm)

    def process_change(self) -> Work[None]:
        new = yield from self.read()
        for name in new:
            self._emit("topic.created", topic=name)
        yield from self._begin(
            [each for name in new for each in self._context.topics[name].values()]
        )

    def process_partitions(self, name: str) -> Work[None]:
        (node,) = yield [Get(znodes.topic_path(name), watch=True)]
        mended = znodes.topic_path(name) in self._store.decoder.faults
        known, topic = self._context.topics.get(name), self._topic(name, node)
        if known is None and topic is not None and mended:
            yield from self.process_change()
        if known is None or topic is None:
            return
        if mended:  # a move may have waited for it
            yield from self._reassignment.isr_changed(known.values())
        added = {
            number: replicas for number, replicas in topic.partitions.items() if number not in known
        }
        if added and name in self._context.deleting:
            left = {each: topic.partitions[each] for each in topic.partitions if each in known}
            data = topic._replace(partitions=left).encode()
            yield from self._store.write([(Set(znodes.topic_path(name), data, node.stat.version),)])
        elif added:
            same_id = self._context.topic_ids[name]  # an old program may have removed it
            self._context.add_topic(name, znodes.Topic(same_id, added))
            yield from self._begin([TopicPartition(name, number) for number in sorted(added)])

    def process_isr_notifications(self) -> Work[None]:
        notes = yield from self._store.read_notes(
            znodes.ISR_CHANGES, znodes.decode_partitions, "no ISR is read"
        )
        changed = {
            partition: None
            for partitions in notes.values()
            for partition in sorted(partitions or ())
            if partition in self._context.assignments
        }
        yield from self._store.read_states(list(changed))
        self._batch.update_metadata(self._context.brokers if changed else (), changed)
        self._batch.send()
        yield from self._store.delete(notes)
        yield from self._reassignment.isr_changed(changed)

    def _begin(self, partitions: list[TopicPartition]) -> Work[None]:
        replicas = self._context.replicas_of(partitions)
        self._partitions.mark(partitions, ControllerPartitionState.NEW)
        yield from self._replicas.move(replicas, ControllerReplicaState.NEW)
        yield from self._partitions.bring_online(partitions)
        yield from self._replicas.move(replicas, ControllerReplicaState.ONLINE)

    def _forget(self, name: str) -> None:
        partitions = self._context.topics[name].values()
        self._replicas.forget(self._context.replicas_of(partitions))
        self._partitions.forget(partitions)
        self._context.remove_topic(name)
