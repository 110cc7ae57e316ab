"""Time that passes only when somebody lets it.

    at(30, a)   at(10, b)   at(10, c)          step: b at 10, step: c at 10, step: a at 30

Whoever wants to be woken says when. Between two actions no time passes, and those of the same
millisecond come in the order in which they were asked for: the same asking, the same story.

Invariant: `now` never goes back.

A copy (`copy.deepcopy`) of a clock and all that hangs on it is a world of its own, if its actions
are methods of our own objects. A closure, or a list's `append`, would go on acting on the first.
"""

import heapq
from collections.abc import Callable
from typing import Any


class Timer:
    """Something to be done at its time."""

    __slots__ = ("_action", "_args")

    def __init__(self, action: Callable[..., object], args: tuple[Any, ...]) -> None:
        self._action: Callable[..., object] | None = action
        self._args = args

    def cancel(self) -> None:
        """No harm is done if it has been, or has been done already."""
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
        self._asked = 0  # so that ties keep their order
        self._queue: list[tuple[int, int, Timer]] = []

    def __call__(self) -> int:
        """A clock is also the `now` that the deciding parts are given."""
        return self.now

    def at(self, time: int, action: Callable[..., object], *args: Any) -> Timer:
        assert time >= self.now, "nothing is done in the past"
        timer = Timer(action, args)
        self._asked += 1
        heapq.heappush(self._queue, (time, self._asked, timer))
        return timer

    def after(self, delay: int, action: Callable[..., object], *args: Any) -> Timer:
        return self.at(self.now + delay, action, *args)

    def due(self) -> int | None:
        """When the next action is."""
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
        """All that is due by then; and then it is that time."""
        queue = self._queue
        while queue and queue[0][0] <= time:
            at, _, timer = heapq.heappop(queue)
            if timer.pending:
                self.now = at
                timer.fire()
        self.now = max(self.now, time)
