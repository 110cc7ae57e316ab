"""The storm can fail: brokers with a known defect are found out, in so many seeds, by this name."""

from typing import NamedTuple

import pytest

from proof.storms.defects import DEFECTS
from proof.storms.invariants import Violation
from proof.storms.run import Run
from proof.storms.trace import Trace


class Expected(NamedTuple):
    within: int  # seeds
    invariant: str
    first: int = 0
    known: int = 0  # the seed that found it last: it is tried first, and saves the others

    @property
    def seeds(self) -> list[int]:
        seeds = range(self.first, self.first + self.within)
        return sorted(seeds, key=lambda seed: seed != self.known)


FOUND = {
    "commit-unreplicated": Expected(2, "what_is_committed_is_on_every_replica_in_sync"),
    "join-unchecked": Expected(40, "what_is_committed_is_on_every_replica_in_sync", known=20),
    "proposal-uncounted": Expected(60, "the_leader_waits_for_all_who_may_follow_it", known=9),
    "sequence-unchecked": Expected(5, "sequences_are_stored_once"),
    "unfenced": Expected(60, "epochs_only_grow"),
    "cut-to-high-watermark": Expected(20, "no_acknowledged_record_is_lost"),
    "elect-anybody": Expected(20, "no_acknowledged_record_is_lost"),
    "generation-unchecked": Expected(20, "commits_of_the_past_are_refused", known=19),
    "commit-at-once": Expected(40, "committed_offsets_survive", first=65, known=82),
    "unstable-read": Expected(3, "the_last_stable_offset_waits"),
    "offsets-at-once": Expected(3, "offsets_wait_for_the_marker"),
    "markers-forgotten": Expected(10, "every_transaction_has_ended", known=7),
    "abort-forgotten": Expected(40, "transactions_end_in_one_way"),
    "epoch-kept": Expected(3, "an_epoch_belongs_to_one_producer"),
    "last-replica-standing": Expected(10, "no_acknowledged_record_is_lost", first=40, known=43),
    "back-too-soon": Expected(30, "no_acknowledged_record_is_lost", known=14),
    "late-request": Expected(20, "transactions_end_in_one_way", known=6),
}
SLOW = {"abort-forgotten", "unfenced"}  # many seeds, which take more than ten seconds


def test_every_defect_has_its_test():
    assert FOUND.keys() == DEFECTS.keys()


@pytest.mark.parametrize(
    "name", [pytest.param(it, marks=pytest.mark.long) if it in SLOW else it for it in FOUND]
)
def test_a_defect_is_found(name):
    check_found(DEFECTS[name], FOUND[name])


def check_found(defect, expected, kraft=False):
    """In some runs another invariant is faster: one that breaks before anything is lost."""
    broken = []
    for seed in expected.seeds:
        try:
            Run(seed, defect=defect, kraft=kraft).go()
        except Violation as violation:
            broken.append(violation.invariant)
            if violation.invariant == expected.invariant:
                return
    pytest.fail(f"{expected.invariant} held for {expected.within} seeds; broken: {broken}")


def first_loss(name, seeds):
    for seed in seeds:
        trace = Trace.of(seed, defect=name)
        if trace.violation and trace.violation.invariant == "no_acknowledged_record_is_lost":
            return trace
    raise AssertionError("nothing was lost")


def test_the_last_replica_standing_had_lost_its_power():
    """The hole that Kafka with ZooKeeper has: every election was clean, and a record is gone."""
    trace = first_loss("last-replica-standing", FOUND["last-replica-standing"].seeds)
    events = [event for moment in trace for event in moment.events]
    elections = [event for event in events if event.kind == "leader.elected"]
    assert all(event.data["clean"] for event in elections)
    dark = {e.data["broker"] for e in events if e.kind == "broker.lost-power" and e.data["records"]}
    assert f"leader {elections[-1].data['leader']} " in trace.violation.text
    assert any(each.data["isr"] in [[b] for b in dark] for each in elections)
