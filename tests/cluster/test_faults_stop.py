"""SIGTERM: leaders move before their broker goes, so that nobody has to wait for its session."""

import pytest

# So long that nothing here can go on by waiting for a session to end.
CONFIG = {"zookeeper.session.timeout.ms": "120000"}


@pytest.mark.parametrize("role", ["leader", "controller"])
def test_leaders_move_first(cluster, truth, work, role):
    before = truth.states(work.topic)
    victim = truth.controller() if role == "controller" else before[0].leader
    led = [number for number, state in before.items() if state.leader == victim]
    assert led

    cluster.stop_broker(victim)

    gone = truth.last_change_of_brokers()
    assert victim not in truth.brokers()
    for number in led:
        state = truth.state(work.topic, number)
        assert state.leader not in (-1, victim)
        assert state.zxid < gone  # it was written while the broker was still there
    work.advance()
    assert (cluster.directory(victim) / ".kafka_cleanshutdown").exists()

    cluster.restart(victim)
    truth.await_whole(work.topic)
    assert "log.truncated" not in cluster.child(victim).output()
    verdict = work.verdict()
    assert verdict.good, verdict


def test_one_after_another(cluster, truth, work):
    """As an upgrade does it: each is stopped, and is in sync again before the next."""
    for broker in cluster.brokers:
        cluster.stop_broker(broker)
        work.advance()
        cluster.restart(broker)
        truth.await_whole(work.topic)
    verdict = work.verdict()
    assert verdict.good, verdict


def test_all_of_them(cluster, truth, work):
    """The last one has nobody to hand over to, and goes all the same."""
    for broker in cluster.brokers:
        cluster.stop_broker(broker)
    assert truth.brokers() == set()
    for broker in cluster.brokers:
        cluster.restart(broker)
    work.advance()
    verdict = work.verdict()
    assert verdict.good, verdict
