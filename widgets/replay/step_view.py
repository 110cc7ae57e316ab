"""A view that goes back in a run step by step: the batches of a query, the events of a producer.

    first ... head ... last      numbers of steps; the first ones may be forgotten
    head None                    now, or the end: it goes along with what comes

`_step_on` is called by a view's poll: while the run is played, a step follows after PACE seconds.

Invariant: the head is None or the number of a step that is known.
"""

import time
from abc import abstractmethod
from typing import ClassVar

from widgets import controls
from widgets.controls import Control
from widgets.stage import SceneWidget

STEP_ACTS = frozenset({"seek", "begin", "back", "play", "forward", "live"})


class StepView(SceneWidget):
    PACE: ClassVar[float]  # seconds for a step when the run is played
    STEP: ClassVar[str]  # in words: "a batch"

    def __init__(self, *, name: str) -> None:
        super().__init__(name=name)
        self._head: int | None = None
        self._turn: float | None = None  # when the next step is shown, while the run is played
        self._drawn: object = None

    @property
    @abstractmethod
    def _first(self) -> int: ...

    @property
    @abstractmethod
    def _last(self) -> int:
        """The index of the step that is shown; smaller than the first: there is none yet."""

    @property
    def _here(self) -> int:
        return self._last if self._head is None else max(self._head, self._first)

    def begin(self) -> None:
        self._go(self._first)

    def back(self) -> None:
        self._go(self._here - 1)

    def forward(self) -> None:
        """Go forward to the next step; after the last, to now."""
        self._go(self._here + 1)

    def live(self) -> None:
        self._go(None)

    def play(self) -> None:
        """Play step by step from here, or from the first if this is the last; or pause."""
        with self.lock:
            if self._turn is not None:
                self._turn = None
            elif self._last >= self._first:
                if self._head is None:
                    self._head = self._first
                self._turn = time.monotonic() + self.PACE
            self.draw()
        self.refresh()

    def _step_on(self, now: float) -> None:
        if self._turn is not None and now >= self._turn:
            self._turn = now + self.PACE
            self._set(self._here + 1)
            if self._head is None:
                self._turn = None

    def _go(self, to: int | None) -> None:
        with self.lock:
            self._turn = None
            self._set(to)
            self.draw()

    def _set(self, to: int | None) -> None:
        is_last = to is None or to >= self._last
        self._head = None if is_last else max(to or 0, self._first)

    def _time_buttons(self, *, live: bool) -> list[Control]:
        now = self._head is None if live else None
        playing, off = self._turn is not None, self._last < self._first
        return controls.time_buttons(self.STEP, playing=playing, now=now, off=off)
