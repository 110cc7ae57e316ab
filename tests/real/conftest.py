"""Clusters of real brokers and ours, and clients at work on them. `make real` runs these tests.

A module says in LAYOUTS which clusters its tests want: of which kind each broker is, and the
protocol version. Each test runs on each of them. SETTINGS has what is different about its brokers.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import count
from typing import Any

import pytest
from confluent_kafka.admin import NewTopic
from kazoo.client import KazooClient

from engine.cluster.kafka_process import OURS
from engine.cluster.single_requests import list_offsets_request
from engine.wire.apis import Api
from engine.zookeeper.znodes import CONTROLLER
from proof.chaos.cluster_reader import create
from proof.chaos.run import CONFIG
from proof.chaos.storm import heal
from proof.chaos.workload import ChaosWorkload
from tests.cluster.conftest import bug
from tests.cluster.truth import Truth, ZookeeperTruth
from tests.interop.raw import Raw
from tests.interop.watch import until
from tests.limits import JVM_S, JVM_SESSION_MS
from tests.real import jars
from tests.real.kafka import MixedCluster

CONFIG = CONFIG | {
    "zookeeper.session.timeout.ms": JVM_SESSION_MS,
    "group.min.session.timeout.ms": "1000",
    "transaction.state.log.num.partitions": "1",
    "controlled.shutdown.retry.backoff.ms": "500",
    "auto.leader.rebalance.enable": "false",  # leaders move when a test moves them
}
PARTITIONS = 3
Start = Callable[..., ChaosWorkload]

_numbers = count()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    layouts = getattr(metafunc.module, "LAYOUTS", None)
    if layouts and "cluster" in metafunc.fixturenames:
        names = [f"protocol {version}" for _, version in layouts]
        metafunc.parametrize("cluster", layouts, ids=names, indirect=True, scope="module")


@pytest.fixture(scope="session", autouse=True)
def kafka_is_here() -> None:
    jars.check()


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest) -> Iterator[MixedCluster]:
    kinds, version = request.param
    config = CONFIG | getattr(request.module, "SETTINGS", {})
    config["inter.broker.protocol.version"] = version
    with MixedCluster(kinds, config=config) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def truth(cluster: MixedCluster) -> Iterator[Truth]:
    with ZookeeperTruth(cluster.zookeeper) as truth:
        yield truth


@pytest.fixture(autouse=True)
def healed(request: pytest.FixtureRequest) -> Iterator[None]:
    """After each test all faults are taken back, and none of our brokers has met a bug."""
    yield
    if "cluster" in request.fixturenames:
        cluster: MixedCluster = request.getfixturevalue("cluster")
        heal(cluster)
        for broker in cluster.of(OURS):
            told = bug(cluster.directory(broker) / "broker.log")
            assert not told, f"broker {broker} met a bug:\n{told}"


def new_topic(
    cluster: MixedCluster, truth: Truth, turns: list[list[int]] | None = None, **config: str
) -> str:
    """Three partitions on every broker, or these replicas; the first of each leads at first."""
    name, brokers = f"topic-{next(_numbers)}", cluster.brokers
    every = [brokers[n % len(brokers) :] + brokers[: n % len(brokers)] for n in range(PARTITIONS)]
    turns = turns or every
    truth.await_brokers(set(brokers))
    create(cluster.bootstrap, NewTopic(name, len(turns), replica_assignment=turns, config=config))
    truth.await_whole(name)
    addresses = dict(zip(brokers, cluster.bootstrap.split(","), strict=True))
    for partition, replicas in enumerate(turns):
        with Raw(addresses[replicas[0]]) as leader:  # ZooKeeper knows of it first
            until(partial(_is_led, leader, name, partition), JVM_S)
    for address in addresses.values():
        with Raw(address) as broker:  # the controller sends UpdateMetadata after LeaderAndIsr
            until(partial(_is_known, broker, name, len(turns)), JVM_S)
    return name


def _is_led(leader: Raw, topic: str, partition: int) -> bool:
    answer = leader.ask(Api.LIST_OFFSETS, list_offsets_request(topic, -1, partition))
    return not answer.topics[0].partitions[0].error_code


def _is_known(broker: Raw, topic: str, partitions: int) -> bool:
    (found,) = broker.topics(topic)
    return not found.error_code and len(found.partitions) == partitions


@pytest.fixture
def topic(cluster: MixedCluster, truth: Truth) -> str:
    return new_topic(cluster, truth)


@pytest.fixture
def start(cluster: MixedCluster, truth: Truth, topic: str) -> Iterator[Start]:
    """Clients go to work on the topic; who judges them waits until all replicas are in sync."""
    with ExitStack() as stack:

        def started(**settings: Any) -> ChaosWorkload:
            whole = partial(truth.await_whole, topic)
            return stack.enter_context(ChaosWorkload(cluster, topic, whole, **settings))

        yield started


def let_control(cluster: MixedCluster, truth: Truth, broker: int) -> None:
    """Make this broker the controller: the others stand still while the place is free."""
    if truth.controller() == broker:
        return
    others = [each for each in cluster.brokers if each != broker]
    for each in others:
        cluster.pause(each)
    zookeeper = KazooClient(cluster.zookeeper)
    try:
        zookeeper.start()
        zookeeper.delete(CONTROLLER)
        until(lambda: truth.controller() == broker)
    finally:
        zookeeper.stop()
        zookeeper.close()
        for each in others:
            cluster.resume(each)
