"""Exercises: a Check asks the cluster whether it is done, a Trial runs the learner's code.

    ( ✓ )  What is to be done
           Not yet: what is still missing
           Hint: shown on request

    def healed(state, events):
        isr = state.partitions["orders", 0].isr
        return "" if len(isr) == 3 else f"in sync are only brokers {isr}"

    Check("Everybody in sync again", cluster, healed, hint="Click the broker that is down.")

    trial = Trial("Find where an offset lies", agrees_with(lookup, EXAMPLES), hint="Halve.")
    trial.run(my_lookup)         Not yet: my_lookup(5, [0, 9]) gives 9, and the engine 0.

A test returns what is still missing, or "" when the exercise is done. The test of a Check gets the
state and the events that the cluster publishes: neither the learner's input nor the order of
the cells matters. The test of a Trial gets the learner's function; `agrees_with` makes
one from the engine's own function and examples. An error in the learner's code is reported in a
sentence.

Invariant: an exercise that is passed stays passed.
"""

import copy
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, TypeAlias

from engine.cluster.event_stream import ClusterEvent
from engine.cluster.state import ClusterState
from widgets import controls
from widgets.progress.record import progress_file, running_cell
from widgets.scene import ABOUT, Scene, SceneShape, circle, text
from widgets.stage import SceneWidget
from widgets.text_column import TextColumn
from widgets.view import redraws

LEFT = 56
LINE = 18
EVERY = 0.3  # seconds between two checks
LONG = 200  # letters of a value, in a message

Test: TypeAlias = Callable[[ClusterState, Sequence[ClusterEvent]], str]
Code: TypeAlias = Callable[..., Any]


class Task(SceneWidget):
    """What all exercises have in common; a subclass finds out what is missing."""

    ACTS: ClassVar[frozenset[str]] = frozenset({"hint"})
    DONE: ClassVar[str]  # the text when it is passed, if the exercise has none of its own
    ABOUT: ClassVar[str]  # how it is judged

    def __init__(self, task: str, hint: str = "", done: str = "") -> None:
        super().__init__(name="Exercise")
        self.task = task
        self.done = done or self.DONE
        self.passed = False
        self.missing = ""  # what is still to be done
        self._hint, self._hinted = hint, False
        self._place = running_cell()

    def judged(self, missing: str) -> bool:
        """Take what is missing ("": nothing); returns whether the exercise is passed by now."""
        with self.lock:
            if self.passed:
                return True
            self.passed, self.missing = not missing, missing
            self.draw()
        if self.passed and self._place and (kept := progress_file()):
            kept.solved(self._place, self.task)
        return self.passed

    @redraws
    def hint(self) -> None:
        self._hinted = True

    def draw(self) -> None:
        column = TextColumn(LEFT, 30, self.width - LEFT - 16, LINE)
        status = self.done if self.passed else f"Not yet: {self.missing}."
        parts = [
            ("task", self.task, "head", 14),
            ("status", status, "bold ok" if self.passed else "soft", 12),
        ]
        if self._hinted:
            parts.append(("hint", f"Hint: {self._hint}", "small", 12))
        for key, words, look, size in parts:
            column.write(key, words, look, size=size)
            column.y += 4
        shapes = _mark(self.passed) + column.shapes
        self.about = "passed" if self.passed else self.ABOUT
        says = f"Passed: {self.task}" if self.passed else status
        title = f"{self.task}: {'passed' if self.passed else 'not yet'}"
        self.show(Scene(self.width, column.y, shapes, title=title, says=says), self._controls())

    def _controls(self) -> list[controls.Control]:
        if not self._hint:
            return []
        off = self._hinted or self.passed
        return [controls.button("hint", "a hint", "show a hint for this exercise", off=off)]


def _mark(passed: bool) -> list[SceneShape]:
    """A dashed ring, or a full one with a tick."""
    ring, sign, look = ("alive", "✓", "bold letter leader") if passed else ("out", "…", "bold")
    return [
        circle("mark", 30, 32, 13, look=ring, label="passed" if passed else "not yet"),
        text("sign", 30, 36.5, sign, ABOUT, look=look),
    ]


class Check(Task):
    """Is done when the cluster is in the wanted state, for whatever reason."""

    DONE = "Done: the cluster says so."
    ABOUT = "the cluster is watched, not what you type"

    def __init__(self, task: str, cluster: Any, test: Test, *, hint: str = "") -> None:
        """`cluster` is any object with state() and events()."""
        super().__init__(task, hint)
        self.clock = time.monotonic
        self.cluster, self.test = cluster, test
        self._due = 0.0
        self.check()

    def poll(self) -> bool:
        """Called regularly: check now and then, without a button. False when it is passed."""
        if not self.passed and self.clock() >= self._due:
            self.check()
            self._due = self.clock() + EVERY
        return not self.passed

    def check(self) -> bool:
        """Ask the cluster whether it is done."""
        return self.judged(self.test(self.cluster.state(), self.cluster.events()))


class TrialOutcome:
    """The result of one attempt; its text is the output of the cell."""

    def __init__(self, passed: bool, words: str) -> None:
        self.passed, self.words = passed, words

    def __repr__(self) -> str:
        return self.words


class Trial(Task):
    """Is done when the learner's code passes the test."""

    DONE = "Done: it does what the engine's own code does."
    ABOUT = "your code is run, not read"

    def __init__(
        self, task: str, test: Callable[[Code], str], *, hint: str = "", done: str = ""
    ) -> None:
        """`done`: the text when it is passed, where nothing is compared with the engine's code."""
        super().__init__(task, hint, done)
        self.test = test
        self.judged("nothing was tried")

    def run(self, code: Code) -> TrialOutcome:
        """Test the learner's code, and return the result of this attempt."""
        try:
            missing = self.test(code)
        except SystemExit:
            missing = "it ends the program: take its exit() out"
        self.judged(missing)
        return TrialOutcome(not missing, f"Not yet: {missing}." if missing else self.done)


def agrees_with(engine: Code, examples: Iterable[tuple[Any, ...]]) -> Callable[[Code], str]:
    """A test: the same as the engine's own function, on every example (a tuple of arguments).

    The learner's code gets a copy: it may change its arguments.
    """
    tried = list(examples)

    def test(code: Code) -> str:
        for each in tried:
            truth = engine(*each)
            try:
                found = code(*copy.deepcopy(each))
                differs = bool(found != truth)
            except Exception as error:  # an error of the learner's code: reported
                return f"{_call(code, each)} raises {type(error).__name__}: {error}"
            if differs:
                return f"{_call(code, each)} gives {_short(found)}, and the engine {_short(truth)}"
        return ""

    return test


def _call(code: Code, arguments: Iterable[Any]) -> str:
    """As the learner would write it."""
    return f"{getattr(code, '__name__', 'it')}({_short_text(', '.join(map(repr, arguments)))})"


def _short(value: Any) -> str:
    return _short_text(repr(value))


def _short_text(words: str) -> str:
    return words if len(words) <= LONG else words[: LONG - 1] + "…"
