"""The controller that leads the quorum: it decides, and its records change its image.

    activation     the records of bootstrap.checkpoint, if nothing was written before
    a request      one method each, or that of a part: ControllerResult(records, response)
    tick           brokers that are silent, leaders out of place, unclean elections that have become
                   allowed, NoOp while nothing else is written
    replay         the records of a result, at the offsets that they will have

Whoever runs it replays the records of each result at once, and appends them, all or none, before
anything else happens. The next decision is made by the new image, though nothing is committed yet:
it is given up with the whole QuorumController if another node takes the lead.

Invariant: the image is that of the log of this node up to `next_offset`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from engine.controller.election import Elect, elect
from engine.errors import ApiException, ErrorCode
from engine.metadata.image import MetadataImage
from engine.metadata.records.brokers import (
    NoOpRecord,
    ProducerIdsRecord,
    UnregisterBrokerRecord,
)
from engine.quorum_controller.broker_heartbeats import (
    BROKER_CONTROL_STEPS,
    BrokerControlState,
    BrokerHeartbeat,
    BrokerHeartbeatManager,
)
from engine.quorum_controller.cluster_control import (
    BrokerRegistrationAsked,
    ClusterControlManager,
)
from engine.quorum_controller.feature_control import update_feature
from engine.quorum_controller.leader_elections import LeaderElections
from engine.quorum_controller.partition_change import PartitionChangeBuilder
from engine.quorum_controller.reassignments import Reassignments
from engine.quorum_controller.replication_control import ReplicationControlManager
from engine.quorum_controller.result import ControllerResult

PRODUCER_ID_BLOCK = 1000
LEVEL_OF_NO_OP = 5  # 3.3-IV1
ELECT_AGAIN_MS = 10  # after a batch of elections that was full


class FeatureUpdateAsked(NamedTuple):
    name: str
    level: int
    upgrade: int  # an UpgradeType


class HeartbeatReply(NamedTuple):
    is_caught_up: bool
    is_fenced: bool
    should_shut_down: bool


@dataclass(frozen=True, kw_only=True)
class QuorumControllerConfig:
    """See the keys of the same names in config/quorum.py and config/broker.py."""

    broker_session_timeout_ms: int = 9000
    metadata_max_idle_interval_ms: int = 500  # 0: no NoOp records
    auto_leader_rebalance_enable: bool = True
    leader_imbalance_check_interval_ms: int = 300_000
    unclean_leader_election_enable: bool = False
    unclean_leader_election_interval_ms: int = 300_000


@dataclass(slots=True)
class PeriodicElections:
    at_ms: int  # when they are due next
    interval_ms: int
    elect: Callable[[], ControllerResult[bool]]  # the response: whether there may be more to do


class QuorumController:
    def __init__(
        self,
        node: int,
        cluster_id: str,
        image: MetadataImage,
        config: QuorumControllerConfig,
        now: int,
        elect: Elect = elect,
    ) -> None:
        """The image is its own from now on: it has everything that the log of this node has."""
        self.node, self.image, self._config = node, image, config
        heartbeats = BrokerHeartbeatManager(config.broker_session_timeout_ms)
        self.cluster = ClusterControlManager(cluster_id, image, heartbeats)
        self.replication = ReplicationControlManager(
            *(image, self.cluster, PartitionChangeBuilder(self.cluster.is_active, elect)),
            unclean=config.unclean_leader_election_enable,
        )
        self.elections = LeaderElections(self.replication)
        self.reassignments = Reassignments(self.replication)
        self._last_write_ms = now
        waits = [(config.unclean_leader_election_interval_ms, self.elections.elect_uncleanly)]
        if config.auto_leader_rebalance_enable:
            waits.append((config.leader_imbalance_check_interval_ms, self.elections.balance))
        self._periodic = [PeriodicElections(now + ms, ms, elect) for ms, elect in waits]
        for broker in image.brokers:
            heartbeats.register(broker, now)

    # -- records ---------------------------------------------------------------------------

    @property
    def next_offset(self) -> int:
        """The offset of the next record that is appended."""
        return self.image.offset + 1

    def replay(self, records: Sequence[Any], now: int) -> None:
        """Records that are appended now."""
        for record in records:
            self.image.replay(record)
            self.image.offset += 1
        self._last_write_ms = now

    def activation(self, bootstrap: Iterable[Any]) -> ControllerResult[None]:
        """The first records of a cluster. A later leader has none to write."""
        return ControllerResult([] if self.image.features else list(bootstrap), None)

    # -- brokers ---------------------------------------------------------------------------

    def register_broker(self, asked: BrokerRegistrationAsked, now: int) -> ControllerResult[int]:
        """The response: the epoch of the broker."""
        self.cluster.check(asked, now)
        known = self.image.brokers.get(asked.broker)
        is_same = known is not None and known.incarnation == asked.incarnation
        records = list[Any]()
        if known is not None and not known.fenced and not is_same:
            records += self.replication.without_broker(asked.broker)
        record = self.cluster.registration(asked, self.next_offset + len(records))
        self.cluster.heartbeats.register(asked.broker, now)
        return ControllerResult([*records, record], record.broker_epoch)

    def heartbeat(self, heartbeat: BrokerHeartbeat, now: int) -> ControllerResult[HeartbeatReply]:
        broker = heartbeat.broker
        known = self.cluster.check_epoch(broker, heartbeat.epoch)
        state, heartbeats = self.cluster.state(broker), self.cluster.heartbeats
        step = heartbeats.step(
            *(state, heartbeat, known.epoch, self.cluster.active),
            lambda: self.replication.leads(broker),
        )
        after = state if step is None else BROKER_CONTROL_STEPS.get((state, step), state)
        records = [] if after is state else self._records(broker, after)
        offset = heartbeats.shutdown_offset(broker)
        if after is not BrokerControlState.CONTROLLED_SHUTDOWN:
            offset = None
        elif offset is None:
            offset = self.next_offset + len(records) - 1
        heartbeats.touch(heartbeat, now, offset)
        stops = after is BrokerControlState.SHUTDOWN_NOW
        reply = HeartbeatReply(
            heartbeat.metadata_offset >= known.epoch,
            after is BrokerControlState.FENCED or stops,
            stops,
        )
        return ControllerResult(records, reply)

    def _records(self, broker: int, after: BrokerControlState) -> list[Any]:
        match after:
            case BrokerControlState.UNFENCED:
                return self.replication.unfenced(broker)
            case BrokerControlState.CONTROLLED_SHUTDOWN:
                return self.replication.shut_down(broker)
            case BrokerControlState.FENCED | BrokerControlState.SHUTDOWN_NOW:
                return [] if self.image.brokers[broker].fenced else self.replication.fenced(broker)

    def unregister_broker(self, broker: int) -> ControllerResult[None]:
        known = self.image.brokers.get(broker)
        if known is None:
            raise ApiException(
                ErrorCode.broker_id_not_registered,
                f"Broker ID {broker} is not currently registered",
            )
        record = UnregisterBrokerRecord(broker_id=broker, broker_epoch=known.epoch)
        return ControllerResult([*self.replication.without_broker(broker), record], None)

    def allocate_producer_ids(self, broker: int, epoch: int) -> ControllerResult[range]:
        self.cluster.check_epoch(broker, epoch)
        first = self.image.next_producer_id
        block = range(first, first + PRODUCER_ID_BLOCK)
        record = ProducerIdsRecord(
            broker_id=broker, broker_epoch=epoch, next_producer_id=block.stop
        )
        return ControllerResult([record], block)

    # -- features --------------------------------------------------------------------------

    def update_features(
        self, updates: Iterable[FeatureUpdateAsked], *, validate_only: bool
    ) -> ControllerResult[dict[str, ApiException | None]]:
        """Each feature succeeds or fails on its own."""
        records, outcomes = list[Any](), dict[str, ApiException | None]()
        for name, level, upgrade in updates:
            try:
                records.append(update_feature(self.image, self.node, name, level, upgrade))
                outcomes[name] = None
            except ApiException as error:
                outcomes[name] = error
        return ControllerResult([] if validate_only else records, outcomes)

    # -- time ------------------------------------------------------------------------------

    def tick(self, now: int) -> ControllerResult[None] | None:
        """What is due; None: nothing. Call it again after its records are replayed."""
        expired = self.cluster.heartbeats.expired(self.cluster.unfenced, now)
        if expired:
            return ControllerResult(self.replication.fenced(expired[0]), None)
        for due in [elections for elections in self._periodic if now >= elections.at_ms]:
            records, more = due.elect()
            due.at_ms = now + (ELECT_AGAIN_MS if more else due.interval_ms)
            if records:
                return ControllerResult(records, None)
        if (idle := self._idle_at_ms) is not None and now >= idle:
            return ControllerResult([NoOpRecord()], None)
        return None

    def deadline(self) -> int | None:
        """The next time at which `tick` may have something to do."""
        times = self.cluster.heartbeats.deadlines(self.cluster.unfenced)
        times += [elections.at_ms for elections in self._periodic]
        if (idle := self._idle_at_ms) is not None:
            times.append(idle)
        return min(times, default=None)

    @property
    def _idle_at_ms(self) -> int | None:
        interval = self._config.metadata_max_idle_interval_ms
        if interval == 0 or self.cluster.level < LEVEL_OF_NO_OP:
            return None
        return self._last_write_ms + interval
