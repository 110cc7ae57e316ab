"""Cut links: between a leader and its followers, in one direction, and to ZooKeeper alone, or to
the controllers."""

import pytest

from engine.errors import ErrorCode
from tests.cluster.conftest import new_topic
from tests.cluster.probe import Probe
from tests.interop.watch import until

BOTH = pytest.param("both", marks=pytest.mark.long)
TO_THE_LEADER = pytest.param("to the leader", marks=pytest.mark.long)
AND_CONTROLLER = pytest.param("leader and controller", marks=pytest.mark.of_zookeeper)
LEADER_ONLY = pytest.param("leader only", marks=pytest.mark.long)


@pytest.mark.parametrize("direction", [BOTH, "to the follower", TO_THE_LEADER])
def test_a_leader_cut_from_a_follower(cluster, truth, work, direction):
    """The follower leaves the ISR after `replica.lag.time.max.ms`, and comes back when it can."""
    state = truth.state(work.topic, 0)
    victim = next(b for b in state.isr if b not in (state.leader, truth.controller()))
    if direction == "both":
        cluster.faults.cut(state.leader, victim)
    elif direction == "to the follower":
        cluster.faults.cut(state.leader, victim, both=False)
    else:
        cluster.faults.cut(victim, state.leader, both=False)

    alone = truth.await_isr(work.topic, 0, set(state.isr) - {victim})
    epoch = state.epoch + truth.epochs_of_a_shrink
    assert (alone.leader, alone.epoch) == (state.leader, epoch)
    work.advance(partitions=(0,))

    cluster.faults.heal()
    truth.await_whole(work.topic)
    verdict = work.verdict()
    assert verdict.good, verdict


def test_a_leader_cut_from_both_followers(cluster, truth, work):
    """Below min.insync.replicas: error 20 for what is in the log already, 19 for what is not."""
    probed = new_topic(cluster, truth)
    state = truth.state(probed, 0)
    with Probe(cluster, state.leader) as probe:
        assert probe.append(probed, 0, b"before") is ErrorCode.none
        for other in set(cluster.brokers) - {state.leader}:
            cluster.faults.cut(state.leader, other)
        assert probe.append(probed, 0, b"in between") is ErrorCode.not_enough_replicas_after_append
        assert truth.state(probed, 0).isr == (state.leader,)
        assert probe.append(probed, 0, b"after") is ErrorCode.not_enough_replicas

        cluster.faults.heal()
        truth.await_whole(probed)
        until(lambda: probe.values(probed, 0) == [b"before", b"in between"])
    work.advance()
    verdict = work.verdict()
    assert verdict.good, verdict


@pytest.mark.parametrize("also", [LEADER_ONLY, AND_CONTROLLER])
def test_a_leader_cut_from_zookeeper_alone(cluster, truth, work, also):
    """It serves until it is superseded, and whatever it believes, it can acknowledge nothing."""
    probed = new_topic(cluster, truth)
    controller = truth.await_controller()
    number, before = next(
        (number, state)
        for number, state in truth.states(probed).items()
        if (state.leader == controller) == (also == "leader and controller")
    )
    with Probe(cluster, before.leader) as probe:
        cluster.faults.cut(before.leader, cluster.metadata_name)
        truth.await_brokers(set(cluster.brokers) - {before.leader})
        after = truth.await_leader(probed, number, other_than=before.leader)
        assert before.leader not in after.isr
        with Probe(cluster, after.leader) as other:
            until(lambda: other.append(probed, number, b"in time") is ErrorCode.none)
        # Now the others have heard of the election; before, they might still have copied it.
        asked = probe.begin_to_append(probed, number, b"too late")
        work.advance()
        assert probe.is_silent() or probe.is_refused(asked)
    assert before.leader not in truth.state(probed, number).isr

    cluster.faults.heal()
    truth.await_brokers(set(cluster.brokers))
    truth.await_whole(probed)
    with Probe(cluster, truth.state(probed, number).leader) as probe:
        until(lambda: b"too late" not in probe.values(probed, number))
        # Perhaps more than once: what was not acknowledged in time was sent again.
        assert set(probe.values(probed, number)) == {b"in time"}
    verdict = work.verdict()
    assert verdict.good, verdict


@pytest.mark.long  # the simulator's storms cut these links, too
def test_a_controller_cut_from_a_broker(cluster, truth, work):
    """What it has to say reaches that broker late, but it does."""
    controller = truth.await_controller()
    victim = next(broker for broker in cluster.brokers if broker != controller)
    cluster.faults.cut(controller, victim)
    late = new_topic(cluster, truth, whole=False)
    number = next(n for n, state in truth.states(late).items() if state.leader != victim)
    truth.await_isr(late, number, set(cluster.brokers) - {victim})
    cluster.faults.heal()
    truth.await_whole(late)
    work.advance()
    verdict = work.verdict()
    assert verdict.good, verdict


@pytest.mark.long  # test_producer_delivery.py drops more of them
def test_an_answer_that_is_lost(cluster, truth, work):
    """The producer sends again, and the leader knows the batch."""
    for _ in range(5):
        for broker in cluster.brokers:
            cluster.drop_next_answer(broker)
        work.advance(count=20)
    verdict = work.verdict()
    assert verdict.good, verdict
