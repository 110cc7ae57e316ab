"""Groups under faults: members and coordinators die, and no acknowledged record is passed over.

What was read and not committed is read again by somebody else: at least once, not once.
"""

from random import Random

import pytest

from tests.cluster.conftest import PARTITIONS, heal
from tests.interop.crew import crew
from tests.interop.watch import until

CONFIG = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "log.segment.bytes": "1073741824",
    "transaction.state.log.num.partitions": "1",
}
OFFSETS = "__consumer_offsets"
STRATEGIES = ["cooperative-sticky", pytest.param("range", marks=pytest.mark.long)]


@pytest.fixture
def group(cluster, topic, tmp_path):
    with crew(cluster.bootstrap, topic, PARTITIONS, tmp_path) as made:
        yield made


def coordinator(truth):
    return truth.state(OFFSETS, 0).leader


def progress(group):
    """All that was written by now is read."""
    known = set(group.writer.acknowledged)
    until(lambda: not known & group.unread())


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_coordinator_is_killed_and_nobody_loses_anything(cluster, truth, group, strategy):
    """The next one has read who is in the group, and gives everyone a session's time."""
    members = [group.join("ours", strategy) for _ in range(2)]
    group.settle()
    progress(group)
    before = [each.lines("owns") for each in members]

    victim = coordinator(truth)
    cluster.kill(victim)
    truth.await_leader(OFFSETS, 0, other_than=victim)
    progress(group)
    newcomer = group.join("ours", strategy)  # who finds the new one, and the others there
    assert [each.lines("owns") for each in members] == before
    until(lambda: newcomer.owned)
    group.settle()
    group.judge()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_members_are_killed_and_others_read_on(group, strategy):
    for client in ("ours", "ours", "confluent"):
        group.join(client, strategy)
    group.settle()
    for _ in range(2):
        group.kill(group.members[0])
        group.join("ours", strategy)
        group.settle()
        progress(group)
    group.judge()


@pytest.mark.long  # the same in tests/simulation/test_groups.py
def test_a_member_that_was_thought_dead_spoils_nothing(group):
    """It is stopped in its tracks, and wakes up when others have its partitions: its commit is
    refused, and it starts over."""
    sleeper, other = group.join("ours", "range"), group.join("ours", "range")
    group.settle()
    sleeper.child.pause()
    until(lambda: len(other.owned) == PARTITIONS)
    progress_of_other = len(other.read)
    until(lambda: len(other.read) > progress_of_other)
    sleeper.child.resume()
    until(lambda: len(other.owned) < PARTITIONS)
    group.settle()
    group.judge()


@pytest.mark.long
@pytest.mark.parametrize("strategy", ["cooperative-sticky", "range"])
def test_members_and_coordinators_die_together(cluster, truth, group, strategy):
    random = Random(strategy)
    for client in ("ours", "confluent", "ours"):
        group.join(client, strategy)
    group.settle()
    for _ in range(2):
        cluster.kill(coordinator(truth))
        group.kill(random.choice(group.members))
        group.join("ours", strategy)
        group.settle(60)
        progress(group)
        heal(cluster)
        truth.await_whole(OFFSETS)
    group.judge()
