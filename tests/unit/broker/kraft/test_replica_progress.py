"""When a replica had everything, as the leader sees it."""

from engine.broker.kraft.replica_progress import FORGET_OBSERVER_MS, QuorumProgress

VOTERS = frozenset({101, 102})


def test_a_replica_has_caught_up_if_it_has_all_that_was_there_at_its_fetch_before():
    progress = QuorumProgress()
    progress.fetched(1, 102, 10, leader_end=10, now=1000)
    assert progress.of(1, 102).last_caught_up_ms == 1000
    progress.fetched(1, 102, 10, leader_end=15, now=1200)  # it has not what came since
    assert progress.of(1, 102).last_caught_up_ms == 1000
    progress.fetched(1, 102, 15, leader_end=20, now=1300)  # now it has all that there was at 1200
    assert progress.of(1, 102).last_caught_up_ms == 1200
    assert progress.of(1, 102).last_fetch_ms == 1300
    assert progress.of(2, 102).log_end == -1  # nothing is known in another epoch


def test_an_observer_that_does_not_fetch_any_more_is_forgotten():
    progress = QuorumProgress()
    progress.fetched(1, 102, 10, leader_end=10, now=1000)
    progress.fetched(1, 5, 10, leader_end=10, now=1000)
    assert progress.others(1, VOTERS, 1001) == [5]
    assert progress.others(1, VOTERS, 1000 + FORGET_OBSERVER_MS) == []
    assert progress.others(2, VOTERS, 1001) == []
