"""A view that goes back in a run step by step: batches of a query, events of a producer, changes.

    first ... head ... last      numbers of steps; the first ones may be forgotten
    head None                    now, or the end: it goes along with what comes

`_step_on` is called by a view's poll: while the run is played, a step follows after PACE seconds.

Invariant: the head is None or the number of a step that is known.
"""

import time
from abc import abstractmethod
from typing import Any, ClassVar, TypeVar

from widgets import controls
from widgets.controls import Control
from widgets.shared_time import TimedView
from widgets.view import redraws

STEP_ACTS = frozenset({"seek", "begin", "back", "play", "forward", "live"})
Stepped = TypeVar("Stepped")


class StepView(TimedView[Stepped]):
    PACE: ClassVar[float]  # seconds for a step when the run is played
    STEP: ClassVar[str]  # in words: "a batch"

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        self.head: int | None = None
        self.clock = time.monotonic
        self._turn: float | None = None  # when the next step is shown, while the run is played

    @property
    @abstractmethod
    def _first(self) -> int: ...

    @property
    @abstractmethod
    def _last(self) -> int:
        """The index of the step that is shown; smaller than the first: there is none yet."""

    @property
    def _here(self) -> int:
        return self._last if self.head is None else max(self.head, self._first)

    def _before(self) -> int:
        """The step before the one that is shown."""
        return self._here - 1

    def _after(self) -> int | None:
        """The step after the one that is shown; None: now, or the end."""
        return self._here + 1

    @property
    def playing(self) -> bool:
        return self._turn is not None

    def begin(self) -> None:
        self._go(self._first)

    def back(self) -> None:
        self._go(self._before())

    def forward(self) -> None:
        """Go forward to the next step; after the last, to now."""
        self._go(self._after())

    def live(self) -> None:
        self._go(None)

    def play(self) -> None:
        """Play step by step from here, or from the first if this is the last; or pause."""
        with self.lock:
            if self._turn is not None:
                self._turn = None
            elif self._last >= self._first:
                if self.head is None:
                    self._set(self._first)
                self._turn = self.clock() + self.PACE
            self.draw()
        self.refresh()

    def _step_on(self, now: float) -> bool:
        """Play the run one step on, if it is time. Returns whether it did."""
        if self._turn is None or now < self._turn:
            return False
        self._set(self._after())
        self._turn = None if self.head is None else now + self.PACE
        return True

    @redraws
    def _go(self, to: int | None) -> None:
        self._turn = None
        self._set(to)

    def _set(self, to: int | None) -> None:
        is_last = to is None or to >= self._last
        self.head = None if is_last else max(to or 0, self._first)

    def _time_buttons(self, *, live: bool) -> list[Control]:
        now = self.head is None if live else None
        off = self._last < self._first
        return controls.time_buttons(self.STEP, playing=self.playing, now=now, off=off)
