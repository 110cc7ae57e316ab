"""The keys of a broker without ZooKeeper, and Kafka's sentences for those that do not fit."""

from argparse import Namespace

import pytest

from engine.cli.broker import settings_of
from engine.cluster import defaults
from engine.config.kraft import KRaftBrokerConfig
from engine.errors import ApiException
from engine.quorum_server.combined_node import controller_config

VOTERS = "101@127.0.0.1:9193,102@127.0.0.1:9194"
ALONE = {
    "node.id": "1",
    "controller.quorum.voters": VOTERS,
    "controller.listener.names": "CONTROLLER",
}
BOTH = ALONE | {
    "node.id": "101",
    "process.roles": "broker,controller",
    "listeners": "PLAINTEXT://:9092,CONTROLLER://127.0.0.1:9193",
}


def parsed(**changes):
    return KRaftBrokerConfig.parse(
        ALONE | {key.replace("_", "."): it for key, it in changes.items()}
    )


def test_a_broker_has_the_number_of_its_node():
    config = parsed()
    assert (config.broker_id, config.node_id, config.is_combined) == (1, 1, False)
    assert config.voters[102].port == 9194


def test_a_node_of_both_roles_serves_clients_on_the_brokers_listeners_only():
    config = KRaftBrokerConfig.parse(BOTH)
    assert [each.name for each in config.endpoints] == ["PLAINTEXT"]
    assert [each.name for each in config.advertised] == ["PLAINTEXT"]
    assert (config.controller_listener.port, config.controller_listener.protocol) == (
        *(9193, "PLAINTEXT"),
    )


def test_a_node_of_both_roles_has_each_key_of_a_controller():
    interval = {"unclean.leader.election.interval.ms": "500"}
    config = controller_config(KRaftBrokerConfig.parse(BOTH | interval))
    assert config.unclean_leader_election_interval_ms == 500


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"process_roles": "broker,zookeeper"}, "Unknown process role 'zookeeper'"),
        ({"process_roles": "broker,broker"}, "Duplicate role names found in `process.roles`"),
        ({"node_id": "-1"}, "Missing configuration `node.id` which is required"),
        ({"broker_id": "2"}, "You must set `node.id` to the same value as `broker.id`."),
        ({"node_id": "101"}, "the node id 101 must not be included in the set of voters"),
        ({"controller_quorum_voters": ""}, "must contain a parseable set of voters"),
        ({"controller_listener_names": ""}, "must contain at least one value"),
        ({"listeners": "CONTROLLER://:1,PLAINTEXT://:2"}, "must not contain a value appearing in"),
        (
            {"advertised_listeners": "CONTROLLER://h:1"},
            "The advertised.listeners config must not contain KRaft controller listeners",
        ),
        ({"process_roles": "broker,controller", "node_id": "1"}, "must be included in the set of"),
        (
            {"process_roles": "broker,controller", "node_id": "101"},
            "must only contain values appearing in the 'listeners' configuration",
        ),
    ],
)
def test_kafkas_sentence_for_what_does_not_fit(changes, sentence):
    with pytest.raises(ApiException) as refused:
        parsed(**changes)
    assert sentence in refused.value.message


def options(**given):
    values = {"id": 101, "port": 0, "data": "d", "zookeeper": None, "controllers": None}
    return Namespace(**values | {"properties": None, "config": []} | given)


def test_the_command_line_chooses_the_mode():
    assert settings_of(options(zookeeper="h:1"))["zookeeper.connect"] == "h:1"
    settings = settings_of(options(id=1, controllers=VOTERS))
    assert KRaftBrokerConfig.parse(settings).node_id == 1


def test_a_controller_in_the_same_process_listens_where_the_voters_say():
    roles = [("process.roles", "broker,controller")]
    config = KRaftBrokerConfig.parse(settings_of(options(controllers=VOTERS, config=roles)))
    assert (config.controller_listener.host, config.controller_listener.port) == (
        *("127.0.0.1", 9193),
    )


def test_a_cluster_with_zookeeper_may_be_given_the_settings_of_a_quorum():
    """They are left out for its brokers; a key that no mode knows stays, and is refused."""
    both = {"zookeeper.session.timeout.ms": "4000", "broker.session.timeout.ms": "4000"}
    left = defaults.without_quorum(both | {"broker.sesion.timeout.ms": "1"})
    assert left == {"zookeeper.session.timeout.ms": "4000", "broker.sesion.timeout.ms": "1"}
