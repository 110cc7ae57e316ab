"""Elections on request: of preferred leaders, unclean ones, and before a broker stops.

    ElectLeaders                            a client's request, partition by partition
    /admin/preferred_replica_election       the same, before Kafka 2.4
    Rebalance                               by itself, if a broker leads too few of its partitions
    ControlledShutdown                      a broker wants to stop: other brokers take over

The preferred leader is the first replica. After a failure other replicas lead; without these
elections a broker that was down would never lead again.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from engine.config import BrokerConfig
from engine.controller.context import Context, PartitionAndReplica
from engine.controller.election import Rule
from engine.controller.metadata_store import MetadataStore
from engine.controller.partition_state_machine import PartitionStateMachine
from engine.controller.replica_state_machine import ControllerReplicaState, ReplicaStateMachine
from engine.controller.requests import ControllerRequestBatch
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.zookeeper import znodes
from engine.zookeeper.requests import Exists, Get, Work

Outcomes = dict[TopicPartition, ApiException | None]


@dataclass(eq=False)
class Leaders:
    _context: Context
    _store: MetadataStore
    _batch: ControllerRequestBatch
    _partitions: PartitionStateMachine
    _replicas: ReplicaStateMachine
    _config: BrokerConfig

    def elect(self, partitions: Iterable[TopicPartition] | None, unclean: bool) -> Work[Outcomes]:
        asked = sorted(self._context.assignments if partitions is None else partitions)
        outcomes: Outcomes = {each: self._fault(each, unclean) for each in asked}
        wanted = [each for each, fault in outcomes.items() if fault is None]
        rule, code = (
            (Rule.OFFLINE, ErrorCode.eligible_leaders_not_available)
            if unclean
            else (Rule.PREFERRED, ErrorCode.preferred_leader_not_available)
        )
        elected = yield from self._partitions.bring_online(wanted, rule, unclean=unclean)
        for each in wanted:
            if each not in elected:
                why = f"Failed to elect leader for partition {each} under strategy {rule.name}"
                outcomes[each] = ApiException(code, why)
        return outcomes

    def _fault(self, partition: TopicPartition, unclean: bool) -> ApiException | None:
        """The error, if there is nothing to elect."""
        code, text = ErrorCode.unknown_topic_or_partition, "The partition does not exist."
        if partition in self._context.assignments:
            good = self._context.live if unclean else self._context.replicas(partition)[:1]
            if partition.topic in self._context.deleting:
                code, text = ErrorCode.invalid_topic_exception, "The topic is being deleted"
            elif self._context.leader(partition) in good:
                code = ErrorCode.election_not_needed
                text = "Leader election not needed for topic partition."
            else:
                return None
        return ApiException(code, text)

    def process_requests(self) -> Work[None]:
        """/admin/preferred_replica_election. The request is deleted in any case."""
        path = znodes.PREFERRED_ELECTION
        _, node = yield [Exists(path, watch=True), Get(path)]
        if node is not None:
            asked = self._store.decoder.read(
                znodes.decode_partitions, path, node.data, "nothing is elected, and it is deleted"
            )
            yield from self.elect(asked or (), unclean=False)
            yield from self._store.delete([path])

    def rebalance(self) -> Work[None]:
        """If other brokers lead too many of a broker's partitions, it gets all of them back."""
        if self._context.moving:
            return
        own: dict[int, int] = defaultdict(int)  # how many partitions a broker should lead
        elsewhere: dict[int, list[TopicPartition]] = defaultdict(list)
        for partition, known in self._context.led():
            preferred = self._context.replicas(partition)[0]
            own[preferred] += 1
            if known.state.leader != preferred:
                elsewhere[preferred].append(partition)
        limit = self._config.leader_imbalance_per_broker_percentage
        wanted = [
            partition
            for broker, partitions in sorted(elsewhere.items())
            if 100 * len(partitions) > limit * own[broker]
            for partition in partitions
            if self._may_lead(broker, partition)
        ]
        yield from self._partitions.bring_online(wanted, Rule.PREFERRED)

    def _may_lead(self, broker: int, partition: TopicPartition) -> bool:
        in_sync = broker in self._context.leadership[partition].state.isr
        return in_sync and self._context.online(broker, partition)

    def shut_down(self, broker: int, broker_epoch: int) -> Work[set[TopicPartition] | ApiException]:
        """Returns the partitions that it still leads, for lack of another replica."""
        alive = self._context.brokers.get(broker)
        if alive is None:
            return ApiException(
                ErrorCode.broker_not_available, f"Broker id {broker} does not exist."
            )
        if broker_epoch < alive.epoch:
            return ApiException(
                ErrorCode.stale_broker_epoch,
                f"Received controlled shutdown request from an old broker epoch {broker_epoch} "
                f"for broker {broker}. Current broker epoch is {alive.epoch}.",
            )
        self._context.shutting_down.add(broker)
        held = [
            partition
            for partition, _ in self._context.led()
            if broker in (replicas := self._context.replicas(partition)) and len(replicas) > 1
        ]
        leads = [each for each in held if self._context.leader(each) == broker]
        follows = [each for each in held if self._context.leader(each) != broker]
        yield from self._partitions.bring_online(leads, Rule.SHUTDOWN)
        for partition in follows:  # before it leaves the ISR: else it would join again
            self._batch.stop_replica(broker, partition, delete=False)
        self._batch.send()
        yield from self._replicas.move(
            [PartitionAndReplica(each, broker) for each in follows], ControllerReplicaState.OFFLINE
        )
        return {each for each in held if self._context.leader(each) == broker}
