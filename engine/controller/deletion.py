"""The deletion of topics: first the logs on every broker, then the znodes, the request last.

    /admin/delete_topics/T
      1  UpdateMetadata, leader -2        for clients the topic does not exist any more
      2  StopReplica, keep the log        followers stop fetching, the leader stops serving
      3  StopReplica, delete the log      each broker answers for each replica
      4  then /brokers/topics/T, /config/topics/T, /admin/delete_topics/T are deleted, in this order

A topic waits while one of its partitions moves, or while the broker of one of its replicas is down.
When the broker is back, the deletion continues. A new controller finds the request in ZooKeeper and
starts again: deleting twice does no harm.

With `delete.topic.enable=false` only the request is removed.

Invariant: no new topic of the same name before every replica of the old one is deleted.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from engine.config import BrokerConfig
from engine.controller.context import Context, PartitionAndReplica
from engine.controller.metadata_store import MetadataStore
from engine.controller.partition_state_machine import (
    ControllerPartitionState,
    PartitionStateMachine,
)
from engine.controller.replica_state_machine import ControllerReplicaState, ReplicaStateMachine
from engine.controller.requests import ControllerRequestBatch
from engine.zookeeper import znodes
from engine.zookeeper.requests import Children, Work


@dataclass(eq=False)
class Deletion:
    _context: Context
    _store: MetadataStore
    _batch: ControllerRequestBatch
    _partitions: PartitionStateMachine
    _replicas: ReplicaStateMachine
    _config: BrokerConfig
    _emit: Callable[..., None]  # an event: its kind, then the facts by name
    _halted: set[str] = field(default_factory=set)  # until a broker returns

    # -- events --------------------------------------------------------------------------

    def process_requests(self) -> Work[None]:
        """Read the requests. One for a topic that does not exist is removed at once."""
        asked = set((yield [Children(znodes.DELETE_TOPICS, watch=True)])[0] or ())
        known = asked & self._context.topics.keys()
        if not self._config.delete_topic_enable:
            yield from self._store.delete(map(znodes.deleted_topic_path, sorted(asked)))
            return
        faults = self._store.decoder.faults
        for name in sorted(asked - known):
            if znodes.topic_path(name) not in faults:  # else wait until the topic can be read
                yield from self._store.delete(_last_paths(name))
        self._context.deleting |= known
        self._context.deletable |= known - self._context.moving_topics

    def resume(self, topics: Iterable[str]) -> Work[None]:
        """A broker is back, or a move has ended: continue."""
        again = self._context.deleting & set(topics)
        self._halted -= again
        self._context.deletable |= again - self._context.moving_topics
        if again:
            yield from self.proceed()

    def replicas_failed(self, replicas: Iterable[PartitionAndReplica]) -> Work[None]:
        """Their brokers are down, or could not delete them."""
        failed = [each for each in replicas if self._context.deleted(each.partition)]
        if failed:
            yield from self._replicas.move(failed, ControllerReplicaState.INELIGIBLE)
            self._halted.update(each.partition.topic for each in failed)
            yield from self.proceed()

    def replicas_deleted(self, replicas: Iterable[PartitionAndReplica]) -> Work[None]:
        done = [each for each in replicas if self._context.deleted(each.partition)]
        yield from self._replicas.move(done, ControllerReplicaState.SUCCESSFUL)
        yield from self.proceed()

    def is_under_way(self, topic: str) -> bool:
        return topic in self._context.deletable and topic not in self._halted

    # -- steps ---------------------------------------------------------------------------

    def proceed(self) -> Work[None]:
        """Do the next steps of every deletion."""
        retry: list[PartitionAndReplica] = []
        begin: list[str] = []
        for topic in sorted(self._context.deletable):
            states = {each: self._replicas.state(each) for each in self._replicas_of(topic)}
            found = set(states.values())
            if found <= {ControllerReplicaState.SUCCESSFUL}:
                yield from self._complete(topic)
            elif ControllerReplicaState.STARTED not in found:  # no answer is pending
                failed = ControllerReplicaState.INELIGIBLE
                retry += [each for each, state in states.items() if state is failed]
                if topic not in self._halted:
                    begin.append(topic)
        if retry:
            yield from self._replicas.move(retry, ControllerReplicaState.OFFLINE)
        if begin:
            yield from self._begin(begin)

    def _begin(self, topics: list[str]) -> Work[None]:
        partitions = [each for topic in topics for each in self._context.topics[topic].values()]
        self._partitions.mark(partitions, ControllerPartitionState.OFFLINE)
        self._partitions.mark(partitions, ControllerPartitionState.NON_EXISTENT)
        self._batch.update_metadata(self._context.brokers, partitions)
        self._batch.send()
        alive: list[PartitionAndReplica] = []
        dead: list[PartitionAndReplica] = []
        for replica in self._context.replicas_of(partitions):
            online = self._context.online(replica.broker, replica.partition)
            (alive if online else dead).append(replica)
        yield from self._replicas.move(dead, ControllerReplicaState.INELIGIBLE)
        self._halted.update(each.partition.topic for each in dead)
        done = ControllerReplicaState.SUCCESSFUL
        rest = [each for each in alive if self._replicas.state(each) is not done]
        yield from self._replicas.move(rest, ControllerReplicaState.OFFLINE)
        yield from self._replicas.move(rest, ControllerReplicaState.STARTED)

    def _complete(self, topic: str) -> Work[None]:
        yield from self._store.delete_tree(znodes.topic_path(topic))
        yield from self._store.delete(_last_paths(topic))
        self._replicas.forget(self._replicas_of(topic))
        self._partitions.forget(self._context.topics[topic].values())
        self._context.remove_topic(topic)
        self._halted.discard(topic)
        self._emit("topic.deleted", topic=topic)

    def _replicas_of(self, topic: str) -> list[PartitionAndReplica]:
        return self._context.replicas_of(self._context.topics[topic].values())


def _last_paths(topic: str) -> tuple[str, str]:
    return znodes.config_path("topics", topic), znodes.deleted_topic_path(topic)
