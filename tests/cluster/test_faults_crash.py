"""SIGKILL of one broker, of two, of all: nothing acknowledged is lost, doubled or moved."""

from collections.abc import Callable

import pytest

from engine.cluster.link_faults import End
from proof.chaos.workload import ChaosWriter
from tests.cluster.python_writer import PythonWriter
from tests.cluster.truth import Truth

ROUNDS = 5


def leader(truth: Truth, topic: str) -> int:
    return truth.state(topic, 0).leader


def follower(truth: Truth, topic: str) -> int:
    state = truth.state(topic, 0)
    return next(broker for broker in reversed(state.isr) if broker != state.leader)


def controller(truth: Truth, topic: str) -> End:
    return truth.await_controller()


Choice = Callable[[Truth, str], End]


@pytest.mark.long
@pytest.mark.parametrize("choose", [leader, follower, controller], ids=lambda each: each.__name__)
def test_five_in_a_row(cluster, truth, work, choose: Choice):
    """Work goes on before the victim is back; then it is in sync again, before the next."""
    for _ in range(ROUNDS):
        victim = choose(truth, work.topic)
        before = truth.states(work.topic)
        cluster.kill(victim)
        work.advance()
        after = truth.states(work.topic)
        for number, state in before.items():
            assert after[number].leader not in (-1, victim)
            assert victim not in after[number].isr
            if state.leader == victim:
                assert after[number].epoch > state.epoch
        if choose is controller:
            assert truth.controller() not in (-1, victim)
        cluster.restart(victim)
        truth.await_whole(work.topic)
    verdict = work.verdict()
    assert verdict.good, verdict


def test_no_application_hears_of_it(cluster, truth, start):
    """Both stock clients ride through the death of a leader."""
    work = start(writers=(ChaosWriter, PythonWriter), rate=200)
    work.advance()
    victim = leader(truth, work.topic)
    cluster.kill(victim)
    work.advance()
    cluster.restart(victim)
    truth.await_whole(work.topic)
    verdict = work.verdict()
    assert verdict.good, verdict


@pytest.mark.long  # the leader of test_faults_disk.py is also back before its session is over
@pytest.mark.parametrize("choose", [leader, controller], ids=lambda it: it.__name__)
def test_back_before_its_session_is_over(cluster, truth, work, choose: Choice):
    """Nobody saw it die: only its new epoch says that it forgot who leads."""
    for _ in range(3):
        victim = choose(truth, work.topic)
        cluster.kill(victim)
        cluster.restart(victim)
        work.advance()
    verdict = work.verdict()
    assert verdict.good, verdict


@pytest.mark.long
def test_two_at_once(cluster, truth, work):
    """One is left, which is not enough to write to: it waits, and forgets nothing."""
    state = truth.state(work.topic, 0)
    others = [broker for broker in cluster.brokers if broker != state.leader]
    for broker in others:
        cluster.kill(broker)
    for broker in others:
        cluster.restart(broker)
    work.advance()
    verdict = work.verdict()
    assert verdict.good, verdict


def test_all_at_once(cluster, truth, work):
    for broker in cluster.brokers:
        cluster.kill(broker)
    for broker in cluster.brokers:
        cluster.restart(broker)
    work.advance()
    verdict = work.verdict()
    assert verdict.good, verdict


@pytest.mark.long
def test_one_after_another_until_none_is_left(cluster, truth, work):
    """The last one to die is the first that may lead again; who comes back earlier has to wait."""
    work.advance()
    *first, last = cluster.brokers
    for broker in first:
        cluster.kill(broker)
    alone = truth.await_isr(work.topic, 0, {last})
    cluster.kill(last)
    for broker in first:
        cluster.restart(broker)
    truth.await_brokers(set(first))
    assert truth.state(work.topic, 0).isr == alone.isr
    assert truth.state(work.topic, 0).leader in (-1, last)
    cluster.restart(last)
    work.advance()
    verdict = work.verdict()
    assert verdict.good, verdict
