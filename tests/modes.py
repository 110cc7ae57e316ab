"""Which tests on a real cluster run in both modes: with ZooKeeper, and without (KRaft).

`make test` has those modules that say most about what differs: a stock client, transactions. The
others are in `make advanced`. A module that is in neither list is about ZooKeeper, or about what
both modes share; or it expects that a broker knows a change as soon as a controller has answered
(access control lists, quotas, topics by hand), which is so with ZooKeeper only.
"""

from collections.abc import Mapping

import pytest

from engine.config.kraft import STANDARD_AUTHORIZER

ZOOKEEPER, KRAFT = "zookeeper", "kraft"
SHORT = {"test_confluent", "test_transactions"}
LONG = (
    "test_aiokafka test_answers test_bad_batches test_both_alike test_both_alike_admin "
    "test_cli_groups test_consumer test_consumer_group test_coordinator test_kafka_python "
    "test_kcat test_offsets_topic test_plain_metadata test_producer "
    "test_producer_refusals "
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
