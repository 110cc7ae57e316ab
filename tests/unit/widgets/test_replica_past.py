"""What is remembered of a partition: who had what, what was committed, who was answered."""

from dataclasses import replace

import pytest

from engine.cluster.recording import Recording
from engine.errors import ErrorCode
from engine.model import TopicPartition
from tests.unit.widgets.cluster import START, Cluster, event, partition
from widgets.replica.partition_history import PartitionHistory

ORDERS = TopicPartition("orders", 0)


class Tale:
    """A partition on three brokers, told step by step."""

    def __init__(self):
        self.cluster = Cluster(partitions={})
        self.states = [self.cluster.state()]

    def wait(self, milliseconds):
        self.cluster.pass_time(milliseconds)

    def is_so(self, *ends, committed, leader=1, epoch=0, isr=(1, 2, 3), silent=(), stable=-1):
        facts = {"isr": isr, "epoch": epoch, "stable": stable}
        told = partition(leader, ends=ends, committed=committed, **facts)
        replicas = {
            number: replace(it, answers=number not in silent)
            for number, it in told.replicas.items()
        }
        self.cluster.set_partitions(orders_0=replace(told, replicas=replicas))
        self.states.append(self.cluster.state())

    def happens(self, kind, teller, **facts):
        self.cluster.note(kind, teller, topic="orders", partition=0, **facts)

    def elects(self, leader, epoch, was=-1, reason="offline"):
        facts = {"leader": leader, "leader_epoch": epoch}
        clean = {"was": was, "isr": [leader], "reason": reason, "clean": True}
        self.happens("leader.elected", 3, **facts, **clean)
        self.happens("replica.role", leader, role="leader", **facts)

    def film(self):
        self.states.append(self.cluster.state())
        return Recording(self.states, self.cluster.happened)


def failover():
    """Ten seconds: broker 3 falls behind, broker 1 is killed, 2 leads, 1 comes back and cuts."""
    tale = Tale()
    tale.wait(500)
    tale.elects(1, 0, reason="new")
    tale.is_so(0, 0, 0, committed=0)
    tale.wait(500)
    tale.is_so(10, 10, 10, committed=10)
    tale.wait(1000)
    tale.is_so(20, 20, 12, committed=12)
    tale.wait(1000)
    tale.happens("isr.changed", 1, was=[1, 2, 3], isr=[1, 2], version=1, leader_epoch=0)
    tale.is_so(22, 20, 12, committed=20, isr=(1, 2))
    tale.wait(1000)
    tale.cluster.kill(1)
    tale.is_so(22, 20, 12, committed=20, isr=(1, 2), silent=(1,))
    tale.wait(2000)
    tale.elects(2, 1, was=1)
    tale.is_so(22, 20, 12, committed=12, leader=2, epoch=1, isr=(2,), silent=(1,))
    tale.wait(1000)
    tale.is_so(22, 25, 25, committed=25, leader=2, epoch=1, isr=(2, 3), silent=(1,))
    tale.wait(1000)
    tale.cluster.restart(1)
    tale.happens("log.truncated", 1, was=22, end_offset=20)
    tale.is_so(20, 25, 25, committed=25, leader=2, epoch=1, isr=(2, 3))
    tale.wait(1000)
    tale.is_so(30, 30, 30, committed=30, leader=2, epoch=1)
    tale.wait(1000)
    return tale.film()


def transactions():
    """Eight seconds: a transaction is open from 10 to 14, another one when the leader dies."""
    tale = Tale()
    tale.elects(1, 0, reason="new")
    tale.is_so(10, 10, 10, committed=10, stable=10)
    for end, stable in ((12, 10), (14, 10), (15, 15), (18, 15)):
        tale.wait(1000)
        tale.is_so(end, end, end, committed=end, stable=stable)
    tale.wait(1000)
    tale.cluster.kill(1)
    tale.is_so(18, 18, 18, committed=18, stable=15, silent=(1,))
    tale.wait(1000)
    tale.elects(2, 1, was=1)
    tale.is_so(18, 18, 18, committed=18, leader=2, epoch=1, isr=(2, 3), silent=(1,), stable=15)
    tale.wait(1000)
    last = {"leader": 2, "epoch": 1, "isr": (2, 3), "silent": (1,)}
    tale.is_so(18, 19, 19, committed=19, stable=19, **last)
    tale.wait(1000)
    return tale.film()


@pytest.fixture
def past():
    past, film = PartitionHistory(ORDERS), failover()
    past.see(film)
    past.add_events(film.events())
    return past


def test_before_there_is_a_topic_there_are_no_replicas(past):
    assert past.at(START).state.replicas == {}
    assert past.at(START).committed is None
    assert past.brokers == [1, 2, 3]


def test_a_sample_is_kept_when_something_changed(past):
    assert [sample.at - START for sample in past.samples] == [
        *(0, 500, 1000, 2000, 3000, 4000, 6000, 7000, 8000, 9000)
    ]
    film = failover()
    past.see(film.at(time) for time in (START + 9500, film.end))
    assert len(past.samples) == 10


def test_how_a_replica_stands(past):
    stands = {at: [past.at(START + at).stands(each) for each in (1, 2, 3)] for at in (0, 1000)}
    assert stands == {0: ["", "", ""], 1000: ["lead", "sync", "sync"]}
    assert [past.at(START + 3000).stands(each) for each in (1, 2, 3)] == ["lead", "sync", "lag"]
    assert [past.at(START + 5000).stands(each) for each in (1, 2, 3)] == ["gone", "sync", "lag"]
    assert [past.at(START + 8000).stands(each) for each in (1, 2, 3)] == ["lag", "lead", "sync"]


def test_committed_is_what_the_leader_says_even_when_it_is_dead(past):
    assert past.at(START + 4500).committed == 20
    assert past.at(START + 6500).committed == 12  # a new leader does not know better at first


def test_the_high_watermark_rises(past):
    assert [(rise.at - START, rise.was, rise.now) for rise in past.rises] == [
        (1000, 0, 10),
        (2000, 10, 12),
        (3000, 12, 20),
        (7000, 12, 25),
        (9000, 25, 30),
    ]


def test_what_a_leader_learns_as_it_comes_to_lead_is_no_rise():
    tale = Tale()
    tale.is_so(10, 10, 10, committed=10)
    tale.wait(100)
    tale.is_so(20, 20, 20, committed=20, leader=2, epoch=1)
    past = PartitionHistory(ORDERS)
    past.see(tale.states)
    assert past.rises == []


def test_a_leader_that_goes_on_in_a_new_epoch_answers_those_who_wait():
    tale = Tale()
    tale.is_so(10, 10, 7, committed=7)
    tale.wait(100)
    tale.is_so(10, 10, 7, committed=10, epoch=1, isr=(1, 2))  # broker 3 is gone: it need not agree
    past = PartitionHistory(ORDERS)
    past.see(tale.states)
    assert [(rise.was, rise.now) for rise in past.rises] == [(7, 10)]


def test_a_leader_that_comes_back_answers_nobody_for_it_has_forgotten_who_waited():
    tale = Tale()
    tale.is_so(10, 10, 7, committed=7, silent=(1,))
    tale.wait(100)
    tale.is_so(10, 10, 10, committed=10, epoch=1)
    past = PartitionHistory(ORDERS)
    past.see(tale.states)
    assert past.rises == []


def test_a_cut_tells_what_was_lost(past):
    assert past.cuts == [(START + 8000, 1, 22, 20)]


def test_a_cut_of_nothing_is_none():
    past = PartitionHistory(ORDERS)
    facts = {"topic": "orders", "partition": 0, "was": 7, "end_offset": 7}
    past.add_events([event("log.truncated", 10, 2, **facts)])
    assert past.cuts == []


def test_the_story_is_of_this_partition_alone():
    past = PartitionHistory(ORDERS)
    facts = {"leader": 2, "was": 1, "leader_epoch": 4, "isr": [2], "reason": "off", "clean": True}
    past.add_events(
        [
            event("broker.killed", 10, broker=1),
            event("leader.elected", 20, topic="orders", partition=0, **facts),
            event("leader.elected", 20, topic="orders", partition=1, **facts),
            event("leader.elected", 20, topic="clicks", partition=0, **facts),
            event("topic.created", 900, topic="orders"),
            event("topic.created", 900, topic="clicks"),
        ]
    )
    assert [line.words for line in past.story.lines] == [
        "broker 1 killed (SIGKILL)",
        "new leader: orders-0 nobody → 2, epoch 4",
        "topic orders created",
    ]


def test_an_event_that_is_reported_twice_counts_once(past):
    count = len(past.story.lines)
    past.add_events(failover().events())
    assert len(past.story.lines) == count
    assert len(past.cuts) == 1


def request(at, *rows, api="PRODUCE"):
    partitions = [
        {"topic": "orders", "partition": number, "offset": offset, "error": error, "bytes": 9}
        for number, offset, error in rows
    ]
    return event("request", at, 1, api=api, client="till", took=7, partitions=partitions)


def test_answers_to_producers_are_known_where_brokers_are_traced():
    past = PartitionHistory(ORDERS)
    past.add_events(
        [
            request(10, (0, 5, 0), (1, 8, 0)),
            request(20, (0, 9, 0), api="FETCH"),
            request(30, (0, -1, int(ErrorCode.not_enough_replicas))),
            event("request", 40, 1, api="METADATA", client="till", took=1),
        ]
    )
    assert past.answers == [
        (START + 10, "till", 5, ErrorCode.none, 7),
        (START + 30, "till", -1, ErrorCode.not_enough_replicas, 7),
    ]


def test_of_a_long_run_the_turns_are_kept(monkeypatch):
    monkeypatch.setattr("widgets.replica.partition_history.MOST", 20)
    tale, past = Tale(), PartitionHistory(ORDERS)
    for step in range(200):
        tale.wait(100)
        epoch = int(step >= 101)
        tale.is_so(step, step, step, committed=step, leader=1 + epoch, epoch=epoch)
        past.see(tale.states[-1:])
    assert len(past.samples) <= 22
    assert START + 10_200 in [sample.at for sample in past.samples]
    assert past.samples[-1].committed == 199


def test_the_last_stable_offset_is_the_leaders_and_unknown_in_an_old_recording():
    past = PartitionHistory(ORDERS)
    past.see(transactions())
    assert [it.stable for it in past.samples if it.state.replicas] == [
        10,
        10,
        10,
        15,
        15,
        15,
        15,
        19,
    ]
    assert [it.waits for it in past.samples[1:]] == [0, 1, 1, 0, 1, 1, 1, 0]
    assert past.transactional
    old = PartitionHistory(ORDERS)
    old.see(failover())
    assert {it.stable for it in old.samples} == {None}
    assert not old.transactional
