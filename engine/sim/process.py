"""A program that runs somewhere: it can be paused and killed; it talks by question and answer.

    Line.ask(question, done) ──> network ──> Process.serve(handle)
    done(answer)             <── network <── reply(answer)

All that comes to a process, timers and messages alike, comes through `do`. So a paused one is
simply one for which everything waits, as for a process that was sent SIGSTOP: its connections
stand, its kernel takes what arrives, and on SIGCONT all of it is there at once.

Invariant: a dead process does nothing more. Its next life is another object, with the same name.
"""

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from engine.sim.clock import Clock, Timer
from engine.sim.network import End, Network

Reply = Callable[[Any], None]


class Process:
    def __init__(self, clock: Clock, network: Network, name: str) -> None:
        self.clock = clock
        self.network = network
        self.name = name  # of its machine, as the network knows it
        self.alive = True
        self.paused = False
        self._waiting: deque[tuple[Callable[..., object], tuple[Any, ...]]] = deque()

    def do(self, action: Callable[..., object], *args: Any) -> None:
        """Now, or when the process goes on."""
        if self.paused:
            self._waiting.append((action, args))
        elif self.alive:
            action(*args)

    def after(self, delay: int, action: Callable[..., object], *args: Any) -> Timer:
        return self.clock.after(delay, self.do, action, *args)

    def every(self, period: int, action: Callable[[], object]) -> None:
        self.after(period, self._again, period, action)

    def _again(self, period: int, action: Callable[[], object]) -> None:
        self.every(period, action)
        action()

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        """What has waited happens now, in the order in which it came."""
        self.paused = False
        while self._waiting and self.alive and not self.paused:
            action, args = self._waiting.popleft()
            action(*args)

    def kill(self) -> None:
        self.alive = self.paused = False
        self._waiting.clear()
        self.network.kill(self.name)

    # -- being asked ---------------------------------------------------------------------

    def serve(self, handle: Callable[[Any, Reply], object]) -> None:
        """Listen: each question is handed over with a way to answer it, at once or later."""
        self.network.listen(self.name, partial(self._accept, handle))

    def _accept(self, handle: Callable[[Any, Reply], object], end: End) -> None:
        end.received = partial(self.do, self._asked, handle, end)

    @staticmethod
    def _asked(handle: Callable[[Any, Reply], object], end: End, message: tuple[int, Any]) -> None:
        number, question = message
        handle(question, partial(_answer, end, number))


def _answer(end: End, number: int, answer: Any) -> None:
    end.send((number, answer))


class Line:
    """To one other process; one question at a time, as broker/peer.py has it.

    Invariant: a late answer is never taken for that of another question.
    """

    def __init__(self, process: Process, other: str, timeout: int) -> None:
        self.other = other
        self._process = process
        self._timeout = timeout  # ms
        self._end: End | None = None  # while there is a connection
        self._number = 0
        self._done: Reply | None = None  # while an answer is awaited
        self._until = 0
        self._look_at: int | None = None  # when somebody looks at the clock

    def ask(self, question: Any, done: Reply, timeout: int | None = None) -> None:
        """`done` is given the answer, or None where there is none; `timeout` if not the usual."""
        assert self._done is None, "one at a time"
        process = self._process
        if self._end is None:
            self._end = process.network.connect(process.name, self.other)
            self._end.received = partial(process.do, self._heard, self._end)
            self._end.broken = partial(process.do, self._broken, self._end)
        self._number += 1
        self._done = done
        self._until = process.clock.now + (timeout or self._timeout)
        self._end.send((self._number, question))
        self._watch()

    def close(self) -> None:
        """Hang up. Whoever waits here is not interested any more."""
        self._done = None
        self._hang_up()

    def _heard(self, end: End, message: tuple[int, Any]) -> None:
        number, answer = message
        if end is self._end and number == self._number and self._done is not None:
            done, self._done = self._done, None
            done(answer)

    def _broken(self, end: End) -> None:
        if end is self._end:
            self._fail()

    def _look(self) -> None:
        """Has the answer been waited for too long? One timer serves many questions."""
        self._look_at = None
        if self._done is None:
            return
        if self._process.clock.now >= self._until:
            self._fail()
        else:
            self._watch()

    def _watch(self) -> None:
        if self._look_at is None or self._until < self._look_at:
            self._look_at = self._until
            self._process.after(self._until - self._process.clock.now, self._look)

    def _fail(self) -> None:
        done, self._done = self._done, None
        self._hang_up()
        if done is not None:
            done(None)

    def _hang_up(self) -> None:
        end, self._end = self._end, None
        if end is not None:
            end.close()
