"""Which tests on a real cluster run in both modes: with ZooKeeper, and without (KRaft).

`make test` has those modules that say most about what differs: a stock client, transactions,
groups, topics, malformed input. The others of interop are in `make long`, and those of cluster in
`make advanced`. A module that is in no list is about ZooKeeper, or about what both modes share: the
frames of a connection, the files of a log. In a module that runs in both modes, a test of ZooKeeper
alone has the mark `of_zookeeper`.

Without ZooKeeper a broker hears of a change a moment after the controller has answered: see `Raw`
and `caught_up` in tests/interop/raw.py.
"""

from collections.abc import Mapping
from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.config.kraft import STANDARD_AUTHORIZER

ZOOKEEPER, KRAFT = "zookeeper", "kraft"
SHORT = {"test_admin_topics", "test_bad_input", "test_confluent", "test_coordinator"}
SHORT |= {"test_transactions"}
LONG = (
    "test_acls test_admin test_admin_configs test_admin_python test_aiokafka "
    "test_answers test_bad_batches test_between_clients test_both_alike "
    "test_both_alike_admin test_cli test_cli_cluster test_cli_console test_cli_groups "
    "test_cli_reset test_connections test_consumer test_consumer_group "
    "test_crash test_crowded_group test_damage test_each_protocol test_fuzz test_groups_mixed "
    "test_kafka_python test_kcat test_listener test_observe test_offsets_topic "
    "test_old_versions test_plain_metadata test_producer test_producer_refusals test_quota_tools "
    "test_quotas test_reconnecting test_repeated_requests test_request_faults "
    "test_scripts test_secured_cluster test_security_off test_stream_reading "
)
OF_CLUSTER = (
    "test_users test_consumer_leaders test_coordinator test_faults_controller test_faults_crash "
    "test_faults_disk test_faults_links test_faults_load test_faults_pause test_faults_random "
    "test_faults_single test_faults_stop test_faults_transactions test_groups_faults "
    "test_producer_delivery test_stories_comeback test_stream_reading_leader "
)
MODES = [ZOOKEEPER, pytest.param(KRAFT, marks=pytest.mark.advanced)]  # of one test
AUTHORIZER = "authorizer.class.name"
OF_KRAFT = {
    # After a topic was allowed an unclean election, the controller looks for it from time to time.
    "unclean.leader.election.interval.ms": "500",
    "broker.heartbeat.interval.ms": "400",  # or a short session ends between two of them
}
SESSIONS = {"zookeeper.session.timeout.ms": "broker.session.timeout.ms"}


def in_both_modes(metafunc: pytest.Metafunc) -> None:
    """Called for each test function, from the conftest.py of a folder."""
    _, folder, module = metafunc.module.__name__.split(".")
    both = {*SHORT, *LONG.split()} if folder == "interop" else {*OF_CLUSTER.split()}
    if "cluster" not in metafunc.fixturenames or module not in both:
        return
    later = pytest.mark.long if folder == "interop" else pytest.mark.advanced
    marks = [] if folder == "interop" and module in SHORT else [later]
    modes = [ZOOKEEPER, pytest.param(KRAFT, marks=marks)]
    metafunc.parametrize("cluster", modes, indirect=True, scope="module")


def without_other_modes(items: list[pytest.Item]) -> list[pytest.Item]:
    """Called with all tests, from the conftest.py of a folder."""
    return [item for item in items if not _is_of_another_mode(item)]


def _is_of_another_mode(item: pytest.Item) -> bool:
    """Whether a test of ZooKeeper alone is to run without it."""
    call = getattr(item, "callspec", None)
    is_kraft = call is not None and KRAFT in call.params.values()
    return is_kraft and item.get_closest_marker("of_zookeeper") is not None


def mode_of(request: pytest.FixtureRequest) -> str:
    """The mode of a cluster's fixture."""
    mode: str = getattr(request, "param", ZOOKEEPER)
    return mode


def made(brokers: int, mode: str, **settings: Any) -> Cluster:
    """A cluster in a mode. A broker that is alone needs no more than one controller."""
    config = adapted(settings.pop("config", {}), mode)
    controllers = 1 if mode == KRAFT and brokers == 1 else None
    return Cluster(brokers, config=config, metadata=mode, controllers=controllers, **settings)


def adapted(config: Mapping[str, str], mode: str) -> dict[str, str]:
    """The settings of a test, in a mode: authorizer and session have another name in each."""
    if mode == ZOOKEEPER:
        return {**config}
    found = {SESSIONS.get(key, key): text for key, text in config.items()}
    authorizer = {AUTHORIZER: STANDARD_AUTHORIZER} if AUTHORIZER in config else {}
    return {**OF_KRAFT, **found, **authorizer}
