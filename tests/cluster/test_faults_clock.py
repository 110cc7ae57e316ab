"""One broker's clock is an hour off: offsets, high watermarks and time indexes stay right.

The broker is started as any other, but where Python looks for a module `sitecustomize` it finds
one that moves the wall clock. What measures spans of time is left alone, as it is on a machine
whose clock is wrong.
"""

import time
from pathlib import Path

import pytest

from engine.cli.main import main
from engine.cluster import node_launcher
from engine.errors import ErrorCode
from tests.cluster.conftest import new_topic
from tests.cluster.probe import Probe
from tests.interop.watch import until

HOUR = 3600
SCRIPT = """
import time

def shift(clock, by):
    return lambda: clock() + by

time.time = shift(time.time, {seconds})
time.time_ns = shift(time.time_ns, {seconds} * 10**9)
"""


@pytest.fixture
def shift(cluster, truth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Restart a broker with its clock so many seconds off."""
    wrong = set()

    def shifted(broker: int, seconds: int) -> None:
        (tmp_path / "sitecustomize.py").write_text(SCRIPT.format(seconds=seconds))
        cluster.stop_broker(broker)
        with monkeypatch.context() as environment:
            environment.setenv("PYTHONPATH", str(tmp_path), prepend=":")
            environment.setattr(node_launcher, "COPIES", False)  # a copy reads no sitecustomize
            cluster.restart(broker)
        off = truth.registered_at(broker) / 1000 - time.time()
        assert abs(off - seconds) < HOUR / 2  # or there is nothing to be seen here
        wrong.add(broker)

    yield shifted
    for broker in wrong:
        cluster.stop_broker(broker)
        cluster.restart(broker)


AHEAD = pytest.param(HOUR, id="ahead")
BEHIND = pytest.param(-HOUR, id="behind", marks=pytest.mark.long)


@pytest.mark.parametrize("seconds", [AHEAD, BEHIND])
def test_an_hour_off(cluster, truth, work, shift, seconds):
    """Two leaders take turns, one with the right time; each stamps what it appends."""
    own_time = {"message.timestamp.type": "LogAppendTime", "segment.bytes": "5000"}
    stamped = new_topic(cluster, truth, **own_time)
    for _ in range(2):
        wrong = truth.replicas(stamped)[0].replicas[0]
        shift(wrong, seconds)
        work.advance()
        fill(cluster, truth, stamped)
        truth.await_whole(stamped)
        truth.elect_preferred(stamped, 0)
        until(lambda wrong=wrong: truth.state(stamped, 0).leader == wrong)
        work.advance()
        fill(cluster, truth, stamped)
    check_times(cluster, truth, stamped)
    verdict = work.verdict()
    assert verdict.good, verdict
    check_indexes(cluster, stamped)
    check_indexes(cluster, work.topic)


def fill(cluster, truth, topic: str) -> None:
    leader = truth.state(topic, 0).leader
    with Probe(cluster, leader) as probe:
        until(lambda: probe.append(topic, 0, b"first") is ErrorCode.none)
        for number in range(40):
            assert probe.append(topic, 0, b"%d" % number + b"x" * 100) is ErrorCode.none


def check_times(cluster, truth, topic: str) -> None:
    """For each time: the first record that is not earlier, as Kafka promises."""
    with Probe(cluster, truth.state(topic, 0).leader) as probe:
        records = probe.read(topic)
        times = {record.timestamp for record in records}
        assert max(times) - min(times) > 0.9 * HOUR * 1000
        for wanted in times:
            first = next(r.offset for r in records if r.timestamp >= wanted)
            assert probe.offset_of(topic, wanted) == first


def check_indexes(cluster, topic: str) -> None:
    """Each index agrees with its log, on every broker."""
    for broker in cluster.brokers:
        paths = sorted((cluster.directory(broker) / f"{topic}-0").glob("*.*index"))
        assert paths
        assert main(["dump-log", "--verify-index-only", "--files", *map(str, paths)]) == 0
