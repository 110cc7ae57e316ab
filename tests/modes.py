"""Which tests on a real cluster run in both modes: with ZooKeeper, and without (KRaft).

`make test` has those modules that say most about what differs: stock clients, transactions, topics.
The others are in `make advanced`. A module that is in neither list is about ZooKeeper, or about
what both modes share.
"""

import pytest

ZOOKEEPER, KRAFT = "zookeeper", "kraft"
SHORT = {"test_confluent"}
LONG = {
    "test_acls",
    "test_admin",
    "test_admin_configs",
    "test_admin_python",
    "test_admin_topics",
    "test_aiokafka",
    "test_answers",
    "test_bad_batches",
    "test_bad_input",
    "test_between_clients",
    "test_both_alike",
    "test_both_alike_admin",
    "test_cli_groups",
    "test_cli_reset",
    "test_cluster_faults",
    "test_connections",
    "test_consumer",
    "test_consumer_group",
    "test_coordinator",
    "test_crash",
    "test_crowded_group",
    "test_damage",
    "test_fuzz",
    "test_groups_mixed",
    "test_kafka_python",
    "test_kcat",
    "test_listener",
    "test_metrics",
    "test_offsets_topic",
    "test_old_options",
    "test_old_versions",
    "test_plain_metadata",
    "test_producer",
    "test_producer_refusals",
    "test_quota_tools",
    "test_quotas",
    "test_reconnecting",
    "test_refusals",
    "test_repeated_requests",
    "test_request_faults",
    "test_stream_reading",
    "test_transactions",
    "test_using",
}


def in_both_modes(metafunc: pytest.Metafunc) -> None:
    """Called for each test function, from the conftest.py of a folder."""
    module = metafunc.module.__name__.rpartition(".")[2]
    if "cluster" not in metafunc.fixturenames or module not in SHORT | LONG:
        return
    marks = [] if module in SHORT else [pytest.mark.advanced]
    modes = [ZOOKEEPER, pytest.param(KRAFT, marks=marks)]
    metafunc.parametrize("cluster", modes, indirect=True, scope="module")
