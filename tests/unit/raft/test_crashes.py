"""A process dies between any two changes of its files: the next one finds the state before or after
the step, never another one."""

from functools import wraps

import pytest

from engine.raft.metadata_directory import MetadataDirectory
from engine.raft.model import ElectionState, OffsetAndEpoch
from engine.raft.snapshot_records import encode_snapshot
from engine.storage import files
from tests.unit.raft.nodes import batch

CHANGES = ("append", "truncate", "rename", "remove", "remove_tree", "write")
SNAPSHOT = encode_snapshot([b"state"], 0, 0)
OWN, FETCHED = OffsetAndEpoch(3, 2), OffsetAndEpoch(50, 3)
MOST_CHANGES = 200


class Died(BaseException):
    """No `except` of the engine's catches it."""


def append(epoch):
    def step(directory):
        directory.log.append(batch(), epoch, 0)
        directory.log.flush(0)

    return step


def remember(election):
    return lambda directory: directory.quorum_state.write(election)


def own_snapshot(directory):
    directory.segments.roll(0)
    directory.log.write_snapshot(OWN, 0, SNAPSHOT)
    directory.log.finish_snapshot(OWN)
    directory.log.delete_before(OWN, 0)


def fetched_snapshot(directory):
    directory.log.write_snapshot(FETCHED, 0, SNAPSHOT[:100])
    directory.log.write_snapshot(FETCHED, 100, SNAPSHOT[100:])
    directory.log.finish_snapshot(FETCHED)
    directory.log.restart_after(FETCHED, 0)


STEPS = [
    remember(ElectionState(1, voted=102)),
    append(1),
    append(1),
    remember(ElectionState(2, leader=101)),
    lambda directory: directory.log.truncate(1, 0),
    append(2),
    append(2),
    own_snapshot,
    append(2),
    remember(ElectionState(3, leader=103)),
    fetched_snapshot,
    append(3),
]


def state(directory):
    return directory.quorum_state.read(), directory.log.end, directory.log.last_snapshot


@pytest.fixture
def lives(monkeypatch):
    """How many changes a process may still make; None: any number."""
    left = [None]

    def limited(change):
        @wraps(change)
        def call(*its, **how):
            if left[0] is not None:
                if left[0] == 0:
                    raise Died
                left[0] -= 1
            return change(*its, **how)

        return call

    for name in CHANGES:
        monkeypatch.setattr(files, name, limited(getattr(files, name)))
    return left


def go(path, lives, changes):
    """Take the steps until the process dies. Returns the state before the step and after it."""
    lives[0] = None
    directory, before = MetadataDirectory(path, (101, 102, 103), 0), None
    try:
        for step in STEPS:
            before = state(directory)
            lives[0] = changes
            step(directory)
            changes, lives[0] = lives[0], None
        return None
    except Died:
        lives[0] = None
        return before, STEPS.index(step)
    finally:
        directory.segments.abandon()


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # a dead process closes none
def test_a_process_dies_between_any_two_changes(tmp_path, lives):
    states = [(None, OffsetAndEpoch(0, 0), None)]
    for count in range(len(STEPS)):  # what each step leads to
        directory = MetadataDirectory(tmp_path / "whole", (101, 102, 103), 0)
        STEPS[count](directory)
        states.append(state(directory))
        directory.segments.abandon()
    for changes in range(MOST_CHANGES):
        path = tmp_path / str(changes)
        died = go(path, lives, changes)
        if died is None:
            break
        before, number = died
        directory = MetadataDirectory(path, (101, 102, 103), 0)
        found = state(directory)
        directory.segments.abandon()
        assert before == states[number]
        assert found[:2] in (before[:2], states[number + 1][:2]), (changes, number)
    assert 30 < changes < MOST_CHANGES
