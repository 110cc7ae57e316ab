"""A run kept step by step: forward, back, again, and as it might have gone."""

import os
import subprocess
import sys
from itertools import pairwise

import pytest

from engine.cluster.recording import Recording
from engine.cluster.state import ClusterState, Status
from proof.storms.run import Fork, Run
from proof.storms.trace import Recipe, Trace

SEED = 20
MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def trace():
    return Trace.of(SEED)


def told(trace, until=10**9):
    return [event for moment in trace if moment.at <= until for event in moment.events]


def test_a_run_that_is_looked_at_is_the_run_that_is_not(trace):
    run = Run(SEED)
    run.go()
    assert [(each.at, each.kind, each.data) for each in told(trace)] == [
        (event.at, event.kind, event.data) for _, _, event in run.world.events
    ]


def test_step_by_step_forward_and_back(trace):
    assert all(before.at < after.at for before, after in pairwise(trace))
    middle = trace.index(12_345)
    assert trace[middle].at <= 12_345 < trace[middle + 1].at
    assert trace.at(12_345) is trace[middle].state
    there = [trace[n].state for n in range(middle, middle + 50)]
    back = [trace[n].state for n in range(middle + 49, middle - 1, -1)]
    assert there == back[::-1]
    assert trace.at(-1) is trace[0].state
    assert trace.at(10**9) is trace[-1].state


def test_a_state_is_that_of_a_real_cluster(trace):
    state = trace.at(trace.end)
    assert isinstance(state, ClusterState)
    assert all(broker.status is Status.UP and broker.answers for broker in state.brokers.values())
    assert sum(broker.active for broker in state.brokers.values()) == 1
    for partition in state.partitions.values():
        assert set(partition.isr) == set(partition.assignment)
        ends = {each.log_end for each in partition.replicas.values()}
        assert ends == {partition.replicas[partition.leader].high_watermark}


def test_what_a_broker_that_is_down_told_last_is_shown_and_marked(trace):
    down = next(each for each in told(trace) if each.kind == "broker.killed").data["broker"]
    at = next(m for m in trace if any(each.kind == "broker.killed" for each in m.events)).at
    state = trace.at(at)
    assert state.brokers[down].status is Status.DOWN
    replicas = [each.replicas.get(down) for each in state.partitions.values()]
    assert replicas and not any(each.answers for each in replicas if each is not None)


def test_a_fork_shares_its_past_and_not_its_future(trace):
    fork = trace.fork(15_000, seed=99)
    assert told(fork, 14_999) == told(trace, 14_999)
    assert told(fork) != told(trace)
    assert fork.violation is None
    again = fork.fork(20_000, seed=7)
    assert told(again, 19_999) == told(fork, 19_999)
    assert again.recipe.forks == (Fork(15_000, 99), Fork(20_000, 7))


def test_a_fork_of_the_past_drops_what_was_forked_later(trace):
    fork = trace.fork(15_000, seed=99).fork(10_000, seed=5)
    assert fork.recipe.forks == (Fork(10_000, 5),)


@pytest.mark.long
def test_a_trace_of_a_minute_fits_into_a_megabyte(tmp_path):
    trace = Trace.of(11, 60)
    trace.save(tmp_path / "minute.jsonl")
    assert (tmp_path / "minute.jsonl").stat().st_size < MEGABYTE
    trace.save(tmp_path / "minute.jsonl.gz")
    recording = Recording.load(tmp_path / "minute.jsonl.gz")
    start = trace[0].state.at
    for time in range(0, trace.end, 5000):
        ours, theirs = trace.at(time), recording.at(start - trace[0].at + time)
        assert theirs.partitions == ours.partitions
        assert {n: each.status for n, each in theirs.brokers.items()} == {
            n: each.status for n, each in ours.brokers.items()
        }
    assert [(e.at, e.kind) for e in recording.events()] == [(e.at, e.kind) for e in told(trace)]


def test_the_diagram_tells_what_happened(trace):
    drawn = trace.diagram()
    head, *rows = drawn.splitlines()
    brokers = map(str, trace[-1].state.brokers)
    assert head.split() == ["s", "producer", "hasty", "reader", *brokers, "zookeeper"]
    assert any("log.truncated" in row and "●" in row for row in rows)
    assert any("* broker.killed" in row for row in rows)
    assert any("LeaderAndIsr orders-0 leader" in row and "─>" in row for row in rows)
    assert any("set orders-0 leader=" in row for row in rows)
    assert any("┆" in row for row in rows)
    assert len(trace.diagram(routine=True)) > len(drawn) > len(trace.diagram(10_000))
    assert trace.diagram(10**9, 10**9 + 1) == "nothing happened"


def test_a_recipe_says_how_to_see_it_again():
    recipe = Recipe(7, 12.5, "unfenced", (Fork(1500, 8),))
    assert recipe.command == (
        "python -m engine simulate --seed 7 --seconds 12.5 --defect unfenced --fork 1.5:8"
    )


TOLD = f"from proof.storms.trace import Trace; print(Trace.of({SEED + 1}, 8).diagram(routine=True))"


def test_the_same_seed_is_the_same_run_however_strings_are_hashed():
    """Sets of strings and of futures come in an order of their own in every process."""
    told_by = [
        subprocess.run(
            [sys.executable, "-c", TOLD],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("0", "1")
    ]
    assert told_by[0] == told_by[1]
    assert told_by[0].count(b"\n") > 500
