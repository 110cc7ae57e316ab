"""A process in the simulator: it can be paused and killed, and it exchanges requests and answers.

    RequestChannel.ask(question, done) ──> network ──> SimulatedProcess.serve(handle)
    done(answer)                       <── network <── reply(answer)

Timers and messages reach a process only through `do`. While a process is paused they wait there, as
after SIGSTOP: its connections stay open, the kernel keeps what arrives, and after SIGCONT the
process gets all of it at once.

A process has a server for each kind of listener that it serves apart: the controller in a broker's
process has one of its own.

Invariant: a dead process does nothing more. When it is started again, that is another object with
the same name.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, NamedTuple

from engine.sim.clock import Clock, Timer
from engine.sim.loop import Loop
from engine.sim.network import End, Network, Port

Reply = Callable[[Any], None]
EVERY_LISTENER = ""  # of the server that gets the connections that no other one has


class ListeningServer(NamedTuple):
    handle: Callable[[Any, Reply], object]
    is_open: Callable[[Port], bool]
    accepted: list[End]  # connections that others have opened


class SimulatedProcess:
    def __init__(self, clock: Clock, network: Network, name: str) -> None:
        self.clock = clock
        self.network = network
        self.name = name  # of its machine in the network
        self.alive = True
        self.paused = False
        self._run: Callable[..., object] = _call
        self._loop: Loop | None = None
        self._servers: dict[str, ListeningServer] = {}  # by the listener
        self._waiting: deque[tuple[Callable[..., object], tuple[Any, ...]]] = deque()

    def start_loop(self) -> Loop:
        """From now on, all actions run in an asyncio event loop."""
        self._loop = Loop(self.clock, self.do)
        self._run = self._loop.run
        return self._loop

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Start a task in the loop. An exception in it ends the run."""
        assert self._loop is not None
        self._loop.create_task(work).add_done_callback(_raise_failure)

    def do(self, action: Callable[..., object], *args: Any) -> None:
        """Now, or when the process is resumed."""
        if self.paused:
            self._waiting.append((action, args))
        elif self.alive:
            self._run(action, *args)

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
        """All actions that waited run now, in order."""
        self.paused = False
        while self._waiting and self.alive and not self.paused:
            action, args = self._waiting.popleft()
            self._run(action, *args)

    def kill(self) -> None:
        self.alive = self.paused = False
        self._waiting.clear()
        if self._loop is not None:
            self._loop.close()
        self.network.kill(self.name)

    # -- as a server ---------------------------------------------------------------------

    def serve(
        self,
        handle: Callable[[Any, Reply], object],
        is_open: Callable[[Port], bool] = lambda port: True,
        listener: str = EVERY_LISTENER,
    ) -> None:
        """Listen, and call `handle` with each question and a function that sends the answer. A
        connection to a port that is not open is refused."""
        self._servers[listener] = ListeningServer(handle, is_open, [])
        self.network.listen(self.name, self._accept)

    def close_server(self, listener: str = EVERY_LISTENER) -> None:
        """Stop listening, and close the connections that others have opened."""
        if (server := self._servers.pop(listener, None)) is not None:
            for end in server.accepted:
                end.close()

    def _accept(self, end: End) -> None:
        called = EVERY_LISTENER if end.port is None else end.port.listener
        server = self._servers.get(called) or self._servers.get(EVERY_LISTENER)
        if server is None or (end.port is not None and not server.is_open(end.port)):
            end.close()
            return
        server.accepted[:] = [*(each for each in server.accepted if each.alive), end]

        def asked(message: tuple[int, Any]) -> None:
            number, question = message
            server.handle(question, lambda answer: end.send((number, answer)))

        end.received = partial(self.do, asked)


def _raise_failure(task: "asyncio.Task[None]") -> None:
    if not task.cancelled():
        task.result()


def _call(action: Callable[..., object], *args: Any) -> None:
    action(*args)


class RequestChannel:
    """A connection to one other process, for one question at a time, as in broker/peer.py.

    Invariant: a late answer is never taken for that of another question.
    """

    def __init__(
        self, process: SimulatedProcess, other: str, timeout: int, port: Port | None = None
    ) -> None:
        self.other = other
        self._port = port  # None: whichever is open
        self._process = process
        self._timeout = timeout  # ms
        self._end: End | None = None  # while there is a connection
        self._number = 0
        self._done: Reply | None = None  # while an answer is awaited
        self._until = 0
        self._check_at: int | None = None  # when `_check` is called next

    def ask(self, question: Any, done: Reply, timeout: int | None = None) -> None:
        """`done` gets the answer, or None if there is none within `timeout` (or the default)."""
        assert self._done is None, "one at a time"
        process = self._process
        if self._end is None:
            self._end = process.network.connect(process.name, self.other, self._port)
            self._end.received = partial(process.do, self._received, self._end)
            self._end.broken = partial(process.do, self._broken, self._end)
        self._number += 1
        self._done = done
        self._until = process.clock.now + (timeout or self._timeout)
        self._end.send((self._number, question))
        self._watch()

    def close(self) -> None:
        """Close the connection; `done` is not called any more."""
        self._done = None
        self._disconnect()

    def _received(self, end: End, message: tuple[int, Any]) -> None:
        number, answer = message
        if end is self._end and number == self._number and self._done is not None:
            done, self._done = self._done, None
            done(answer)

    def _broken(self, end: End) -> None:
        if end is self._end:
            self._fail()

    def _check(self) -> None:
        """Fail if the time-out has passed. One timer serves many questions."""
        self._check_at = None
        if self._done is None:
            return
        if self._process.clock.now >= self._until:
            self._fail()
        else:
            self._watch()

    def _watch(self) -> None:
        if self._check_at is None or self._until < self._check_at:
            self._check_at = self._until
            self._process.after(self._until - self._process.clock.now, self._check)

    def _fail(self) -> None:
        done, self._done = self._done, None
        self._disconnect()
        if done is not None:
            done(None)

    def _disconnect(self) -> None:
        end, self._end = self._end, None
        if end is not None:
            end.close()
