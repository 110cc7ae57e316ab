"""Waits for a condition, but not forever."""

import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE = 30.0  # seconds; a busy machine takes its time
PAUSE = 0.01

T = TypeVar("T")


class Late(Exception):
    """The condition did not hold in time."""


def until(
    condition: Callable[[], T], patience: float = PATIENCE, what: str = "what is waited for"
) -> T:
    """The value of the condition, once it is true; raises Late if the time is over."""
    deadline = time.monotonic() + patience
    while not (found := condition()):
        if time.monotonic() >= deadline:
            raise Late(f"{what}: still not so after {patience:.0f} s")
        time.sleep(PAUSE)
    return found
