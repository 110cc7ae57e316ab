"""What a failover cost is read off events and states, and said in one sentence."""

from dataclasses import replace

from engine.model import TopicPartition
from tests.unit.widgets.cluster import START, event, partition, state
from widgets import failover_cost
from widgets.story import Outage, Story

ORDERS = TopicPartition("orders", 0)


def outage(**facts):
    known = {"began": START + 1000, "broker": 2, "cause": "killed", "partitions": (ORDERS,)}
    return Outage(**known | {"missing": set()} | facts)


def states(before, after):
    """The partition before and after the election, at START + 3000."""

    def at(time):
        shown = before if time < START + 3000 else after
        return replace(state({ORDERS: shown}), at=time)

    return at


UNCHANGED = states(partition(2), partition(1, epoch=1))


def test_nothing_is_lost_when_the_new_leader_had_it_all():
    over = outage(expired=START + 3010, ended=START + 3100)
    assert failover_cost.sentence(over, UNCHANGED, START + 9000) == (
        "orders-0 unavailable for 2.10 s, of which 2.01 s is the session time-out. "
        "Lost: nothing committed."
    )


def test_a_log_that_is_cut_back_for_another_reason_does_not_contradict_it():
    """A leader without a link to the others: what it took alone is cut off when it is back."""
    story, over = Story(), outage(expired=START + 3010, ended=START + 3100)
    facts = {"topic": "orders", "partition": 0, "end_offset": 10, "was": 1010}
    story.add([event("log.truncated", 5000, 3, **facts)])
    assert story.lines[0].words == "log cut back to the leader's: orders-0 1010 → 10"
    cost = failover_cost.sentence(over, UNCHANGED, START + 9000)
    assert cost.endswith("Lost: nothing committed.")
    assert "its log is cut back to the leader's: what only it had was never" in failover_cost.WHY


def test_what_a_dead_leader_had_alone_is_not_known_before_it_is_back():
    over = outage(expired=START + 3010, ended=START + 3100)

    def down(leader):
        found = partition(leader, epoch=1)
        dead = replace(found.replicas[2], answers=False, leader_epoch=0)
        return replace(found, replicas={**found.replicas, 2: dead})

    clean = states(partition(2), down(1))
    assert failover_cost.sentence(over, clean, START + 9000).endswith(
        "Lost: nothing committed; what it had alone shows when broker 2 is back."
    )
    unclean = states(replace(partition(2), isr=(2,)), down(1))
    assert failover_cost.sentence(over, unclean, START + 9000).endswith(
        "Lost: not known; it shows when broker 2 is back."
    )


def test_what_only_the_dead_leader_had_is_lost_and_had_never_been_committed():
    ends = states(
        partition(2, ends=(10, 12, 10), committed=10),
        partition(1, ends=(10, 12, 10), committed=10, epoch=1),
    )
    over = outage(expired=START + 3010, ended=START + 3100)
    assert failover_cost.sentence(over, ends, START + 9000).endswith(
        "Lost: 2 records of orders-0 from 10, never committed."
    )


def test_an_unclean_election_loses_what_was_committed():
    ends = states(
        partition(2, ends=(7, 12, 10), committed=10),
        partition(1, ends=(7, 12, 10), committed=7, epoch=1),
    )
    over = outage(ended=START + 3100)
    assert "5 records of orders-0 from 7, 3 COMMITTED" in failover_cost.sentence(
        over, ends, START + 9000
    )


def test_once_the_dead_one_is_back_its_truncation_tells_the_exact_offsets():
    over = outage(ended=START + 3100, cut=[(ORDERS, 10, 11)])
    assert failover_cost.sentence(over, UNCHANGED, START + 9000).endswith(
        "Lost: 1 record of orders-0 from 10, never committed."
    )


def test_its_truncation_tells_what_is_lost_of_a_topic_that_nobody_had_looked_at():
    """A topic is created, and its leader dies before the next look."""
    over = outage(ended=START + 3100, cut=[(ORDERS, 2, 4)])
    words = failover_cost.sentence(over, lambda at: replace(state({}), at=at), START + 9000)
    assert words.endswith("Lost: 2 records of orders-0 from 2, never committed.")


def test_while_it_lasts_it_says_what_is_waited_for():
    waiting = failover_cost.sentence(outage(), UNCHANGED, START + 2500)
    assert waiting == (
        "orders-0: no leader for 1.50 s now. The session of broker 2 has not run out yet."
    )
    stuck = failover_cost.sentence(outage(expired=START + 3000), UNCHANGED, START + 9000)
    assert "no replica in sync could take over" in stuck


def test_looked_at_in_the_past_the_end_is_not_known_yet():
    over = outage(expired=START + 3010, ended=START + 3100)
    assert "no leader for 0.50 s now" in failover_cost.sentence(over, UNCHANGED, START + 1500)


def test_the_last_outage_of_the_learners_own_topics_is_reported():
    own, later = outage(), outage(began=START + 5000)
    inside = outage(began=START + 7000, partitions=(TopicPartition("__consumer_offsets", 1),))
    assert failover_cost.latest([own, later, inside], START + 9000) is later
    assert failover_cost.latest([own, later, inside], START + 4000) is own
    assert failover_cost.latest([], START) is None
