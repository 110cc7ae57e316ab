"""The page with a broker's metrics, under the names of Kafka's JMX exporter."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from engine import TopicPartition
from engine.cluster.cluster import Cluster
from tests.interop.watch import until
from tests.limits import SESSION_MS
from tests.modes import MODES, made

LINE = re.compile(r'([a-z_]+(?:\{[a-z]+="[^"]*"(?:,[a-z]+="[^"]*")*\})?) (-?[0-9.e+]+)')
MEASURED = {"prometheus.port": "0", "replica.lag.time.max.ms": "1500"}
SESSION = {"zookeeper.session.timeout.ms": SESSION_MS}


@pytest.fixture(scope="module", params=MODES)
def measured(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    with made(2, request.param, config=MEASURED | SESSION) as cluster:
        yield cluster


def url(cluster: Cluster, broker: int) -> str:
    port = Path(cluster.directory(broker), "metrics.port").read_text().strip()
    return f"http://127.0.0.1:{port}/metrics"


def page(cluster: Cluster, broker: int) -> dict[str, float]:
    """Every line of the page is one that Prometheus can read."""
    with urlopen(url(cluster, broker), timeout=30) as answer:
        lines = answer.read().decode().splitlines()
    found, kinds = {}, []
    for line in lines:
        if line.startswith("# TYPE "):
            kinds.append(line.split()[2])
            continue
        match = LINE.fullmatch(line)
        assert match, line
        assert match[1].partition("{")[0] == kinds[-1]
        found[match[1]] = float(match[2])
    assert len({*kinds}) == len(kinds)  # the lines of a name are together
    return found


def test_records_requests_logs_and_lag(measured: Cluster) -> None:
    topic = measured.topic("measured", replicas=[1, 2])
    leader = measured.leader(topic)
    labels = f'{{topic="{topic}",partition="0"}}'
    before = page(measured, leader)
    measured.write(topic, ["x" * 100] * 5, acks="all")
    with measured.consumer({"group.id": "measured", "enable.auto.commit": False}) as consumer:
        consumer.assign([TopicPartition(topic, 0, 0)])
        assert consumer.poll(30) is not None
        consumer.commit(offsets=[TopicPartition(topic, 0, 3)], asynchronous=False)
    after = page(measured, leader)
    assert after[f"kafka_log_log_logendoffset{labels}"] == 5
    assert after[f"kafka_log_log_size{labels}"] > 0
    messages = f'kafka_server_brokertopicmetrics_messagesin_total{{topic="{topic}"}}'
    assert after[messages] - before.get(messages, 0) == 5
    produced = 'kafka_network_requestmetrics_requests_total{request="Produce"}'
    assert after[produced] >= before.get(produced, 0) + 1
    spent = 'kafka_network_requestmetrics_totaltimems_sum{request="Produce"}'
    assert after[spent] > before.get(spent, 0)
    for way in ("in", "out"):
        name = f"kafka_server_brokertopicmetrics_bytes{way}_total"
        assert after[name] - before[name] >= 100

    def lags() -> list[float]:
        return [
            value
            for broker in (1, 2)
            for name, value in page(measured, broker).items()
            if name.startswith('kafka_consumergroup_lag{consumergroup="measured"')
        ]

    def coordinates() -> bool:
        offsets = group_partition("measured")
        return measured.leader("__consumer_offsets", offsets) == measured.leader(topic)

    until(lambda: lags() == ([2] if coordinates() else []))


def group_partition(group: str) -> int:
    """Java's hash of a text, modulo the partitions of __consumer_offsets."""
    number = 0
    for letter in group:
        number = (31 * number + ord(letter)) & 0xFFFFFFFF
    return (number & 0x7FFFFFFF) % 50


def test_a_broker_that_is_killed_is_seen_in_the_numbers_of_the_other(measured: Cluster) -> None:
    topic = measured.topic("shrunk", replicas=[1, 2])
    manager = "kafka_server_replicamanager_"
    measured.write(topic, ["a"], acks="all")
    until(lambda: page(measured, 1)[f"{manager}underreplicatedpartitions"] == 0)
    before = page(measured, 1)
    measured.kill(2)
    under = f"{manager}underreplicatedpartitions"
    until(lambda: page(measured, 1)[under] > 0)
    measured.mend()
    until(lambda: page(measured, 1)[under] == 0)
    after = page(measured, 1)
    assert after[f"{manager}isrexpands_total"] > before[f"{manager}isrexpands_total"]
    assert after[f"{manager}partitioncount"] >= after[f"{manager}leadercount"] > 0


@pytest.mark.of_zookeeper  # without it no broker is the controller
def test_the_controller_counts_partitions_without_a_leader(measured: Cluster) -> None:
    measured.topic("alone", replicas=[2])
    controller = "kafka_controller_kafkacontroller_"
    active = [page(measured, each)[f"{controller}activecontrollercount"] for each in (1, 2)]
    assert sorted(active) == [0, 1]
    measured.kill(2)
    until(lambda: page(measured, 1)[f"{controller}offlinepartitionscount"] >= 1)
    measured.mend()
    until(lambda: page(measured, 1)[f"{controller}offlinepartitionscount"] == 0)


def test_the_leader_counts_the_changes_of_its_isr(measured: Cluster) -> None:
    # With ZooKeeper any other would have to tell the controller, which is cut off.
    leader = 1 if measured.is_kraft else measured.state().controller
    measured.topic("cut", replicas=[leader, 3 - leader])
    # UpdateMetadata follows LeaderAndIsr: by then the other one has it, too, and tells clients.
    measured.write("cut", ["before"], acks="all")
    before = page(measured, leader)
    changes = [f"kafka_server_replicamanager_isr{what}_total" for what in ("shrinks", "expands")]
    measured.cut(1, 2)
    measured.write("cut", ["a"], acks=1)  # or the follower would lag behind nothing
    try:
        until(lambda: page(measured, leader)[changes[0]] > before[changes[0]])
        assert page(measured, leader)[changes[1]] == before[changes[1]]
    finally:
        measured.mend()
    until(lambda: page(measured, leader)[changes[1]] > before[changes[1]])


def test_a_state_tells_how_many_requests_were_answered_once_that_is_asked_for(
    measured: Cluster,
) -> None:
    def answered(broker: int, api: str) -> int:
        return measured.state().brokers[broker].requests.get(api, (0, 0))[0]

    topic = measured.topic("counted", replicas=[1])
    assert not any(it.requests for it in measured.state().brokers.values())
    measured.count_requests()
    try:
        until(lambda: answered(1, "METADATA"))
        before = answered(1, "PRODUCE")
        measured.write(topic, ["a"])
        until(lambda: answered(1, "PRODUCE") == before + 1)
        measured.kill(2)
        measured.restart(2)  # a process that knows nothing of it is told
        until(lambda: answered(2, "API_VERSIONS"))
    finally:
        measured.count_requests(False)
        measured.mend()
    assert not any(it.requests for it in measured.state().brokers.values())


def test_there_is_one_page_and_no_other(measured: Cluster) -> None:
    with pytest.raises(HTTPError, match="404") as refused:
        urlopen(url(measured, 1).replace("/metrics", "/"), timeout=30)
    refused.value.close()


def test_it_is_off_unless_asked_for(shared: Cluster) -> None:
    assert not Path(shared.directory(1), "metrics.port").exists()
