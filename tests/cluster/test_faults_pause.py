"""SIGSTOP beyond the session, then SIGCONT: who wakes up finds that the world has gone on."""

import pytest

from tests.cluster.probe import Probe
from tests.cluster.test_stories_comeback import CONFIG as USUAL
from tests.interop.watch import until

CONFIG = USUAL  # no leader shrinks an ISR before it is paused


def test_a_leader(cluster, truth, work):
    """What it had and nobody else, it gives up."""
    victim = truth.state(work.topic, 0).leader
    epoch = truth.state(work.topic, 0).epoch
    for other in set(cluster.brokers) - {victim}:
        cluster.cut(victim, other)
    with Probe(cluster, victim) as probe:
        tail = probe.append_without_waiting(work.topic, 0, b"nobody else has this")
    cluster.pause(victim)
    cluster.heal()
    truth.await_brokers(set(cluster.brokers) - {victim})
    work.advance()
    after = truth.state(work.topic, 0)
    assert after.leader != victim
    assert after.epoch > epoch

    before = len(cluster.child(victim).output())
    cluster.resume(victim)
    truth.await_whole(work.topic)

    until(lambda: "log.truncated" in cluster.child(victim).output()[before:])
    verdict = work.verdict()  # which would find the tail, in the log or in a file
    assert verdict.good, verdict
    assert work.history.ends()[0] > tail  # something else is there now


def test_a_controller(cluster, truth, work):
    victim, epoch = truth.controller(), truth.controller_epoch()
    cluster.pause(victim)
    successor = truth.await_controller(other_than=victim)
    work.advance()

    cluster.resume(victim)
    truth.await_brokers(set(cluster.brokers))
    truth.await_whole(work.topic)

    assert truth.controller() == successor
    assert truth.controller_epoch() > epoch
    if not cluster.is_kraft:  # where clients are told of any broker
        assert truth.controller_epoch() == epoch + 1
        with Probe(cluster, victim) as probe:
            until(lambda: probe.controller() == successor)
    verdict = work.verdict()
    assert verdict.good, verdict


@pytest.mark.long  # so is one in test_stories_in_sync.py
def test_a_follower(cluster, truth, work):
    state = truth.state(work.topic, 0)
    victim = next(broker for broker in state.isr if broker != state.leader)
    cluster.pause(victim)
    truth.await_brokers(set(cluster.brokers) - {victim})
    work.advance()
    cluster.resume(victim)
    verdict = work.verdict()
    assert verdict.good, verdict


@pytest.mark.long  # every session ends in test_faults_zookeeper.py, too
def test_all_at_once(cluster, truth, work):
    """Every session ends, and no one was there to notice."""
    for broker in cluster.brokers:
        cluster.pause(broker)
    truth.await_brokers(set())
    for broker in cluster.brokers:
        cluster.resume(broker)
    truth.await_brokers(set(cluster.brokers))
    work.advance()
    verdict = work.verdict()
    assert verdict.good, verdict
