"""The requests to brokers after a step of the controller, batched.

    LeaderAndIsr      to each replica: lead, or follow that leader, in this epoch
    UpdateMetadata    to every live broker: the leaders, and the live brokers
    StopReplica       to a replica that must stop, and perhaps delete its log

In this order: a new leader gets its role before clients get the metadata, and a replica is removed
last. A request has the controller's state at the time when it is sent.

The broker epoch in each request says for which session of the broker it is.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from engine.controller.context import Context, LiveBroker
from engine.metadata.delta import endpoint_of
from engine.model import NO_EPOCH, TopicPartition
from engine.wire.by_topic import by_topic, topics_of
from engine.wire.messages.leader_and_isr import (
    LeaderAndIsrLiveLeader,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from engine.wire.messages.stop_replica import (
    EPOCH_DURING_DELETE,
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
)
from engine.wire.messages.update_metadata import (
    LEADER_DURING_DELETE,
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from engine.zookeeper.znodes import PROTOCOLS

Message = LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest
S = TypeVar("S")
T = TypeVar("T")


class Request(NamedTuple):
    broker: int
    broker_epoch: int  # it is dropped when this session of the broker is over
    message: Message


class ControllerRequestBatch:
    def __init__(
        self,
        context: Context,
        controller_id: int,
        controller_epoch: int,
        outbox: list[Request],
        listener: str,  # between brokers
    ) -> None:
        self._context = context
        self._listener = listener
        self._sender = {"controller_id": controller_id, "controller_epoch": controller_epoch}
        self._outbox = outbox
        self._roles: dict[int, dict[TopicPartition, bool]] = defaultdict(dict)  # is it new?
        self._stops: dict[int, dict[TopicPartition, bool]] = defaultdict(dict)  # delete it?
        self._informed: set[int] = set()  # brokers that get UpdateMetadata
        self._updated: dict[TopicPartition, None] = {}  # in this order

    # -- collect -------------------------------------------------------------------------

    def leader_and_isr(
        self, brokers: Iterable[int], partition: TopicPartition, *, new: bool = False
    ) -> None:
        """LeaderAndIsr to these brokers, and UpdateMetadata to all."""
        for broker in brokers:
            self._roles[broker][partition] = new
        self.update_metadata(self._context.brokers, (partition,))

    def stop_replica(self, broker: int, partition: TopicPartition, *, delete: bool) -> None:
        self._stops[broker][partition] = delete

    def update_metadata(
        self, brokers: Iterable[int], partitions: Iterable[TopicPartition] = ()
    ) -> None:
        """UpdateMetadata to these brokers; without partitions, only the live brokers."""
        self._informed.update(brokers)
        self._updated.update(dict.fromkeys(partitions))

    # -- send ----------------------------------------------------------------------------

    def send(self) -> None:
        self._send_roles()
        self._send_metadata()
        self._send_stops()
        for gathered in (self._roles, self._stops, self._informed, self._updated):
            gathered.clear()

    def _post(self, broker: int, kind: Callable[..., Message], **fields: Any) -> None:
        epoch = self._context.brokers[broker].epoch
        message = kind(**self._sender, broker_epoch=epoch, **fields)
        self._outbox.append(Request(broker, epoch, message))

    def _send_roles(self) -> None:
        known: dict[tuple[TopicPartition, bool], LeaderAndIsrPartitionState] = {}
        for broker, roles in self._alive(self._roles):
            for each in roles.items() - known.keys():
                known[each] = self._role_state(*each)
            states = {each[0]: known[each] for each in roles.items()}
            leaders = {state.leader for state in states.values()} & self._context.brokers.keys()
            self._post(
                broker,
                LeaderAndIsrRequest,
                topic_states=self._topics(LeaderAndIsrTopicState, states),
                live_leaders=tuple(map(self._address, sorted(leaders))),
            )

    def _role_state(self, partition: TopicPartition, new: bool) -> LeaderAndIsrPartitionState:
        state, version = self._context.leadership[partition]
        assigned = self._context.assignments[partition]
        return LeaderAndIsrPartitionState(
            partition_index=partition.partition,
            **state._asdict(),
            zk_version=version,
            replicas=assigned.replicas,
            adding_replicas=assigned.adding,
            removing_replicas=assigned.removing,
            is_new=new,
        )

    def _address(self, broker: int) -> LeaderAndIsrLiveLeader:
        endpoints = self._context.brokers[broker].registration.endpoints
        endpoint = endpoint_of(endpoints, self._listener)
        return LeaderAndIsrLiveLeader(broker_id=broker, host_name=endpoint.host, port=endpoint.port)

    def _send_metadata(self) -> None:
        context = self._context
        known = [each for each in self._updated if each in context.leadership]
        states = {each: self._metadata_state(each) for each in known}
        topics = self._topics(UpdateMetadataTopicState, states)
        live = tuple(_describe(*item) for item in sorted(context.brokers.items()))
        for broker in sorted(self._informed & context.brokers.keys()):
            self._post(broker, UpdateMetadataRequest, topic_states=topics, live_brokers=live)

    def _metadata_state(self, partition: TopicPartition) -> UpdateMetadataPartitionState:
        state, version = self._context.leadership[partition]
        if self._context.deleted(partition):
            state, version = state._replace(leader=LEADER_DURING_DELETE, leader_epoch=0), 0
        replicas = self._context.replicas(partition)
        offline = tuple(each for each in replicas if not self._context.online(each, partition))
        return UpdateMetadataPartitionState(
            partition_index=partition.partition,
            **state._asdict(),
            zk_version=version,
            replicas=replicas,
            offline_replicas=offline,
        )

    def _send_stops(self) -> None:
        for broker, stops in self._alive(self._stops):
            states = {
                partition: StopReplicaPartitionState(
                    partition_index=partition.partition,
                    leader_epoch=self._stop_epoch(partition),
                    delete_partition=delete,
                )
                for partition, delete in stops.items()
            }
            topics = topics_of(
                StopReplicaTopicState, states.items(), "topic_name", "partition_states"
            )
            self._post(broker, StopReplicaRequest, topic_states=topics)

    def _stop_epoch(self, partition: TopicPartition) -> int:
        if self._context.deleted(partition):
            return EPOCH_DURING_DELETE
        known = self._context.leadership.get(partition)
        return known.state.leader_epoch if known else NO_EPOCH

    def _alive(self, gathered: Mapping[int, S]) -> list[tuple[int, S]]:
        """A broker that is gone gets no request: it gets everything when it is back."""
        return [item for item in sorted(gathered.items()) if item[0] in self._context.brokers]

    def _topics(
        self, kind: Callable[..., T], states: Mapping[TopicPartition, Any]
    ) -> tuple[T, ...]:
        ids = self._context.topic_ids
        return tuple(
            kind(topic_name=topic, topic_id=ids[topic], partition_states=listed)
            for topic, listed in by_topic(states.items())
        )


def _describe(broker: int, alive: LiveBroker) -> UpdateMetadataBroker:
    endpoints = tuple(
        UpdateMetadataEndpoint(
            port=port, host=host, listener=listener, security_protocol=PROTOCOLS[protocol]
        )
        for listener, host, port, protocol in alive.registration.endpoints
    )
    return UpdateMetadataBroker(id=broker, endpoints=endpoints, rack=alive.registration.rack)
