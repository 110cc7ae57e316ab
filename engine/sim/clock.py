"""A virtual clock: time moves only in `step` and `run_until`.

    at(30, a)   at(10, b)   at(10, c)          step: b at 10, step: c at 10, step: a at 30

No time passes between two actions. Actions of the same millisecond run in the order in which they
were scheduled, so the same schedule makes the same run.

Invariant: `now` never goes back.
"""

import heapq
from collections.abc import Callable
from typing import Any


class Timer:
    """An action that is scheduled."""

    __slots__ = ("_action", "_args")

    def __init__(self, action: Callable[..., object], args: tuple[Any, ...]) -> None:
        self._action: Callable[..., object] | None = action
        self._args = args

    def cancel(self) -> None:
        """Without effect if the action is cancelled or done already."""
        self._action, self._args = None, ()

    @property
    def pending(self) -> bool:
        return self._action is not None

    def fire(self) -> None:
        action, args = self._action, self._args
        self.cancel()
        if action is not None:
            action(*args)


class Clock:
    def __init__(self, now: int = 0) -> None:
        self.now = now  # milliseconds
        self._scheduled = 0  # numbers the actions, so that those of the same time keep their order
        self._queue: list[tuple[int, int, Timer]] = []

    def __call__(self) -> int:
        """A clock is also the `now` function of the deciding code."""
        return self.now

    def at(self, time: int, action: Callable[..., object], *args: Any) -> Timer:
        assert time >= self.now, "nothing is done in the past"
        timer = Timer(action, args)
        self._scheduled += 1
        heapq.heappush(self._queue, (time, self._scheduled, timer))
        return timer

    def after(self, delay: int, action: Callable[..., object], *args: Any) -> Timer:
        return self.at(self.now + delay, action, *args)

    def due(self) -> int | None:
        """The time of the next action."""
        while self._queue and not self._queue[0][2].pending:
            heapq.heappop(self._queue)
        return self._queue[0][0] if self._queue else None

    def step(self) -> bool:
        """Go on to the next action and do it; False if there is none."""
        if self.due() is None:
            return False
        self.now, _, timer = heapq.heappop(self._queue)
        timer.fire()
        return True

    def run_until(self, time: int) -> None:
        """Do all actions up to this time; then `now` is this time."""
        queue = self._queue
        while queue and queue[0][0] <= time:
            at, _, timer = heapq.heappop(queue)
            if timer.pending:
                self.now = at
                timer.fire()
        self.now = max(self.now, time)
