"""Five hundred storms, each 25 seconds of kills, power cuts, pauses, cuts and moves.

Replication 3, min.insync.replicas=2, acks=all, idempotent, no unclean election: every invariant of
proof/storms/invariants.py holds all the time, and in the end all is well. Every planted defect is
found within the first sixty seeds (test_defects.py): `make test` runs forty, `make long` the
others, and `make storm` goes on from there for hours.
"""

from functools import cache

import pytest

from proof.storms.invariants import Violation
from proof.storms.run import Run
from proof.storms.trace import Recipe, Trace

SEEDS, AT_ONCE = 500, 20
SHORT = 40  # seeds of `make test`
ROWS = 40  # of the story of a seed that failed
TURNS = [
    pytest.param(first, marks=[pytest.mark.long] if first >= SHORT else [])
    for first in range(0, SEEDS, AT_ONCE)
]


@cache
def weathered(seed, kraft=False):
    """The kinds of what happened in a run, and how many records were acknowledged."""
    run = Run(seed, kraft=kraft)
    run.go()
    kinds = {each.event.kind for each in run.world.events}
    return kinds, sum(map(len, run.observed.acknowledged.values()))


@pytest.mark.parametrize("first", TURNS)
def test_nothing_that_happens_breaks_the_cluster(first):
    check_seeds(first, AT_ONCE)


def check_seeds(first, count, kraft=False):
    for seed in range(first, first + count):
        try:
            _, acknowledged = weathered(seed, kraft)
        except Violation:
            pytest.fail(story(Recipe(seed, kraft=kraft)))
        assert acknowledged, f"seed {seed}: nothing was there to be lost"


def story(recipe):
    """What to type to see it again, and what happened in the end."""
    trace = Trace(recipe)
    head, *rows = trace.diagram().splitlines()
    return "\n".join([str(trace.violation), f"  {recipe.command}", head, *rows[-ROWS:]])


def test_every_kind_of_harm_comes_over_them():
    """Or these runs would say little."""
    kinds, acknowledged = set(), 0
    for seed in range(30):
        seen, count = weathered(seed)
        kinds |= seen
        acknowledged += count
    assert kinds >= {
        "broker.killed", "broker.lost-power", "broker.paused", "broker.stopping",
        "session.expired", "link.cut", "link.slowed", "link.loses", "link.scattered",
        "log.truncated", "isr.changed", "isr.refused", "controller.refused", "leader.elected",
        "reassignment.done", "znode.written", "znode.unreadable",
    }  # fmt: skip
    assert acknowledged > 30 * 50
