"""An asyncio event loop on the virtual clock. Each broker's code runs in a loop of its own.

    message, timer ──> Process.do ──> Loop.run(action)     the action, then all callbacks that it
                                        ready: a, b, c     makes ready, and those that they do
    call_at(t) ──> Clock.at(t) ──> Process.do ...          a timer, in whole milliseconds

A step takes no time: the clock stands still until no callback is ready. There are no threads,
sockets or signals: code that needs them fails.

Invariant: callbacks run in the order in which they were scheduled, so the same seed makes the same
run.
Invariant: a loop that is closed runs nothing more. Its tasks are kept and not destroyed, because a
coroutine that is destroyed runs its `finally` blocks, and a killed process does not.
"""

import asyncio
import math
from asyncio import events, tasks
from collections import deque
from collections.abc import Callable
from typing import Any, cast

from engine.sim.clock import Clock, Timer

SECOND = 1000  # ms


class LoopTimer(Timer):
    """A timer of a loop. It can still be cancelled while the process is paused."""

    __slots__ = ("entry",)
    entry: Timer

    def cancel(self) -> None:
        super().cancel()
        self.entry.cancel()


class Loop:
    """As much of `asyncio.AbstractEventLoop` as tasks, futures, locks and time-outs use."""

    def __init__(self, clock: Clock, do: Callable[..., object]) -> None:
        self._clock = clock
        self._do = do  # Process.do: actions of a paused process wait there
        self._ready: deque[Timer] = deque()
        self._tasks: dict[asyncio.Task[Any], None] = {}  # that are not done
        self._is_running = self._is_woken = self._is_closed = False

    def run(self, action: Callable[..., object], *args: Any) -> None:
        """Run an action in this loop, and then all callbacks that are ready."""
        if self._is_running:
            action(*args)
            return
        outer = events._get_running_loop()  # a notebook's, for example
        task = None if outer is None else asyncio.current_task(outer)
        if outer and task:  # from Python 3.14 on a thread has one current task, whatever the loop
            tasks._leave_task(outer, task)
        events._set_running_loop(cast(asyncio.AbstractEventLoop, self))
        self._is_running = True
        ready = self._ready
        try:
            action(*args)
            while ready:
                ready.popleft().fire()
        finally:
            self._is_running = False
            events._set_running_loop(outer)
            if outer and task:
                tasks._enter_task(outer, task)

    def close(self) -> None:
        self._is_closed = True
        self._ready.clear()

    # -- what asyncio asks for -----------------------------------------------------------

    def time(self) -> float:
        return self._clock.now / SECOND

    def call_soon(self, callback: Callable[..., object], *args: Any, context: Any = None) -> Any:
        timer = Timer(callback, args)
        if not self._is_closed:
            self._ready.append(timer)
            if not (self._is_running or self._is_woken):
                self._is_woken = True
                self._clock.after(0, self._do, self._wake)
        return timer

    call_soon_threadsafe = call_soon

    def call_later(
        self, delay: float, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> Any:
        return self.call_at(self.time() + delay, callback, *args)

    def call_at(
        self, when: float, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> Any:
        if when == math.inf:
            return Timer(callback, args)  # never
        alarm, at = LoopTimer(callback, args), max(round(when * SECOND), self._clock.now)
        alarm.entry = self._clock.at(at, self._do, alarm.fire)
        return alarm

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=cast(asyncio.AbstractEventLoop, self))

    def create_task(self, coro: Any, *, name: str | None = None, context: Any = None) -> Any:
        me = cast(asyncio.AbstractEventLoop, self)
        task: Any = asyncio.Task(coro, loop=me, name=name)
        task._log_destroy_pending = False  # at the end of the world tasks may be unfinished
        self._tasks[task] = None
        task.add_done_callback(self._finished)
        return task

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return self._is_running

    def is_closed(self) -> bool:
        return self._is_closed

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """asyncio calls this for an error that no code handles: here it ends the run."""
        if not self._is_closed:
            raise AssertionError(context["message"]) from context.get("exception")

    # -- inside --------------------------------------------------------------------------

    def _wake(self) -> None:
        self._is_woken = False

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._tasks.pop(task, None)
