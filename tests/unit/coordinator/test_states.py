"""The table of states, and nothing beside it."""

from itertools import product

import pytest

from engine.coordinator.states import BEFORE, State, check

STEPS = {
    (State.EMPTY, State.PREPARING),
    (State.COMPLETING, State.PREPARING),
    (State.STABLE, State.PREPARING),
    (State.PREPARING, State.COMPLETING),
    (State.PREPARING, State.EMPTY),
    (State.COMPLETING, State.STABLE),
    *((state, State.DEAD) for state in State if state is not State.DEAD),
}


@pytest.mark.parametrize(("was", "to"), list(product(State, State)))
def test_every_step_is_in_the_table_or_refused(was, to):
    if (was, to) in STEPS:
        check(was, to)
    else:
        with pytest.raises(AssertionError, match=f"from {was.value} to {to.value}"):
            check(was, to)


def test_the_names_are_those_that_tools_show():
    assert {state.value for state in BEFORE} == {
        "Empty",
        "PreparingRebalance",
        "CompletingRebalance",
        "Stable",
        "Dead",
    }
