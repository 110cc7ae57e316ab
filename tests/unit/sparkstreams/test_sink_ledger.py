"""The ledger of the exactly-once sink: whoever reads it finds the same, however it came about."""

import json
from itertools import permutations

import pytest

from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from sparkstreams.ledger import (
    SEQUENCES,
    Decision,
    Entry,
    EpochLedger,
    NumberedDecision,
    Staged,
    TargetShare,
    shares,
)

QUERY = "5f2d"
ORDERS = [TopicPartition("orders", n) for n in range(3)]


def decision(
    epoch: int, counts: dict[TopicPartition, int], producer: int = 7, start: int = 0
) -> Decision:
    """Each target gets its records in batches of ten, staged one after the other."""
    offset, targets = start, {}
    for target, count in counts.items():
        staged = []
        while count:
            staged.append(Staged(0, offset, min(count, 10)))
            offset += staged[-1].records
            count -= staged[-1].records
        targets[target] = TargetShare(100, tuple(staged))
    return Decision(epoch, producer, "staging", targets)


def read(*entries: Entry, query: str = QUERY) -> EpochLedger:
    ledger = EpochLedger(query)
    for key, value in entries:
        ledger.apply(key, value)
    return ledger


def planned(ledger: EpochLedger, epoch: int) -> NumberedDecision:
    plan = ledger.plan(epoch)
    assert plan is not None
    return plan


def decided(made: Decision, nonce: str = "a") -> Entry:
    return EpochLedger(QUERY).decide(made, nonce)


def compacted(entries: list[Entry]) -> list[Entry]:
    """The last record of each key, and in the end no tombstone either."""
    last = {key: place for place, (key, _) in enumerate(entries)}
    kept = [entry for place, entry in enumerate(entries) if last[entry[0]] == place]
    return [(key, value) for key, value in kept if value is not None]


def run(counts: list[dict[TopicPartition, int]]) -> list[Entry]:
    """What the ledger holds after so many epochs, all published."""
    entries: list[Entry] = []
    for epoch, each in enumerate(counts):
        entries.append(decided(decision(epoch, each)))
        ledger = read(*entries)
        entries += ledger.conclude(planned(ledger, epoch))
    return entries


def test_an_epoch_goes_from_decided_to_published() -> None:
    ledger = EpochLedger(QUERY)
    assert ledger.plan(0) is None, "nothing is decided"
    entries = [decided(decision(0, {ORDERS[0]: 25}))]
    ledger = read(*entries)
    plan = planned(ledger, 0)
    assert plan.decision.producer == 7
    assert [(it.staged, it.sequence) for it in plan.batches({ORDERS[0]: 0})] == [
        (Staged(0, 0, 10), 0),
        (Staged(0, 10, 10), 10),
        (Staged(0, 20, 5), 20),
    ]
    ledger = read(*entries, *ledger.conclude(plan))
    assert ledger.published == 0
    assert ledger.plan(0) is None, "there is nothing left to do"


def test_sequence_numbers_go_on_from_epoch_to_epoch_in_each_partition() -> None:
    entries = run([{ORDERS[0]: 25, ORDERS[1]: 3}, {}, {ORDERS[1]: 40}])
    last = decision(3, {ORDERS[0]: 1, ORDERS[1]: 1, ORDERS[2]: 1})
    plan = planned(read(*entries, decided(last)), 3)
    assert plan.first == {ORDERS[0]: 25, ORDERS[1]: 43, ORDERS[2]: 0}


def test_after_the_largest_sequence_number_comes_0() -> None:
    near = json.dumps({"producer": 7, "next": [["orders", 0, SEQUENCES - 15]]}).encode()
    published = (f"{QUERY}/4/published".encode(), near)
    ledger = read(published, decided(decision(5, {ORDERS[0]: 30})))
    plan = planned(ledger, 5)
    assert [it.sequence for it in plan.batches({ORDERS[0]: 0})] == [
        SEQUENCES - 15,
        SEQUENCES - 5,
        5,
    ]
    assert plan.place(ORDERS[0], SEQUENCES - 6) == 10
    assert plan.place(ORDERS[0], 4) == 20
    assert plan.place(ORDERS[0], 14) == 30
    after = read(published, decided(plan.decision), *ledger.conclude(plan))
    then = planned(read(*ledger.conclude(plan), decided(decision(6, {ORDERS[0]: 1}))), 6)
    assert after.published == 5
    assert then.first[ORDERS[0]] == 15


def test_of_two_drivers_that_race_the_first_in_the_ledger_decides_for_both() -> None:
    mine = decided(decision(0, {ORDERS[0]: 10}, producer=7), "a")
    theirs = decided(decision(0, {ORDERS[0]: 10}, producer=8, start=500), "b")
    for first, second, producer, offset in ((mine, theirs, 7, 0), (theirs, mine, 8, 500)):
        plan = planned(read(first, second), 0)
        assert plan.decision.producer == producer
        assert plan.decision.shares[ORDERS[0]].staged[0].offset == offset


def test_one_that_was_thought_dead_can_decide_and_publish_what_it_likes() -> None:
    """It knew of epoch 1 only, which is long published: nobody listens."""
    entries = run([{ORDERS[0]: 10}] * 4)
    stale = read(*run([{ORDERS[0]: 10}]), decided(decision(1, {ORDERS[0]: 99}), "zombie"))
    zombie = [decided(decision(1, {ORDERS[0]: 99}), "zombie")]
    zombie += [it for it in stale.conclude(planned(stale, 1)) if it[1] is not None]
    ledger = read(*entries, *zombie)
    assert ledger.published == 3
    assert ledger.plan(1) is None
    plan = planned(read(*entries, *zombie, decided(decision(4, {ORDERS[0]: 1}))), 4)
    assert plan.first == {ORDERS[0]: 40}
    swept = read(*entries, *zombie, decided(decision(4, {ORDERS[0]: 1}))).conclude(plan)
    assert {key for key, _ in zombie} <= {key for key, value in swept if value is None}


@pytest.mark.parametrize("epochs", [1, 2, 5])
def test_compaction_changes_nothing_wherever_it_cuts(epochs: int) -> None:
    counts = [{ORDERS[n % 3]: 10 + n, ORDERS[0]: 5} for n in range(epochs)]
    entries = [
        *run(counts),
        decided(decision(epochs, {ORDERS[0]: 20}), "first"),
        decided(decision(epochs, {ORDERS[0]: 30}), "second"),
    ]
    whole = planned(read(*entries), epochs)
    for cut in range(len(entries) + 1):
        cleaned = [*compacted(entries[:cut]), *entries[cut:]]
        assert planned(read(*cleaned), epochs) == whole, f"cut at {cut}"


def test_published_twice_and_compacted_it_still_counts_for_what_was_decided_before() -> None:
    """The zombie's second "published 0" takes the place of the first, behind the decision for 1."""
    first = decided(decision(0, {ORDERS[0]: 10}))
    ledger = read(first)
    again = ledger.conclude(planned(ledger, 0))
    entries = [first, *again, decided(decision(1, {ORDERS[0]: 5})), *again]
    assert planned(read(*compacted(entries)), 1).first == {ORDERS[0]: 10}


def test_the_ledger_stays_small() -> None:
    assert len(compacted(run([dict.fromkeys(ORDERS, 10)] * 50))) == 1


def test_other_queries_and_other_records_are_passed_over() -> None:
    other = EpochLedger("77aa")
    theirs = other.decide(decision(0, {ORDERS[0]: 10}), "x")
    mine = decided(decision(0, {ORDERS[0]: 20}))
    ledger = read(theirs, (b"hello", b"world"), mine)
    assert planned(ledger, 0).decision.shares[ORDERS[0]].records == 20
    assert all(key.startswith(b"5f2d/") for key, _ in ledger.conclude(planned(ledger, 0)))
    assert planned(read(theirs, mine, query="77aa"), 0).decision.shares[ORDERS[0]].records == 10


def test_a_restart_goes_on_where_the_target_has_the_last_batch() -> None:
    plan = planned(read(decided(decision(0, {ORDERS[0]: 30, ORDERS[1]: 10}))), 0)
    done = {ORDERS[0]: plan.place(ORDERS[0], 19), ORDERS[1]: 0}
    left = [(it.target.partition, it.staged.offset) for it in plan.batches(done)]
    assert left == [(0, 20), (1, 30)]
    assert not list(plan.batches({ORDERS[0]: 30, ORDERS[1]: 10}))


def test_batches_of_earlier_epochs_are_not_taken_for_this_ones() -> None:
    entries = run([{ORDERS[0]: 25}])
    plan = planned(read(*entries, decided(decision(1, {ORDERS[0]: 10}))), 1)
    assert [plan.place(ORDERS[0], last) for last in (9, 24)] == [0, 0]
    assert [plan.place(ORDERS[0], last) for last in (34, 35)] == [10, 0]


def test_what_tasks_staged_makes_the_same_shares_in_whatever_order_they_report() -> None:
    staged = [
        (ORDERS[1], Staged(0, 0, 5)),
        (ORDERS[0], Staged(0, 5, 5)),
        (ORDERS[0], Staged(1, 3, 2)),
    ]
    ends = {ORDERS[0]: 11, ORDERS[1]: 12}
    made = {str(shares(each, ends)) for each in permutations(staged)}
    assert len(made) == 1
    assert shares(staged, ends)[ORDERS[0]] == TargetShare(11, (Staged(0, 5, 5), Staged(1, 3, 2)))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"5f2d/0/decided/a", b"not json"),
        (b"5f2d/x/decided/a", b"{}"),
        (b"5f2d/0/decided/a", b"{}"),
        (b"5f2d", b"{}"),
        (b"5f2d/0/published", b"[]"),
        (b"5f2d/0/published", b'{"producer": 7, "next": 5}'),
    ],
)
def test_a_record_that_makes_no_sense_is_reported_by_its_key(key: bytes, value: bytes) -> None:
    with pytest.raises(ApiException, match="makes no sense") as caught:
        read((key, value))
    assert caught.value.code == ErrorCode.corrupt_message
    assert key.decode() in caught.value.message
