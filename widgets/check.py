"""Check: an exercise that is done when the cluster says so, however it was done.

    def healed(state, events):
        isr = state.partitions["orders", 0].isr
        return "" if len(isr) == 3 else f"in sync are only brokers {isr}"

    Check("Everybody in sync again", cluster, healed, hint="Click the broker that is down.")

The function is given what the cluster publishes, and returns what is still missing: "" when nothing
is. What was typed or clicked does not matter, nor in which order cells ran.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from engine.cluster.state import ClusterState
from engine.cluster.stream import Happened
from widgets.task import Task

Test: TypeAlias = Callable[[ClusterState, Sequence[Happened]], str]

EVERY = 0.3  # seconds between two looks


class Check(Task):
    DONE = "Done: the cluster says so."
    ABOUT = "the cluster is watched, not what you type"

    def __init__(self, task: str, cluster: Any, test: Test, *, hint: str = "") -> None:
        """`cluster` is whatever has state() and events()."""
        super().__init__(task, hint)
        self.clock = time.monotonic
        self.cluster, self.test = cluster, test
        self._due = 0.0
        self.check()

    def look(self) -> bool:
        """Look whether it is done by now; there is no need to press anything."""
        if not self.passed and self.clock() >= self._due:
            self.check()
            self._due = self.clock() + EVERY
        return not self.passed

    def check(self) -> bool:
        """Whether it is done: asks the cluster."""
        return self.judged(self.test(self.cluster.state(), self.cluster.events()))
