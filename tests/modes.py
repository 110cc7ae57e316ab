"""Which tests on a real cluster run in both modes: with ZooKeeper, and without (KRaft).

`make test` has those modules that say most about what differs: a stock client, transactions. The
others are in `make advanced`. A module that is in neither list is about ZooKeeper, or about what
both modes share.
"""

from collections.abc import Mapping

import pytest

from engine.config.kraft import STANDARD_AUTHORIZER

ZOOKEEPER, KRAFT = "zookeeper", "kraft"
SHORT = {"test_confluent", "test_transactions"}
LONG = (
    "test_acls test_admin_configs test_admin_python test_admin_topics test_aiokafka "
    "test_answers test_bad_batches test_between_clients test_both_alike "
    "test_both_alike_admin test_cli_groups test_cluster_faults test_connections "
    "test_consumer test_consumer_group test_coordinator test_crash test_crowded_group "
    "test_damage test_fuzz test_groups_mixed test_kafka_python test_kcat test_listener "
    "test_metrics test_offsets_topic test_old_options test_old_versions "
    "test_plain_metadata test_producer test_producer_refusals test_quota_tools "
    "test_quotas test_reconnecting test_refusals test_repeated_requests "
    "test_request_faults test_stream_reading test_using "
)
AUTHORIZER = "authorizer.class.name"


def in_both_modes(metafunc: pytest.Metafunc) -> None:
    """Called for each test function, from the conftest.py of a folder."""
    module = metafunc.module.__name__.rpartition(".")[2]
    if "cluster" not in metafunc.fixturenames or module not in {*SHORT, *LONG.split()}:
        return
    marks = [] if module in SHORT else [pytest.mark.advanced]
    modes = [ZOOKEEPER, pytest.param(KRAFT, marks=marks)]
    metafunc.parametrize("cluster", modes, indirect=True, scope="module")


def adapted(config: Mapping[str, str], mode: str) -> dict[str, str]:
    """The settings of a test, in a mode: the authorizer is another class in each."""
    has_another = mode == KRAFT and AUTHORIZER in config
    return {**config, **({AUTHORIZER: STANDARD_AUTHORIZER} if has_another else {})}
