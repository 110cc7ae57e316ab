"""A leader alone with what it knows: the high watermark, and who is in sync."""

import pytest

from engine.metadata.delta import PartitionRegistration
from engine.replication.partition import (
    ISR_STEPS,
    ROLES,
    IsrState,
    IsrStep,
    Partition,
    Role,
    RoleChange,
)
from tests.unit.replication.cluster import LAG_MS, ORDERS

NOW = 1_000_000


def state(leader, epoch, isr, replicas):
    return PartitionRegistration(leader, epoch, isr, replicas, epoch, 1)


def leader(isr=(1, 2, 3), replicas=(1, 2, 3), end=0):
    role = Partition(ORDERS, 1)
    role.lead(state(1, 0, isr, replicas), end, NOW)
    return role


def fetch(role, replica, offset, at=NOW):
    proposal = role.fetched(replica, offset, 0, at)
    role.advance(at)
    return proposal


def test_the_high_watermark_is_the_smallest_end_of_the_isr():
    role = leader()
    role.appended(10, NOW)
    assert role.high_watermark == 0
    fetch(role, 2, 8)
    assert role.high_watermark == 0
    fetch(role, 3, 4)
    assert role.high_watermark == 4
    fetch(role, 3, 9)
    assert role.high_watermark == 8


def test_alone_in_the_isr_all_is_committed_at_once():
    role = leader(isr=(1,))
    assert role.appended(10, NOW)
    assert role.high_watermark == 10


def test_one_that_keeps_up_counts_before_it_is_let_in():
    """Or the high watermark would run ahead of it, and it would never reach it."""
    role = leader(isr=(1,), end=100)
    assert role.high_watermark == 100
    role.followers[2].fetched(100, 0, 100, NOW)
    role.appended(110, NOW + 1)
    assert role.high_watermark == 100
    role.appended(120, NOW + LAG_MS + 1)
    assert role.high_watermark == 120


def test_a_follower_that_stopped_lags_after_the_time_and_not_before():
    role = leader()
    role.appended(1, NOW)
    fetch(role, 2, 1)
    assert role.lagging(NOW + LAG_MS) == ()
    assert role.lagging(NOW + LAG_MS + 1) == (3,)


def test_a_follower_that_is_always_a_moment_behind_does_not_lag():
    role = leader(replicas=(1, 2), isr=(1, 2))
    for step in range(100):
        at = NOW + step * 1000
        role.appended(10 * step + 10, at)
        fetch(role, 2, 10 * step, at)  # all that there was a second ago
        assert role.lagging(at) == ()
    assert role.lagging(at + LAG_MS + 1000) == (2,)


def test_a_follower_that_reads_and_never_catches_up_lags():
    role = leader(replicas=(1, 2), isr=(1, 2))
    for step in range(40):
        role.appended(1000 * step + 1000, NOW + step * 1000)
        fetch(role, 2, step, NOW + step * 1000)
    assert role.lagging(NOW + 39_000) == (2,)


def test_one_that_is_no_replica_any_more_does_not_stay_in_sync():
    """It was being let in when a second reassignment took it away."""
    role = leader(isr=(1, 2, 3), replicas=(1, 2))
    fetch(role, 2, 0)
    assert role.lagging(NOW) == (3,)
    assert role.shrink(NOW).isr == (1, 2)


def test_nobody_lags_while_nothing_is_written():
    role = leader()
    assert role.lagging(NOW + 100 * LAG_MS) == (2, 3)  # who never fetched
    fetch(role, 2, 0)
    assert role.lagging(NOW + 100 * LAG_MS) == (3,)


class Session:
    replica_id = 2

    def __init__(self, used):
        self.used = used


def test_an_idle_session_asks_for_all_its_partitions():
    role = leader(replicas=(1, 2), isr=(1, 2))
    session = Session(NOW)
    role.fetched(2, 0, 0, NOW, session)
    session.used = NOW + 5 * LAG_MS
    role.appended(1, NOW + 5 * LAG_MS)
    assert role.lagging(NOW + 6 * LAG_MS) == ()
    assert role.lagging(NOW + 6 * LAG_MS + 1) == (2,)


def test_a_shrink_counts_when_it_is_written():
    role = leader()
    role.appended(5, NOW)
    fetch(role, 2, 5)
    proposal = role.shrink(NOW + LAG_MS + 1)
    assert (proposal.isr, proposal.version) == ((1, 2), 0)
    role.advance(NOW + LAG_MS + 1)
    assert (role.high_watermark, role.isr) == (0, (1, 2, 3))
    role.written(1)
    role.advance(NOW + LAG_MS + 1)
    assert (role.high_watermark, role.isr, role.version) == (5, (1, 2), 1)


def test_who_is_let_in_counts_before_it_is_written():
    role = leader(isr=(1, 2), end=5)
    fetch(role, 2, 5)
    proposal = role.fetched(3, 5, 0, NOW)
    assert proposal.isr == (1, 2, 3)
    role.appended(9, NOW + 2 * LAG_MS)
    fetch(role, 2, 9, NOW + 2 * LAG_MS)
    assert (role.high_watermark, role.isr) == (5, (1, 2))


def test_one_change_at_a_time():
    role = leader(isr=(1,), end=5)
    assert role.fetched(2, 5, 0, NOW).isr == (1, 2)
    assert role.fetched(3, 5, 0, NOW) is None
    assert role.shrink(NOW + 2 * LAG_MS) is None
    role.written(1)
    assert role.expand_next(NOW).isr == (1, 2, 3)


def test_who_has_stopped_fetching_is_not_let_in():
    role = leader(isr=(1,), end=5)
    role.fetched(2, 5, 0, NOW)
    role.fetched(3, 5, 0, NOW)
    role.written(1)
    assert role.expand_next(NOW + LAG_MS + 1) is None


@pytest.mark.parametrize("offset", [4, 7])
def test_no_one_joins_below_the_high_watermark_or_the_start_of_the_epoch(offset):
    """What this leader had at its election may be committed, even if it does not know that yet."""
    role = leader(isr=(1, 2), end=8)
    fetch(role, 2, 5)
    assert role.high_watermark == 5
    assert role.fetched(3, offset, 0, NOW) is None
    assert role.fetched(3, 8, 0, NOW).isr == (1, 2, 3)


def test_refused_it_waits_to_be_told():
    role = leader(isr=(1,), end=5)
    role.fetched(2, 5, 0, NOW)
    role.refused()
    role.appended(9, NOW + 2 * LAG_MS)
    assert role.high_watermark == 5  # for in ZooKeeper 2 may be in sync
    assert role.fetched(3, 9, 0, NOW) is None
    assert role.shrink(NOW + 2 * LAG_MS) is None
    role.lead(state(1, 1, (1,), (1, 2, 3)), 9, NOW)
    assert (role.high_watermark, role.isr_state) == (9, IsrState.SETTLED)


def test_a_new_epoch_of_the_same_leader_keeps_what_it_knows():
    role = leader(replicas=(1, 2), isr=(1, 2))
    role.appended(5, NOW)
    fetch(role, 2, 3)
    role.lead(state(1, 1, (1, 2), (1, 2, 4)), 5, NOW)
    assert {number: each.end for number, each in role.followers.items()} == {2: 3, 4: -1}
    assert (role.leader_since, role.high_watermark, role.epoch_start) == (0, 3, 5)
    role.follow(state(2, 2, (1, 2), (1, 2, 4)))
    role.lead(state(1, 3, (1, 2), (1, 2, 4)), 5, NOW)
    assert [each.end for each in role.followers.values()] == [-1, -1]
    assert role.leader_since == 3


def test_the_tables():
    assert len(ROLES) == len(Role) * len(RoleChange)
    assert set(ISR_STEPS.values()) == set(IsrState)
    assert {step for _, step in ISR_STEPS} == set(IsrStep)
