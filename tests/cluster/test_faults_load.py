"""A slow follower, and one partition at ten times the load: the ISR does not flap."""

import pytest

from tests.cluster.truth import Seen

# In `make test` the simulator's storms slow links down.
pytestmark = pytest.mark.long
CONFIG = {"replica.lag.time.max.ms": "3000"}
SLOW = 300  # milliseconds: late with everything, but never for long
TOO_SLOW = 8000


def test_a_slow_follower_stays(cluster, truth, work):
    before = truth.states(work.topic)
    leader, follower = two(before[0])
    cluster.slow(leader, follower, SLOW)
    work.advance(count=1000)
    assert truth.states(work.topic) == before
    cluster.heal()
    verdict = work.verdict()
    assert verdict.good, verdict


def test_a_follower_that_is_too_slow_leaves_once_and_returns_once(cluster, truth, work):
    before = truth.state(work.topic, 0)
    leader, follower = two(before)
    cluster.slow(leader, follower, TOO_SLOW)
    alone = truth.await_isr(work.topic, 0, set(before.isr) - {follower})
    work.advance(count=1000, partitions=(0,))
    assert truth.state(work.topic, 0) == alone
    cluster.heal()
    truth.await_whole(work.topic)
    work.advance(count=1000)
    after = truth.state(work.topic, 0)
    assert after.version == before.version + 2
    epoch = before.epoch + truth.epochs_of_a_shrink
    assert (after.leader, after.epoch) == (before.leader, epoch)
    verdict = work.verdict()
    assert verdict.good, verdict


def test_who_is_let_in_has_everything(cluster, truth, work):
    """It may have to lead in the very next moment."""
    first = truth.state(work.topic, 0).leader
    cluster.stop_broker(first)
    work.advance(count=300)
    then = truth.state(work.topic, 0).leader
    cluster.slow(then, first, SLOW)
    cluster.restart(first)
    truth.await_isr(work.topic, 0, set(cluster.brokers))
    cluster.kill(then)
    after = truth.await_leader(work.topic, 0, other_than=then)
    assert after.leader == first  # as the first of its replicas
    work.advance()
    cluster.restart(then)
    verdict = work.verdict()
    assert verdict.good, verdict


def test_one_partition_at_ten_times_the_load(cluster, truth, start):
    work = start(rate=3000, load={0: 1, 1: 10, 2: 1})
    work.advance()
    before = truth.states(work.topic)
    work.advance(count=1000)
    assert truth.states(work.topic) == before
    assert len(sent_to(work, 1)) > 8 * len(sent_to(work, 0))
    verdict = work.verdict()
    assert verdict.good, verdict


def two(state: Seen) -> tuple[int, int]:
    return state.leader, next(broker for broker in state.isr if broker != state.leader)


def sent_to(work, partition: int) -> list[object]:
    return [sent for sent in list(work.history.sent.values()) if sent.partition == partition]
