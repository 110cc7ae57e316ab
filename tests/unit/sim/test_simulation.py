"""The public class for simulated time: what a lab's cell does with it, and what it shows."""

import math

import pytest

from engine import Simulation
from engine.errors import ApiException


@pytest.fixture
def sim():
    sim = Simulation(brokers=3, replica_lag_time_max_ms=3000)
    sim.topic("orders", replicas=[1, 2, 3])
    sim.store("orders", ["a"])
    sim.run(1)
    return sim


def test_a_record_is_committed_by_the_next_fetch_of_each_follower(sim):
    sim.slow(1, [2, 3], ms=250)
    sim.run(2)
    began = sim.now
    sent = sim.send("orders", "tea")
    steps = sim.watch("orders", seconds=3)
    assert steps.head == ["ms", "LEO 1", "HW 1", "LEO 2", "HW 2", "LEO 3", "HW 3"]
    stored = max(steps.first("LEO 2", 2), steps.first("LEO 3", 2))
    assert stored < steps.first("HW 1", 2) <= sent.answered_ms
    assert steps.first("HW 1", 3) == math.inf  # never
    said = sim.messages("Produce", "Fetch orders-0 from 2", since=began)
    assert [each.source for each in said.notes] == ["client", "3", "2"]
    assert said.column("who")[0] == "client > 1"


def test_acks_decides_when_the_producer_hears(sim):
    sim.slow(1, [2, 3], ms=250)
    quick, sure = sim.send("orders", "b", acks=1), sim.send("orders", "c", acks="all")
    assert quick.answered_ms is None
    assert not quick.acknowledged
    sim.wait(lambda: sure.acknowledged)
    assert quick.answered_ms < 250 < sure.answered_ms
    assert sim.read("orders") == ["a", "b", "c"]
    with pytest.raises(ApiException, match="acks is 0, 1 or 'all', not 2"):
        sim.send("orders", "d", acks=2)


def test_a_leader_that_is_killed_is_followed_by_another(sim):
    before = sim.epoch("orders")
    sim.kill(1)
    sim.wait(lambda: sim.leader("orders") in (2, 3))
    sim.wait(lambda: 1 not in sim.isr("orders"))
    assert sim.epoch("orders") > before
    assert sim.high_watermark(1, "orders") is None
    assert [row.value for row in sim.log(1, "orders")] == ["a"]
    changes = sim.events("leader.changed") or sim.events("broker.killed")
    assert changes.head[:2] == ["ms", "broker"]
    sim.start(1)
    sim.wait(lambda: 1 in sim.isr("orders"))


def test_a_paused_follower_leaves_the_isr_and_comes_back(sim):
    sim.pause(3)
    sim.store("orders", ["b"])
    assert sim.isr("orders") == (1, 2)
    sim.resume(3)
    sim.wait(lambda: 3 in sim.isr("orders"))
    assert sim.log_end(3, "orders") == 2


def test_what_does_not_come_is_an_error_that_says_how_long(sim):
    sim.cut(1, [2, 3])
    with pytest.raises(TimeoutError, match=r"not within 0\.5 seconds of simulated time"):
        sim.wait(lambda: sim.leader("orders") == 2, seconds=0.5)
    sim.heal()


def test_several_partitions_each_with_its_brokers():
    sim = Simulation(brokers=3)
    sim.topic("users", replicas=[[1, 2], [3, 1]], min_insync_replicas=2)
    assert (sim.leader("users", 0), sim.leader("users", 1)) == (1, 3)
    assert sim.send("users", "u", partition=1).partition == ("users", 1)


def test_the_same_steps_make_the_same_run():
    def run():
        sim = Simulation(seed=7)
        sim.topic("orders", replicas=[1, 2, 3])
        sim.send("orders", "a")
        sim.kill(2)
        return repr(sim.watch("orders", 30)), repr(sim.messages())

    assert run() == run()


def test_what_brokers_ask_of_zookeeper_is_a_row_for_each_read_and_write(sim):
    began = sim.now
    sim.add(4)
    sim.run(seconds=1)
    asked = sim.zookeeper_requests(since=began, broker=4)
    assert asked.head == ["ms", "broker", "request", "path", "watch"]
    kinds = [row[2:] for row in asked]
    assert ("Create", "/brokers/ids/4", False) in kinds
    assert ("Exists", "/controller", True) in kinds
    assert set(asked.column("broker")) == {4}
    sim.kill(1)
    sim.run(seconds=25)
    later = {row[1:4] for row in sim.zookeeper_requests(since=began)}
    writer = sim.controller
    assert (writer, "Create", "/controller") in later  # one write of a transaction
    assert (writer, "CheckVersion", "/controller_epoch") in later


def test_a_topic_grows_and_goes_and_every_broker_is_told(sim):
    sim.add_partitions("orders", [[3, 1], [2, 3]])
    assert sim.metadata(2, "orders", 1) is None
    sim.run(seconds=1)
    assert (sim.leader("orders", 1), sim.leader("orders", 2)) == (3, 2)
    assert {sim.metadata(each, "orders", 1).leader for each in (1, 2, 3)} == {3}
    sim.kill(3)
    assert sim.metadata(3, "orders") is None
    sim.start(3)
    sim.delete("orders")
    sim.run(seconds=25)
    assert sim.epoch("orders") == -1
    assert sim.metadata(2, "orders") is None


def test_what_the_leader_knows_of_a_follower_comes_with_its_next_fetch(sim):
    sim.slow(1, 3, ms=250)
    sim.run(2)
    sim.send("orders", "b", acks=1)
    steps = sim.watch("orders", seconds=3, known=True)
    assert steps.head[-3:] == ["known 1", "known 2", "known 3"]
    assert steps.first("known 1", 2) == steps.first("LEO 1", 2)
    assert steps.first("known 3", 2) == steps.first("LEO 3", 2) + 250
    assert sim.known_end(3, "orders") == 2
    sim.kill(1)
    sim.wait(lambda: sim.leader("orders") == 2)
    assert not sim.is_up(1)
    sim.kill(2)
    assert sim.known_end(3, "orders") is None


def test_a_follower_answers_a_reader_who_names_it(sim):
    sim.slow(1, 3, ms=250)
    sim.run(2)
    sim.store("orders", ["b"])
    assert (sim.read("orders"), sim.read("orders", broker=3)) == (["a", "b"], ["a"])


def test_each_producer_has_one_record_under_way(sim):
    sim.slow(1, [2, 3], ms=250)
    sim.run(2)
    one = sim.store("orders", "bcd")
    assert one[2].answered_ms > one[1].answered_ms > one[0].answered_ms
    three = [sim.send("orders", each, producer=each) for each in "efg"]
    sim.wait(lambda: all(each.done for each in three))
    assert max(each.answered_ms for each in three) < one[1].answered_ms


# -- a request that comes a second time ---------------------------------------------------------


@pytest.fixture
def pair():
    """A topic with two partitions, and a transactional producer that has committed one of each."""
    sim = Simulation(brokers=3, transaction_state_log_num_partitions=1)
    sim.topic("__transaction_state", replicas=[2, 1, 3])
    sim.topic("bills", replicas=[[1, 2, 3], [3, 1, 2]])
    return sim


def bill(till, values, commits=True):
    till.begin()
    for partition, value in enumerate(values):
        till.send("bills", value, partition)
    (till.commit if commits else till.abort)()


def committed(sim):
    return [sim.read("bills", partition=each, committed=True) for each in (0, 1)]


@pytest.mark.parametrize(
    ("first_commits", "expected"),
    [(True, [["a", "c"], ["b"]]), (False, [[], ["d"]])],
)
def test_the_end_of_the_last_transaction_ends_half_of_the_next_one(pair, first_commits, expected):
    """A transaction that its producer aborts is committed in half; one that it commits is lost in
    half: as in Kafka 2.8."""
    till = pair.transactional("till")
    pair.repeat_request("EndTxn")
    bill(till, ["a", "b"], first_commits)
    till.begin()
    till.send("bills", "c", 0)
    assert pair.deliver_repeats().rows == [("END_TXN", "NONE")]
    till.send("bills", "d", 1)
    (till.abort if first_commits else till.commit)()
    pair.run(1)
    assert committed(pair) == expected


def test_after_a_new_session_the_late_end_is_fenced(pair):
    till = pair.transactional("till")
    pair.repeat_request("EndTxn")
    bill(till, ["a", "b"])
    till = pair.transactional("till")
    till.begin()
    till.send("bills", "c", 0)
    assert pair.deliver_repeats().rows == [("END_TXN", "PRODUCER_FENCED")]
    till.send("bills", "d", 1)
    till.abort()
    pair.run(1)
    assert committed(pair) == [["a"], ["b"]]


def test_a_copy_comes_by_itself_or_to_nobody(pair):
    till = pair.transactional("till")
    pair.repeat_request("EndTxn", ms=700)
    bill(till, ["a", "b"])
    assert len(pair.events("request.repeated")) == 0
    pair.run(1)
    assert pair.events("request.repeated").column("error") == ["NONE"]
    pair.repeat_request("EndTxn")
    bill(till, ["c", "d"])
    pair.kill(2)
    assert pair.deliver_repeats().rows == [("END_TXN", "no connection")]
    with pytest.raises(ApiException, match='did you mean "EndTxn"'):
        pair.repeat_request("EndTx")


def test_a_produce_that_comes_twice_is_recognized_if_it_has_a_number(sim):
    """A producer with acks=1 is not idempotent here."""
    for acks, found in (("all", ["a", "b"]), (1, ["a", "b", "b", "b"])):
        sim.repeat_request("Produce")
        sim.store("orders", ["b"], acks=acks)
        assert sim.deliver_repeats().rows == [("PRODUCE", "NONE")]
        sim.run(1)
        assert sim.read("orders") == found
