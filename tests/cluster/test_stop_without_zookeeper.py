"""SIGTERM while ZooKeeper hangs, and faults of brokers that are dead already."""

import time

import pytest

from engine.cluster.state import Status

SESSION_S = 6
BROKERS = 2
CONFIG = {"zookeeper.session.timeout.ms": str(SESSION_S * 1000)}
KAFKAS_RETRIES_S = 100  # three requests of thirty seconds to the controller, and the pauses between


def kinds(cluster, after):
    return [(event.kind, event.data) for event in cluster.events(after) if event.broker is None]


def test_a_dead_broker_is_killed_and_paused_once(cluster):
    """What is done to a broker that is down is no event, and does not leave it paused."""
    (last, *_) = [event.number for event in reversed(cluster.events())]
    cluster.kill(2)
    cluster.kill(2)
    cluster.pause(2)
    cluster.resume(2)
    assert [kind for kind, _ in kinds(cluster, last)] == ["broker.killed"]
    assert not cluster.child(2).paused
    assert cluster.state().brokers[2].status is Status.DOWN
    cluster.restart(2)
    cluster.pause(2)
    cluster.pause(2)
    cluster.kill(2)
    assert not cluster.child(2).paused
    told = [kind for kind, _ in kinds(cluster, last)]
    assert told == ["broker.killed", "broker.started", "broker.paused", "broker.killed"]
    cluster.restart(2)


@pytest.mark.parametrize("silent", [0, SESSION_S * 2])
def test_brokers_end_although_zookeeper_hangs(cluster, silent):
    """All are stopped at once, while the controller waits for ZooKeeper, or a little later."""
    cluster.pause("zookeeper")
    time.sleep(silent)
    began = time.monotonic()
    for broker in cluster.brokers:
        cluster.child(broker).ask_to_end()
    codes = [cluster.child(broker).wait(KAFKAS_RETRIES_S) for broker in cluster.brokers]
    took = time.monotonic() - began
    assert codes == [0] * BROKERS
    assert took < 40, f"{took:.0f} s"  # a few, on a quiet machine
    for broker in cluster.brokers:
        assert "Traceback" not in cluster.child(broker).output()
    cluster.resume("zookeeper")
    for broker in cluster.brokers:
        cluster.restart(broker)
