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
    partition = Partition(ORDERS, 1)
    partition.lead(state(1, 0, isr, replicas), end, NOW)
    return partition


def fetch(partition, replica, offset, at=NOW):
    proposal = partition.fetched(replica, offset, 0, at)
    partition.advance(at)
    return proposal


def test_the_high_watermark_is_the_smallest_end_of_the_isr():
    partition = leader()
    partition.appended(10, NOW)
    assert partition.high_watermark == 0
    fetch(partition, 2, 8)
    assert partition.high_watermark == 0
    fetch(partition, 3, 4)
    assert partition.high_watermark == 4
    fetch(partition, 3, 9)
    assert partition.high_watermark == 8


def test_alone_in_the_isr_all_is_committed_at_once():
    partition = leader(isr=(1,))
    assert partition.appended(10, NOW)
    assert partition.high_watermark == 10


def test_one_that_keeps_up_counts_before_it_is_let_in():
    """Or the high watermark would run ahead of it, and it would never reach it."""
    partition = leader(isr=(1,), end=100)
    assert partition.high_watermark == 100
    partition.followers[2].fetched(100, 0, 100, NOW)
    partition.appended(110, NOW + 1)
    assert partition.high_watermark == 100
    partition.appended(120, NOW + LAG_MS + 1)
    assert partition.high_watermark == 120


def test_a_follower_that_stopped_lags_after_the_time_and_not_before():
    partition = leader()
    partition.appended(1, NOW)
    fetch(partition, 2, 1)
    assert partition.lagging(NOW + LAG_MS) == ()
    assert partition.lagging(NOW + LAG_MS + 1) == (3,)


def test_a_follower_that_is_always_a_moment_behind_does_not_lag():
    partition = leader(replicas=(1, 2), isr=(1, 2))
    for step in range(100):
        at = NOW + step * 1000
        partition.appended(10 * step + 10, at)
        fetch(partition, 2, 10 * step, at)  # all that there was a second ago
        assert partition.lagging(at) == ()
    assert partition.lagging(at + LAG_MS + 1000) == (2,)


def test_a_follower_that_reads_and_never_catches_up_lags():
    partition = leader(replicas=(1, 2), isr=(1, 2))
    for step in range(40):
        partition.appended(1000 * step + 1000, NOW + step * 1000)
        fetch(partition, 2, step, NOW + step * 1000)
    assert partition.lagging(NOW + 39_000) == (2,)


def test_one_that_is_no_replica_any_more_does_not_stay_in_sync():
    """It was being let in when a second reassignment took it away."""
    partition = leader(isr=(1, 2, 3), replicas=(1, 2))
    fetch(partition, 2, 0)
    assert partition.lagging(NOW) == (3,)
    assert partition.shrink(NOW).isr == (1, 2)


def test_nobody_lags_while_nothing_is_written():
    partition = leader()
    assert partition.lagging(NOW + 100 * LAG_MS) == (2, 3)  # who never fetched
    fetch(partition, 2, 0)
    assert partition.lagging(NOW + 100 * LAG_MS) == (3,)


class Session:
    replica_id = 2

    def __init__(self, used):
        self.used = used


def test_an_idle_session_asks_for_all_its_partitions():
    partition = leader(replicas=(1, 2), isr=(1, 2))
    session = Session(NOW)
    partition.fetched(2, 0, 0, NOW, session)
    session.used = NOW + 5 * LAG_MS
    partition.appended(1, NOW + 5 * LAG_MS)
    assert partition.lagging(NOW + 6 * LAG_MS) == ()
    assert partition.lagging(NOW + 6 * LAG_MS + 1) == (2,)


def test_a_shrink_counts_when_it_is_written():
    partition = leader()
    partition.appended(5, NOW)
    fetch(partition, 2, 5)
    proposal = partition.shrink(NOW + LAG_MS + 1)
    assert (proposal.isr, proposal.version) == ((1, 2), 0)
    partition.advance(NOW + LAG_MS + 1)
    assert (partition.high_watermark, partition.isr) == (0, (1, 2, 3))
    partition.written(1)
    partition.advance(NOW + LAG_MS + 1)
    assert (partition.high_watermark, partition.isr, partition.version) == (5, (1, 2), 1)


def test_who_may_join_no_isr_is_not_waited_for():
    """Its broker is fenced, or is being stopped in order; it has caught up a moment ago."""
    gone = set()
    partition = Partition(ORDERS, 1, ineligible=gone)
    partition.lead(state(1, 0, (1, 2), (1, 2, 3)), 0, NOW)
    partition.fetched(3, 0, 0, NOW)
    partition.withdraw()
    partition.appended(5, NOW)
    fetch(partition, 2, 5)
    assert partition.high_watermark == 0
    gone.add(3)
    assert partition.advance(NOW)
    assert partition.high_watermark == 5
    assert partition.fetched(3, 5, 0, NOW) is None
    gone.remove(3)
    assert partition.fetched(3, 5, 0, NOW).isr == (1, 2, 3)


def test_who_is_let_in_counts_before_it_is_written():
    partition = leader(isr=(1, 2), end=5)
    fetch(partition, 2, 5)
    proposal = partition.fetched(3, 5, 0, NOW)
    assert proposal.isr == (1, 2, 3)
    partition.appended(9, NOW + 2 * LAG_MS)
    fetch(partition, 2, 9, NOW + 2 * LAG_MS)
    assert (partition.high_watermark, partition.isr) == (5, (1, 2))


def test_one_change_at_a_time():
    partition = leader(isr=(1,), end=5)
    assert partition.fetched(2, 5, 0, NOW).isr == (1, 2)
    assert partition.fetched(3, 5, 0, NOW) is None
    assert partition.shrink(NOW + 2 * LAG_MS) is None
    partition.written(1)
    assert partition.expand_next(NOW).isr == (1, 2, 3)


def test_who_has_stopped_fetching_is_not_let_in():
    partition = leader(isr=(1,), end=5)
    partition.fetched(2, 5, 0, NOW)
    partition.fetched(3, 5, 0, NOW)
    partition.written(1)
    assert partition.expand_next(NOW + LAG_MS + 1) is None


@pytest.mark.parametrize("offset", [4, 7])
def test_no_one_joins_below_the_high_watermark_or_the_start_of_the_epoch(offset):
    """What this leader had at its election may be committed, even if it does not know that yet."""
    partition = leader(isr=(1, 2), end=8)
    fetch(partition, 2, 5)
    assert partition.high_watermark == 5
    assert partition.fetched(3, offset, 0, NOW) is None
    assert partition.fetched(3, 8, 0, NOW).isr == (1, 2, 3)


def test_refused_it_waits_to_be_told():
    partition = leader(isr=(1,), end=5)
    partition.fetched(2, 5, 0, NOW)
    partition.refused()
    partition.appended(9, NOW + 2 * LAG_MS)
    assert partition.high_watermark == 5  # for in ZooKeeper 2 may be in sync
    assert partition.fetched(3, 9, 0, NOW) is None
    assert partition.shrink(NOW + 2 * LAG_MS) is None
    partition.lead(state(1, 1, (1,), (1, 2, 3)), 9, NOW)
    assert (partition.high_watermark, partition.isr_state) == (9, IsrState.SETTLED)


def test_a_new_epoch_of_the_same_leader_keeps_what_it_knows():
    partition = leader(replicas=(1, 2), isr=(1, 2))
    partition.appended(5, NOW)
    fetch(partition, 2, 3)
    partition.lead(state(1, 1, (1, 2), (1, 2, 4)), 5, NOW)
    assert {number: each.end for number, each in partition.followers.items()} == {2: 3, 4: -1}
    assert (partition.leader_since, partition.high_watermark, partition.epoch_start) == (0, 3, 5)
    partition.follow(state(2, 2, (1, 2), (1, 2, 4)))
    partition.lead(state(1, 3, (1, 2), (1, 2, 4)), 5, NOW)
    assert [each.end for each in partition.followers.values()] == [-1, -1]
    assert partition.leader_since == 3


def test_the_tables():
    assert len(ROLES) == len(Role) * len(RoleChange)
    assert set(ISR_STEPS.values()) == set(IsrState)
    assert {step for _, step in ISR_STEPS} == set(IsrStep)


def test_an_update_within_the_leader_epoch_settles_a_proposal():
    """Without ZooKeeper the ISR is in the metadata log, too."""
    partition = leader(isr=(1, 2))
    proposal = fetch(partition, 3, 0)
    assert proposal.isr == (1, 2, 3)
    assert not partition.update(state(1, 0, (1, 2), (1, 2, 3)), NOW)  # known already
    newer = state(1, 0, (1, 2, 3), (1, 2, 3, 4))._replace(version=5)
    assert partition.update(newer, NOW)
    assert (partition.isr, partition.version, partition.isr_state) == (
        *((1, 2, 3), 5),
        IsrState.SETTLED,
    )
    assert sorted(partition.followers) == [2, 3, 4]
    assert not partition.waits_for(proposal)
    assert not partition.update(newer._replace(leader_epoch=1, version=6), NOW)


def test_a_proposal_that_is_withdrawn_may_be_made_again():
    partition = leader(isr=(1, 2))
    proposal = fetch(partition, 3, 0)
    partition.withdraw()
    assert (partition.isr, partition.isr_state) == ((1, 2), IsrState.SETTLED)
    assert partition.expand_next(NOW) == proposal
