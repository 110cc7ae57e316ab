"""Brokers that come and go, and what follows for the partitions that they hold.

    a new id                  hears everything, gets its roles; what waited for it goes on
    an id that is gone        what it led gets new leaders; it leaves the ISR of what it followed
    an id with a new czxid    it died and came back before anybody looked: both, in this order
    other endpoints           everybody hears where it is to be found

A broker's epoch is the czxid of its registration. ZooKeeper never gives the same one twice, so
what was meant for one life of a broker is never taken for another's.
"""

from engine.controller import znodes
from engine.controller.asks import Children, Get, Work
from engine.controller.context import LiveBroker, Replica
from engine.controller.deletion import Deletion
from engine.controller.partitions import Partitions
from engine.controller.partitions import State as PartitionState
from engine.controller.replicas import Replicas, State
from engine.controller.term import Term, readable
from engine.errors import ErrorCode
from engine.model import TopicPartition
from engine.wire.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse


class Brokers:
    def __init__(
        self, term: Term, partitions: Partitions, replicas: Replicas, deletion: Deletion
    ) -> None:
        self._term = term
        self._context = term.context
        self._partitions = partitions
        self._replicas = replicas
        self._deletion = deletion

    def read(self) -> Work[dict[int, LiveBroker]]:
        ids = sorted(map(int, (yield [Children(znodes.BROKER_IDS, watch=True)])[0] or ()))
        asks = [Get(znodes.broker_path(each), watch=True) for each in ids]
        nodes = (yield asks) if asks else ()
        return {
            broker: LiveBroker(node.stat.czxid, registration)
            for broker, node in zip(ids, nodes, strict=True)
            if (registration := readable(znodes.Broker.decode, node)) is not None
        }

    def look(self) -> Work[None]:
        """Kafka's order: who is new, who has come back, who is gone."""
        known, found = self._context.brokers, (yield from self.read())
        new = sorted(found.keys() - known.keys())
        gone = sorted(known.keys() - found.keys())
        both = sorted(found.keys() & known.keys())
        bounced = [each for each in both if found[each].epoch != known[each].epoch]
        yield from self._up({each: found[each] for each in new})
        yield from self._down(bounced)
        yield from self._up({each: found[each] for each in bounced})
        yield from self._down(gone)

    def look_at(self, broker: int) -> Work[None]:
        """Its registration may have changed; whether it is the same life, `look` will see."""
        (node,) = yield [Get(znodes.broker_path(broker), watch=True)]
        known = self._context.brokers.get(broker)
        if node is None or known is None or node.stat.czxid != known.epoch:
            return
        registration = readable(znodes.Broker.decode, node)
        if registration and registration.endpoints != known.registration.endpoints:
            self._context.brokers[broker] = known._replace(registration=registration)
            self._term.batch.metadata(self._context.brokers)
            self._term.batch.send()

    def _up(self, new: dict[int, LiveBroker]) -> Work[None]:
        if not new:
            return
        for broker in new:
            self._context.broken.pop(broker, None)
            self._term.emit("broker.up", broker=broker)
        before = list(self._context.brokers)
        self._context.brokers.update(new)
        self._term.batch.metadata(before)
        self._term.batch.send()
        self._term.batch.metadata(new, (partition for partition, _ in self._context.led()))
        self._term.batch.send()
        replicas = self._context.replicas_on(new)
        yield from self._replicas.move(replicas, State.ONLINE)
        yield from self._partitions.retry()
        yield from self._deletion.resume({each.partition.topic for each in replicas})

    def _down(self, gone: list[int]) -> Work[None]:
        if not gone:
            return
        for broker in gone:
            del self._context.brokers[broker]
            self._context.broken.pop(broker, None)
            self._context.shutting_down.discard(broker)
            self._term.emit("broker.down", broker=broker)
        yield from self._offline(self._context.replicas_on(gone))

    def _offline(self, replicas: list[Replica]) -> Work[None]:
        """Leaders first: until there is a new one, nobody can write."""
        leaderless = self._context.leaderless()
        self._partitions.mark(leaderless, PartitionState.OFFLINE)
        yield from self._partitions.retry()
        kept = [each for each in replicas if not self._context.deleted(each.partition)]
        yield from self._replicas.move(kept, State.OFFLINE)
        yield from self._deletion.fail(replicas)
        if not kept:  # else everybody has heard already
            self._term.batch.metadata(self._context.brokers)
            self._term.batch.send()

    # -- disks that fail -----------------------------------------------------------------

    def look_at_disks(self) -> Work[None]:
        """Brokers that have lost a directory are sent their roles again: they answer which."""
        names = (yield [Children(znodes.LOG_DIR_EVENTS, watch=True)])[0] or ()
        paths = [f"{znodes.LOG_DIR_EVENTS}/{name}" for name in sorted(names)]
        nodes = (yield [Get(path) for path in paths]) if paths else ()
        failures = [readable(znodes.decode_log_dir_failure, node) for node in nodes]
        brokers = {broker for broker in failures if broker is not None}
        yield from self._replicas.move(self._context.replicas_on(brokers), State.ONLINE)
        yield from self._term.delete(paths)

    def answered(
        self, broker: int, request: LeaderAndIsrRequest, response: LeaderAndIsrResponse
    ) -> Work[None]:
        if response.error_code != ErrorCode.none:
            return
        names = {topic.topic_id: topic.topic_name for topic in request.topic_states}
        errors = {
            TopicPartition(names[topic.topic_id], each.partition_index): each.error_code
            for topic in response.topics
            if topic.topic_id in names
            for each in topic.partition_errors
        }
        failed = _with(ErrorCode.kafka_storage_error, errors)
        before = self._context.broken.get(broker, set())
        self._context.broken[broker] = before - _with(ErrorCode.none, errors) | failed
        if failed - before:
            yield from self._offline([Replica(each, broker) for each in sorted(failed - before)])


def _with(code: ErrorCode, errors: dict[TopicPartition, ErrorCode]) -> set[TopicPartition]:
    return {partition for partition, error in errors.items() if error is code}
