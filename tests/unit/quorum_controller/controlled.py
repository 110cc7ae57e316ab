"""A quorum controller for tests: its records are replayed at once, and kept."""

from uuid import UUID

import pytest

from engine.errors import ApiException
from engine.metadata.image import MetadataImage
from engine.metadata.records.brokers import FeatureLevelRecord, RecordEndpoint, RecordFeature
from engine.metadata.records.framing import decode_record, encode_record
from engine.model import TopicPartition
from engine.quorum_controller.broker_heartbeats import BrokerHeartbeat
from engine.quorum_controller.cluster_control import BrokerRegistrationAsked
from engine.quorum_controller.quorum_controller import QuorumController, QuorumControllerConfig
from engine.quorum_controller.replication_control import PartitionChangeAsked

CLUSTER = "O2whmP1nSWeNENpX08USQQ"
SESSION_MS, IDLE_MS, BALANCE_MS = 9000, 500, 300_000
ORDERS = UUID(int=1000)
P0 = TopicPartition("orders", 0)
LEVELS = (1, 7)


def refused(call, *arguments, **named):
    """The error code with which a call is refused."""
    with pytest.raises(ApiException) as error:
        call(*arguments, **named)
    return error.value.code


def asked(broker, process=1, cluster=CLUSTER, levels=LEVELS):
    """A registration. `process` makes the incarnation id."""
    feature = RecordFeature(
        name="metadata.version", min_supported_version=levels[0], max_supported_version=levels[1]
    )
    endpoint = RecordEndpoint(name="A", host="h", port=9092, security_protocol=0)
    incarnation = UUID(int=100 * broker + process)
    return BrokerRegistrationAsked(broker, cluster, incarnation, (endpoint,), (feature,), None)


class Controlled:
    def __init__(self, brokers=(), level=7, **config):
        config = QuorumControllerConfig(broker_session_timeout_ms=SESSION_MS, **config)
        self.config, self.now, self.records = config, 0, []
        self.controller = QuorumController(101, CLUSTER, MetadataImage(), config, 0)
        feature = FeatureLevelRecord(name="metadata.version", feature_level=level)
        self.do(self.controller.activation([feature]))
        for broker in brokers:
            self.register(broker)
            self.beat(broker)

    @property
    def image(self):
        return self.controller.image

    @property
    def partition(self):
        """Partition 0 of orders."""
        return self.image.partition(P0)

    def do(self, result):
        """Replay the records, as their bytes say; returns the response."""
        records = [decode_record(encode_record(record), 0).record for record in result.records]
        self.controller.replay(records, self.now)
        self.records += records
        return result.response

    def register(self, broker, process=1, **fields):
        return self.do(self.controller.register_broker(asked(broker, process, **fields), self.now))

    def beat(self, broker, *, offset=None, epoch=None, fence=False, shutdown=False):
        """A heartbeat of a broker that has read all, unless told otherwise."""
        offset = self.image.offset if offset is None else offset
        epoch = self.image.brokers[broker].epoch if epoch is None else epoch
        heartbeat = BrokerHeartbeat(broker, epoch, offset, fence, shutdown)
        return self.do(self.controller.heartbeat(heartbeat, self.now))

    def create(self, *replicas, config=()):
        """Topic orders, with one partition."""
        create = self.controller.replication.create_topic
        self.do(create("orders", ORDERS, {0: replicas}, dict(config)))

    def alter_isr(self, *isr, broker=None, **changed):
        """AlterPartition by the leader; returns the outcome of partition 0."""
        known, broker = self.partition, self.partition.leader if broker is None else broker
        change = PartitionChangeAsked(ORDERS, 0, known.leader_epoch, isr, 0, known.version)
        epoch = self.image.brokers[broker].epoch
        alter = self.controller.replication.alter_partitions
        (outcome,) = self.do(alter(broker, epoch, [change._replace(**changed)]))
        return outcome

    def pass_ms(self, ms, alive=()):
        """Time passes, in which these brokers send heartbeats."""
        end = self.now + ms
        while self.now < end:
            self.now = min(end, self.now + SESSION_MS // 3)
            for broker in alive:
                self.beat(broker)
            while (result := self.controller.tick(self.now)) is not None:
                self.do(result)
