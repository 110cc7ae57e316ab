"""Each promise to a group holds in a quiet run, and complains if somebody tampers with it."""

import pytest

from engine.coordinator.records import GroupKey, GroupValue, OffsetValue, encode_key, encode_value
from engine.storage import records
from engine.storage.records import Record
from proof.storms import group_invariants
from proof.storms.group_workload import COORDINATED
from proof.storms.invariants import ALWAYS, AT_REST, Violation, check
from proof.storms.member import GROUP, Taken
from proof.storms.run import PARTITIONS, Run

ORDERS = PARTITIONS[0]


@pytest.fixture
def run():
    run = Run(1, 6)
    run.storm.is_over, run.group_workload.trouble = True, 0
    run.go()
    run.observed.observe()
    check(run.observed, ALWAYS + AT_REST)
    return run


def complaint(run, promise):
    with pytest.raises(Violation) as raised:
        check(run.observed, (promise,))
    assert raised.value.invariant == promise.__name__
    return raised.value.text


def coordinator(run):
    return next(each for each in run.observed.leaders if each.partition.id == COORDINATED)


def group(run):
    return coordinator(run).running.group(GROUP)


def test_two_owners(run):
    one, other = run.group_workload.everyone[:2]
    one.taken.append(Taken(99, frozenset({ORDERS})))
    other.taken.append(Taken(99, frozenset({ORDERS})))
    assert complaint(run, group_invariants.no_partition_has_two_owners) == (
        f"orders-0 belongs to {one.process.name} and to {other.process.name} in generation 99"
    )


def test_a_member_of_a_deleted_group_owns_nothing_of_the_next_one_of_that_name(run):
    one, other = run.group_workload.everyone[:2]
    run.observed.memory["joined", "before"] = run.observed.deletions - 1
    one.taken.append(Taken(99, frozenset({ORDERS}), "before"))
    other.taken.append(Taken(99, frozenset({ORDERS}), "after"))
    assert list(group_invariants.no_partition_has_two_owners(run.observed)) == []


@pytest.mark.parametrize("what", ["a later generation", "the same, of others"])
def test_a_commit_behind_the_record_of_another_generation(run, what):
    log = run.observed.committed[COORDINATED]
    commit = next(
        each
        for each in log[::-1]
        if any(isinstance(value, OffsetValue) for _, value in group_invariants.entries(each.data))
    )
    generation = run.observed.generation.generation + (what == "a later generation")
    value = encode_value(GroupValue("consumer", generation))
    batch = records.encode([Record(0, 0, encode_key(GroupKey(GROUP)), value)])
    log += commit._replace(data=batch), commit
    assert "is a commit of member-" in complaint(
        run, group_invariants.commits_of_the_past_are_refused
    )


def test_a_coordinator_without_an_acknowledged_commit(run):
    log = coordinator(run).log
    run.observed.memory.clear()
    log.truncate(log.end_offset - 1, 0)
    while group_invariants._place(log, run.group_workload.everyone[0].acknowledged[-1]) >= 0:
        log.truncate(log.end_offset - 1, 0)
    assert "was acknowledged, and coordinator" in complaint(
        run, group_invariants.committed_offsets_survive
    )


def test_a_coordinator_that_has_forgotten_what_is_in_its_log(run):
    stored = group(run).offsets.stored
    first = next(
        value
        for each in coordinator(run).log.batches
        for key, value in group_invariants.entries(each.data)
        if isinstance(value, OffsetValue) and key.topic_partition == ORDERS
    )
    assert first.offset < stored[ORDERS].offset
    stored[ORDERS] = first
    said = f"takes {first.offset} for committed of orders-0, and something later was acknowledged"
    assert said in complaint(run, group_invariants.committed_offsets_survive)
    del stored[ORDERS]
    assert "takes None for" in complaint(run, group_invariants.committed_offsets_survive)


def test_a_partition_without_an_owner(run):
    owner = next(m for m in run.group_workload.members.values() if ORDERS in m.membership.owned)
    owner.membership.owned -= {ORDERS}
    assert complaint(run, group_invariants.every_partition_has_an_owner) == "orders-0 has 0 owners"


def test_a_member_that_nobody_counts(run):
    group(run).members.popitem()
    assert "as members" in complaint(run, group_invariants.every_partition_has_an_owner)


def test_a_group_that_has_not_finished(run):
    stored = group(run).offsets.stored
    stored[ORDERS] = OffsetValue(1)
    assert complaint(run, group_invariants.the_group_has_read_everything).startswith(
        "of orders-0 1 is committed, and it ends at "
    )
