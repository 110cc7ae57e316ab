"""Storms over a quorum of controllers: three or five voters and an observer, 300 seeds.

Kills, power cuts, pauses, cuts, lost and doubled messages, clocks of different speed, strangers:
every invariant of proof/quorum/invariants.py holds after each step, and in the end all is well.
`make storm` runs ten thousand more. Each planted defect is found, by the invariant that is named.
"""

from typing import NamedTuple

import pytest

from engine.cli.main import FAILED, USAGE, main
from proof.quorum.defects import QUORUM_DEFECTS
from proof.quorum.run import QuorumRun
from proof.quorum.storm import QUORUM_FAULTS
from proof.quorum.trace import QuorumRecipe, QuorumTrace
from proof.quorum.world import QUICK, QuorumWorld
from proof.storms.invariants import Violation

SEEDS, AT_ONCE = 300, 60
ROWS = 40  # of the story of a seed that failed


@pytest.mark.parametrize("first", range(0, SEEDS, AT_ONCE))
def test_nothing_that_happens_breaks_the_quorum(first):
    happened, acknowledged = set(), 0
    for seed in range(first, first + AT_ONCE):
        run = QuorumRun(seed)
        try:
            run.go()
        except Violation:
            pytest.fail(story(QuorumRecipe(seed)))
        happened |= run.storm.happened
        acknowledged += len(run.observed.acknowledged)
    assert happened == {*QUORUM_FAULTS}
    assert acknowledged > 20 * AT_ONCE


def story(recipe):
    """What to type to see it again, and what happened in the end."""
    trace = QuorumTrace(recipe)
    return "\n".join([str(trace.violation), f"  {recipe.command}", *trace.lines[-ROWS:]])


class Expected(NamedTuple):
    within: int  # seeds
    invariant: str
    known: int = 0  # the seed that found it last: it is tried first, and saves the others

    @property
    def seeds(self):
        return sorted(range(self.within), key=lambda seed: seed != self.known)


FOUND = {
    "vote-not-durable": Expected(60, "a_voter_votes_once", 26),
    "epoch-not-durable": Expected(20, "epochs_only_grow", 5),
    "elected-by-one": Expected(60, "one_leader_an_epoch", 37),
    "leads-again": Expected(60, "logs_agree_where_epochs_agree", 44),
    "votes-twice": Expected(10, "a_voter_votes_once", 2),
    "log-unchecked": Expected(5, "a_new_leader_has_what_is_committed"),
    "older-epoch-committed": Expected(2, "the_mark_lies_in_the_leaders_epoch"),
    "committed-alone": Expected(2, "what_is_committed_is_on_a_majority"),
    "never-resigns": Expected(60, "a_leader_without_a_majority_resigns", 2),
    "divergence-unchecked": Expected(10, "what_is_committed_stays", 2),
    "fetch-unflushed": Expected(2, "what_is_committed_is_on_a_majority"),
    "snapshot-with-hole": Expected(30, "snapshots_have_all_that_is_committed", 9),
    "start-unflushed": Expected(1600, "what_is_committed_is_on_a_majority", 1558),
}


def test_every_defect_of_the_quorum_has_its_test():
    assert FOUND.keys() == QUORUM_DEFECTS.keys()


@pytest.mark.parametrize("name", FOUND)
def test_a_defect_of_the_quorum_is_found(name):
    expected, broken = FOUND[name], []
    for seed in expected.seeds:
        try:
            QuorumRun(seed, defect=QUORUM_DEFECTS[name]).go()
        except Violation as violation:
            broken.append(violation.invariant)
            if violation.invariant == expected.invariant:
                return
    pytest.fail(f"{expected.invariant} held for {expected.within} seeds; broken: {broken}")


def simulate(*words):
    return main(["simulate", "--quorum", *map(str, words)])


def test_a_run_is_told(capsys):
    assert simulate("--seed", 7, "--seconds", 1, "--rows", 5) == 0
    *rows, verdict = capsys.readouterr().out.splitlines()
    assert len(rows) == 5
    assert verdict.startswith("all is well, after ")


def test_a_run_that_fails_is_told_with_the_command_that_replays_it(capsys):
    words = "--defect", "snapshot-with-hole"
    assert simulate("--first", 9, "--seeds", 1, *words) == FAILED
    out = capsys.readouterr().out
    assert "seed 9: snapshots_have_all_that_is_committed does not hold" in out
    command = "simulate --quorum --seed 9 --seconds 5 --defect snapshot-with-hole"
    assert f"  python -m engine {command}\n" in out
    assert main(command.split()) == FAILED
    assert "FetchSnapshotResponse epoch 1, leader 1, snapshot 29-1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--seed", 1, "--defect", "unfenced"), "there is no defect unfenced; there are "),
        (("--seed", 1, "--fork", "2:9"), "--fork, --routine and --save are for brokers"),
    ],
)
def test_what_only_brokers_have_is_refused(words, why, capsys):
    assert simulate(*words) == USAGE
    assert why in capsys.readouterr().err


def test_the_same_seed_makes_the_same_run():
    assert QuorumTrace(QuorumRecipe(11)).lines == QuorumTrace(QuorumRecipe(11)).lines


@pytest.mark.parametrize("pre_vote", [False, True])
def test_pre_vote_keeps_a_leader_that_is_well(pre_vote):
    """A voter is cut off for five seconds. Without pre-vote its epoch grows all the while, and when
    it is back the leader loses its epoch. With pre-vote nothing happens."""
    world = QuorumWorld(5, 3, config=QUICK._replace(pre_vote=pre_vote))
    world.clock.run_until(2000)
    leader = world.leader
    epoch = leader.client.epoch
    lonely = next(node for node in world.voters if node is not leader)
    for node in world.nodes.values():
        world.network.cut(lonely.id, node.id)
    world.clock.run_until(7000)
    assert (lonely.client.epoch > epoch) is not pre_vote
    world.network.ways.clear()
    world.clock.run_until(9000)
    assert (world.leader.client.epoch > epoch) is not pre_vote
