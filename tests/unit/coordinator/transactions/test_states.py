"""The table of states, and nothing beside it."""

from itertools import product

import pytest

from engine.coordinator.transactions.states import NUMBERED, State, check

STEPS = {
    *product((State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT), (State.EMPTY,)),
    *product((State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT), (State.ONGOING,)),
    *product((State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT), (State.DEAD,)),
    (State.ONGOING, State.ONGOING),
    (State.ONGOING, State.PREPARE_COMMIT),
    (State.ONGOING, State.PREPARE_ABORT),
    (State.ONGOING, State.PREPARE_EPOCH_FENCE),
    (State.PREPARE_EPOCH_FENCE, State.PREPARE_ABORT),
    (State.PREPARE_COMMIT, State.COMPLETE_COMMIT),
    (State.PREPARE_ABORT, State.COMPLETE_ABORT),
}


@pytest.mark.parametrize(("was", "to"), list(product(State, State)))
def test_every_step_is_in_the_table_or_refused(was, to):
    if (was, to) in STEPS:
        check(was, to)
    else:
        with pytest.raises(AssertionError, match=f"from {was.value} to {to.value}"):
            check(was, to)


def test_the_names_and_numbers_are_kafkas():
    assert [state.value for state in NUMBERED] == [
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
        "PrepareEpochFence",
    ]
