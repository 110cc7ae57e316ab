"""A MetadataDelta reaches each part of a broker that it concerns, and no other."""

import pytest

from engine.broker import secure_listeners
from engine.errors import ApiException, ErrorCode
from engine.metadata.delta import (
    BrokerEndpoint,
    BrokerRegistration,
    MetadataDelta,
    PartitionChange,
    PartitionRegistration,
)
from engine.metadata.lifecycle import LifecycleState, LifecycleStep
from engine.model import TopicPartition
from engine.quotas.entity import ClientQuotaEntity
from engine.security.authorizer import AclAuthorizer
from tests.unit.broker import alone

ORDERS = TopicPartition("orders", 0)
LED = PartitionRegistration(leader=2, leader_epoch=7, isr=(2,), replicas=(2, 1))


class Quotas:
    """Keeps what it was told."""

    def __init__(self):
        self.configured = []

    def configure(self, quotas):
        self.configured.append(quotas)


class Coordinator:
    """Keeps what it was told."""

    def __init__(self):
        self.forgotten, self.configs = [], []

    def forget(self, partitions):
        assert partitions, "a group without offsets would be forgotten, too"
        self.forgotten += partitions

    def configure(self, config):
        self.configs.append(config)


@pytest.fixture
def broker():
    return alone.broker(
        topics={"gone": [(1, (1,))]},
        groups=Coordinator(),
        transactions=Coordinator(),
        authorizer=AclAuthorizer(frozenset(), open_by_default=False),
        quotas=Quotas(),
    )


def news(**more):
    row = PartitionChange(ORDERS, None, LED)
    gone = PartitionChange(TopicPartition("gone", 0), None, None)
    two = BrokerRegistration(2, (BrokerEndpoint("PLAINTEXT", "127.0.0.1", 9002),))
    return MetadataDelta(controller=2, brokers=[two], partitions=[row, gone], **more)


def test_brokers_and_partitions_are_known_to_clients_and_groups(broker):
    broker.configs.apply(MetadataDelta(configs={("topics", "gone"): {"retention.ms": "5"}}))
    for step in (LifecycleStep.LOADED, LifecycleStep.REGISTERED):
        broker.lifecycle.take(step)
    broker.publisher.apply(news())
    assert broker.metadata.controller == 2
    assert broker.metadata.leader(ORDERS).port == 9002
    assert broker.metadata.topics.keys() == {"orders"}
    assert broker.groups.forgotten == [("gone", 0)]
    assert broker.configs.topics() == []
    assert broker.lifecycle.state is LifecycleState.READY
    assert broker.groups.configs == []


def test_a_delta_of_an_old_controller_changes_nothing(broker):
    broker.publisher.apply(MetadataDelta(controller_epoch=5))
    with pytest.raises(ApiException) as refused:
        broker.publisher.apply(news(controller_epoch=4))
    assert refused.value.code == ErrorCode.stale_controller_epoch
    assert broker.metadata.topics.keys() == {"gone"}


def test_configurations_are_passed_to_what_uses_them(broker):
    entities = {("brokers", "<default>"): {"max.connections": "7"}, ("topics", "t"): None}
    broker.publisher.apply(MetadataDelta(configs=entities))
    assert broker.configs.broker_config.max_connections == 7
    assert [each.max_connections for each in broker.groups.configs] == [7]
    assert [each.max_connections for each in broker.transactions.configs] == [7]


def test_a_listener_reads_its_certificate_again_when_the_same_path_is_set_again(monkeypatch):
    """The administrator has renewed the certificate in its file: connections that begin from now
    on get the new one."""
    monkeypatch.setattr(secure_listeners, "server_context", lambda text: object())
    one = alone.broker(
        groups=Coordinator(),
        transactions=Coordinator(),
        listeners="PLAINTEXT://:1,SSL://:2",
        inter_broker_listener_name="PLAINTEXT",
    )
    path = {"listener.name.ssl.ssl.keystore.location": "/certificates/1.pem"}
    contexts = []
    for _ in range(2):
        one.publisher.apply(MetadataDelta(configs={("brokers", "1"): path}))
        contexts.append(one.listeners.all[1].context)
    assert contexts[0] is not contexts[1]


def test_quotas_and_credentials_are_replaced_as_a_whole(broker):
    alice, configured = ClientQuotaEntity(user="alice"), broker.quotas.configured
    broker.publisher.apply(MetadataDelta(quotas={alice: {"producer_byte_rate": 9.0}}))
    assert configured == [{alice: {"producer_byte_rate": 9.0}}]
    broker.publisher.apply(MetadataDelta(credentials={"alice": {"SCRAM-SHA-256": "text"}}))
    broker.publisher.apply(MetadataDelta(credentials={"bob": {}}))
    assert broker.configs.credentials == {"bob": {}}
    assert len(configured) == 1


def test_nothing_is_forgotten_while_nothing_is_deleted(broker):
    row = PartitionChange(ORDERS, None, LED)
    broker.publisher.apply(MetadataDelta(controller=2, partitions=[row]))
    assert broker.metadata.topics.keys() == {"gone", "orders"}
    assert broker.groups.forgotten == []
