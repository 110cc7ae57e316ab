"""Each invariant holds in a quiet run, and complains if somebody tampers with the cluster."""

import pytest

from engine.errors import ErrorCode
from engine.model import Event
from engine.sim.client import Row
from engine.sim.world import Happened
from proof.storms import invariants
from proof.storms.invariants import ALWAYS, AT_REST, Violation, check
from proof.storms.observed_state import Acknowledged
from proof.storms.run import PARTITIONS, Run

ORDERS = PARTITIONS[0]


@pytest.fixture
def run():
    run = Run(2, 6)
    run.storm.is_over = True  # it never begins
    run.go()
    run.observed.observe()
    check(run.observed, ALWAYS + AT_REST)
    return run


def complaint(run, invariant):
    """What one of them says, and that it is the name under which it is reported."""
    with pytest.raises(Violation) as raised:
        check(run.observed, (invariant,))
    assert raised.value.invariant == invariant.__name__
    assert str(raised.value).startswith(f"{invariant.__name__} does not hold ")
    return raised.value.text


def leader(run):
    return next(each for each in run.observed.leaders if each.partition.id == ORDERS)


def follower(run):
    return next(
        each
        for each in run.observed.replicas
        if each.partition.id == ORDERS and not each.partition.is_leader
    )


def test_a_leader_without_an_acknowledged_record(run):
    (log, last) = leader(run).log, run.observed.acknowledged[ORDERS][-1]
    run.observed.memory.clear()
    log.truncate(last.offset, 0)
    assert f"was acknowledged at offset {last.offset} of orders-0, which leader" in complaint(
        run, invariants.no_acknowledged_record_is_lost
    )


def test_a_replica_with_something_else(run):
    log = follower(run).log
    run.observed.memory.clear()
    log.batches[3] = log.batches[0]
    assert "offset 3 of orders-0 is committed, and broker" in complaint(
        run, invariants.replicas_agree_below_the_high_watermark
    )


def test_one_in_sync_that_has_less(run):
    log = follower(run).log
    log.truncate(3, 0)
    assert "which is in sync, ends at 3" in complaint(
        run, invariants.what_is_committed_is_on_every_replica_in_sync
    )


def test_a_leader_that_counts_too_few(run):
    partition = leader(run).partition
    partition.counted = frozenset([partition.broker_id])
    assert f"counts [{partition.broker_id}] only" in complaint(
        run, invariants.the_leader_waits_for_all_who_may_follow_it
    )


def test_two_leaders_in_an_epoch(run):
    facts = {"topic": "orders", "partition": 0, "role": "leader", "leader_epoch": 7}
    run.observed.news = [Happened(0, broker, Event("replica.role", 0, facts)) for broker in (1, 2)]
    assert complaint(run, invariants.one_leader_an_epoch) == (
        "brokers 1 and 2 both lead orders-0 in epoch 7"
    )


def test_an_epoch_that_goes_back(run):
    follower(run).partition.leader_epoch -= 1
    assert "as broker" in complaint(run, invariants.epochs_only_grow)


def test_a_broker_that_listens_to_an_old_controller(run):
    leader(run).running.broker.replicas.controller_epoch = 0
    assert complaint(run, invariants.epochs_only_grow).endswith("was 1 and is 0")


def test_a_high_watermark_that_goes_back(run):
    leader(run).partition.high_watermark -= 1
    assert "leader" in complaint(run, invariants.the_high_watermark_grows_while_one_leads)


def test_a_reader_that_saw_what_is_not_there(run):
    reader = run.workload.readers[0]
    reader.rows[2] = Row(2, "r99999", 0)
    run.observed.memory.clear()
    assert complaint(run, invariants.what_was_read_stays) == (
        "r99999 was read at offset 2 of orders-0, and not stored"
    )


def test_a_reader_that_cannot_go_on(run):
    run.workload.readers[0].refused = ErrorCode.offset_out_of_range
    assert complaint(run, invariants.what_was_read_stays).endswith("is out of range")


def test_a_sequence_twice(run):
    run.observed.memory.clear()
    committed = run.observed.committed[ORDERS]
    committed.append(committed[-1])
    assert "has sequence" in complaint(run, invariants.sequences_are_stored_once)


def test_an_acknowledgement_out_of_order(run):
    facts = run.observed.acknowledged[ORDERS]
    facts.append(Acknowledged(0, b"late", facts[-1].delivery))
    assert "acknowledged before" in complaint(run, invariants.acknowledged_in_order)


def test_a_broker_that_stays_away(run):
    run.observed.states[ORDERS] = run.observed.states[ORDERS]._replace(isr=(1, 2))
    assert "in sync are [1, 2]" in complaint(run, invariants.everybody_is_back)


def test_a_broker_that_has_just_ended(run):
    """The cluster does not know of it yet."""
    run.world.kill(2)
    run.observed.observe()
    assert complaint(run, invariants.everybody_is_back) == "[2] are down"


def test_a_controller_that_has_just_ended():
    """The others have the majority, and all else is well."""
    run = Run(2, 1, kraft=True, controllers=3)
    run.storm.is_over = True
    run.go()
    run.world.quorum.kill_server(101)
    run.observed.observe()
    assert complaint(run, invariants.everybody_is_back) == "[101] are down"


def test_a_tail_that_nobody_committed(run):
    log = follower(run).log
    log.truncate(5, 0)
    assert "has 5 records of orders-0" in complaint(run, invariants.all_logs_are_alike)
