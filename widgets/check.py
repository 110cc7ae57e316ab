"""Check: an exercise that is done when the cluster says so, however it was done.

    def healed(state, events):
        isr = state.partitions["orders", 0].isr
        return "" if len(isr) == 3 else f"in sync are only brokers {isr}"

    Check("Everybody in sync again", cluster, healed, hint="Click the broker that is down.")

The function is given what the cluster publishes, and returns what is still missing: "" when nothing
is. What was typed or clicked does not matter, nor in which order cells ran.

Invariant: what is passed stays passed.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeAlias

from engine.cluster.state import ClusterState
from engine.cluster.stream import Happened
from widgets import controls
from widgets.scene import ABOUT, Scene, Shape, circle, text, wrap
from widgets.stage import Stage

Test: TypeAlias = Callable[[ClusterState, Sequence[Happened]], str]

WIDTH, LEFT = 960, 56
LINE = 18
EVERY = 0.3  # seconds between two looks
PASSED = "Done: the cluster says so."


class Check(Stage):
    ACTS: ClassVar[frozenset[str]] = frozenset({"hint"})

    def __init__(self, task: str, cluster: Any, test: Test, *, hint: str = "") -> None:
        """`cluster` is whatever has state() and events()."""
        super().__init__(name="Exercise")
        self.clock = time.monotonic
        self.task, self.cluster, self.test = task, cluster, test
        self.passed = False
        self.missing = ""  # what is still to be done
        self._hint, self._hinted = hint, False
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
        missing = self.test(self.cluster.state(), self.cluster.events())  # may take its time
        with self.lock:
            if not self.passed:
                self.passed, self.missing = not missing, missing
                self.draw()
            return self.passed

    def hint(self) -> None:
        with self.lock:
            self._hinted = True
            self.draw()

    def draw(self) -> None:
        shapes = _mark(self.passed)
        bottom = 30.0
        status = PASSED if self.passed else f"Not yet: {self.missing}."
        parts = [
            ("task", self.task, "head", 14.5),
            ("status", status, "bold ok" if self.passed else "soft", 12),
        ]
        if self._hinted:
            parts.append(("hint", f"Hint: {self._hint}", "small", 12))
        for key, words, look, size in parts:
            for place, each in enumerate(wrap(words, WIDTH - LEFT - 16, size)):
                shapes.append(text(f"{key}.{place}", LEFT, bottom, each, look=look))
                bottom += LINE
            bottom += 4
        self.about = "passed" if self.passed else "the cluster is watched, not what you type"
        says = f"Passed: {self.task}" if self.passed else status
        title = f"{self.task}: {'passed' if self.passed else 'not yet'}"
        self.show(Scene(WIDTH, bottom, shapes, title=title, says=says), self._controls())

    def _controls(self) -> list[controls.Control]:
        if not self._hint:
            return []
        off = self._hinted or self.passed
        return [controls.button("hint", "a hint", "show a hint for this exercise", off=off)]


def _mark(passed: bool) -> list[Shape]:
    """A dashed ring, or a full one with a tick."""
    ring, sign, look = ("alive", "✓", "bold letter leader") if passed else ("out", "…", "bold")
    return [
        circle("mark", 30, 32, 13, look=ring, label="passed" if passed else "not yet"),
        text("sign", 30, 36.5, sign, ABOUT, look=look),
    ]
