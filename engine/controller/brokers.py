"""Brokers that start and stop, and the effect on their partitions.

    a new id                  gets all metadata and its roles; moves and deletions continue
    an id that is gone        its partitions get new leaders; it leaves the ISR of the others
    an id with a new czxid    it has restarted since the last look: first gone, then new
    other endpoints           all brokers get the new address

A broker's epoch is the czxid of its registration. ZooKeeper never uses one twice, so a request for
one session of a broker is never taken for a request to another.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from engine.controller.context import Context, LiveBroker, PartitionAndReplica
from engine.controller.deletion import Deletion
from engine.controller.metadata_store import MetadataStore, ask
from engine.controller.partition_state_machine import (
    ControllerPartitionState,
    PartitionStateMachine,
)
from engine.controller.replica_state_machine import ControllerReplicaState, ReplicaStateMachine
from engine.controller.requests import ControllerRequestBatch
from engine.errors import ErrorCode
from engine.model import TopicPartition
from engine.wire.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from engine.zookeeper import znodes
from engine.zookeeper.requests import Children, Get, Work, ZnodeData

_ID = re.compile("0|[1-9][0-9]{0,8}", re.ASCII)


@dataclass(eq=False)
class Brokers:
    _context: Context
    _store: MetadataStore
    _batch: ControllerRequestBatch
    _partitions: PartitionStateMachine
    _replicas: ReplicaStateMachine
    _deletion: Deletion
    _emit: Callable[..., None]  # an event: its kind, then the facts by name

    def read(self) -> Work[dict[int, LiveBroker]]:
        names = (yield [Children(znodes.BROKER_IDS, watch=True)])[0] or ()
        ids = sorted(int(each) for each in names if _ID.fullmatch(each))
        for name in sorted(set(names) - set(map(str, ids))):
            path = f"{znodes.BROKER_IDS}/{name}"
            self._store.decoder.report(path, f"{name!r} is not a broker id", "it is ignored")
        nodes = yield from ask([Get(znodes.broker_path(each), watch=True) for each in ids])
        return {
            broker: LiveBroker(node.stat.czxid, registration)
            for broker, node in zip(ids, nodes, strict=True)
            if (registration := self._registration(broker, node)) is not None
        }

    def _registration(self, broker: int, node: ZnodeData | None) -> znodes.BrokerInfo | None:
        """If it cannot be read, the one that was read before in the same session is used."""
        path, known = znodes.broker_path(broker), self._context.brokers.get(broker)
        data, harm = node and node.data, "the last readable registration is used"
        found = self._store.decoder.read(znodes.BrokerInfo.decode, path, data, harm)
        if found is None and node is not None and known and known.epoch == node.stat.czxid:
            return known.registration
        return found

    def process_change(self) -> Work[None]:
        """In Kafka's order: new brokers, restarted ones, those that are gone."""
        known, found = self._context.brokers, (yield from self.read())
        new = sorted(found.keys() - known.keys())
        gone = sorted(known.keys() - found.keys())
        both = sorted(found.keys() & known.keys())
        bounced = [each for each in both if found[each].epoch != known[each].epoch]
        yield from self._up({each: found[each] for each in new})
        yield from self._down(bounced)
        yield from self._up({each: found[each] for each in bounced})
        yield from self._down(gone)

    def process_broker(self, broker: int) -> Work[None]:
        """The registration of a broker may have changed. `process_change` handles a restart."""
        (node,) = yield [Get(znodes.broker_path(broker), watch=True)]
        mended = znodes.broker_path(broker) in self._store.decoder.faults
        known, registration = self._context.brokers.get(broker), self._registration(broker, node)
        if known is None and registration is not None and mended:
            yield from self.process_change()
        if node is None or known is None or node.stat.czxid != known.epoch:
            return
        if registration and registration.endpoints != known.registration.endpoints:
            self._context.brokers[broker] = known._replace(registration=registration)
            self._batch.update_metadata(self._context.brokers)
            self._batch.send()

    def _up(self, new: dict[int, LiveBroker]) -> Work[None]:
        if not new:
            return
        for broker in new:
            self._context.broken.pop(broker, None)
            self._emit("broker.up", broker=broker)
        before = list(self._context.brokers)
        self._context.brokers.update(new)
        self._batch.update_metadata(before)
        self._batch.send()
        self._batch.update_metadata(new, (partition for partition, _ in self._context.led()))
        self._batch.send()
        replicas = self._context.replicas_on(new)
        yield from self._replicas.move(replicas, ControllerReplicaState.ONLINE)
        yield from self._partitions.retry()
        yield from self._deletion.resume({each.partition.topic for each in replicas})

    def _down(self, gone: list[int]) -> Work[None]:
        if not gone:
            return
        for broker in gone:
            del self._context.brokers[broker]
            self._context.broken.pop(broker, None)
            self._context.shutting_down.discard(broker)
            self._emit("broker.down", broker=broker)
        yield from self._offline(self._context.replicas_on(gone))

    def _offline(self, replicas: list[PartitionAndReplica]) -> Work[None]:
        """Leaders first: without a leader no client can write."""
        leaderless = self._context.leaderless()
        self._partitions.mark(leaderless, ControllerPartitionState.OFFLINE)
        yield from self._partitions.retry()
        kept = [each for each in replicas if not self._context.deleted(each.partition)]
        yield from self._replicas.move(kept, ControllerReplicaState.OFFLINE)
        yield from self._deletion.replicas_failed(replicas)
        if not kept:  # else the brokers got it already
            self._batch.update_metadata(self._context.brokers)
            self._batch.send()

    # -- disks that fail -----------------------------------------------------------------

    def process_log_dir_events(self) -> Work[None]:
        """Send brokers with a failed disk their roles again: their answers name the errors."""
        notes = yield from self._store.read_notes(
            znodes.LOG_DIR_EVENTS, znodes.decode_log_dir_failure, "no broker gets its roles again"
        )
        brokers = {broker for broker in notes.values() if broker is not None}
        yield from self._replicas.move(
            self._context.replicas_on(brokers), ControllerReplicaState.ONLINE
        )
        yield from self._store.delete(notes)

    def answered(
        self, broker: int, request: LeaderAndIsrRequest, response: LeaderAndIsrResponse
    ) -> Work[None]:
        if response.error_code != ErrorCode.none:
            return
        names = {topic.topic_id: topic.topic_name for topic in request.topic_states}
        asked = {
            TopicPartition(topic.topic_name, each.partition_index)
            for topic in request.topic_states
            for each in topic.partition_states
        }
        errors = {
            partition: each.error_code
            for topic in response.topics
            if topic.topic_id in names
            for each in topic.partition_errors
            if (partition := TopicPartition(names[topic.topic_id], each.partition_index)) in asked
        }
        failed = _having(ErrorCode.kafka_storage_error, errors)
        before = self._context.broken.get(broker, set())
        self._context.broken[broker] = before - _having(ErrorCode.none, errors) | failed
        if failed - before:
            yield from self._offline(
                [PartitionAndReplica(each, broker) for each in sorted(failed - before)]
            )


def _having(code: ErrorCode, errors: dict[TopicPartition, ErrorCode]) -> set[TopicPartition]:
    return {partition for partition, error in errors.items() if error is code}
