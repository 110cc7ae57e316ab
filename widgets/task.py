"""A task for the learner, and whether it is done: what exercises of all kinds have in common.

    ( ✓ )  What is to be done
           Not yet: what is still missing
           Hint: only when it was asked for

Whoever derives from it finds out what is missing: Check asks the cluster, Trial the learner's code.

Invariant: what is passed stays passed.
"""

from typing import ClassVar

from widgets import controls
from widgets.scene import ABOUT, Scene, Shape, circle, text, wrap
from widgets.stage import Stage

WIDTH, LEFT = 960, 56
LINE = 18


class Task(Stage):
    ACTS: ClassVar[frozenset[str]] = frozenset({"hint"})
    DONE: ClassVar[str]  # what is said when it is passed
    ABOUT: ClassVar[str]  # who judges

    def __init__(self, task: str, hint: str = "") -> None:
        super().__init__(name="Exercise")
        self.task = task
        self.passed = False
        self.missing = ""  # what is still to be done
        self._hint, self._hinted = hint, False

    def judged(self, missing: str) -> bool:
        """What was found to be missing, "" for nothing; whether the task is passed by now."""
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
        status = self.DONE if self.passed else f"Not yet: {self.missing}."
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
        self.about = "passed" if self.passed else self.ABOUT
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
