"""The one background thread of a client: sockets, clock, and nothing to decide.

    the application's thread          this thread
    ------------------------          -------------------------------------------------
    with network.lock:                every core's step()  ->  asks  ->  links  ->  brokers
        change a core                 answers, failures    <-         <-  links  <-
    network.wake()                    changed: whoever waits looks again

A client is a few cores (asking.py) around one `View`. All that they hold is guarded by one lock,
which this thread has whenever it is awake. So a core is never called by two threads at once, and
an application that looks at one sees it at rest.

Invariant: a bug in a core ends the thread, and is raised by the application's next call: it is
never silent. And after a fork the child has the client's memory and none of its threads: every
call there is refused.
"""

import os
import selectors
import socket
import threading
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any

from engine.client.asking import ANY, UNSENT, Ask, Core
from engine.client.connection import Address
from engine.client.link import Link, State
from engine.client.metadata import Metadata
from engine.client.view import View, metadata_request
from engine.config.client import ClientConfig
from engine.errors import ErrorCode, KafkaError
from engine.wire.apis import Api

IDLE = 60.0  # seconds that nothing needs to happen for


class Lock:
    """A lock that is refused in a forked child, where the thread that may hold it is gone."""

    def __init__(self) -> None:
        self.inner = threading.RLock()
        self.process = os.getpid()

    @property
    def is_ours(self) -> bool:
        return os.getpid() == self.process

    def check(self) -> None:
        if not self.is_ours:
            raise RuntimeError(
                f"this client belongs to process {self.process}; process {os.getpid()} is a fork "
                "of it, without the client's thread: make a new client there"
            )

    def __enter__(self) -> None:
        self.check()
        self.inner.acquire()

    def __exit__(self, *exception: object) -> None:
        self.inner.release()


class Network:
    def __init__(self, settings: ClientConfig, view: View, cores: Sequence[Core] = ()) -> None:
        self.lock = Lock()
        self.pid = self.lock.process
        self.changed = threading.Condition(self.lock.inner)  # told after every round
        self.view = view
        self._settings = settings
        self._questions = Questions()
        self._cores: list[Core] = [view, *cores, self._questions]
        self._bootstrap = [Address.parse(each) for each in settings.bootstrap_servers]
        self._links: dict[tuple[int | Address, str], Link] = {}  # by whom they lead to, and lane
        self._turn = 0  # whose it is to be asked what anybody knows
        self._selector = selectors.DefaultSelector()
        self._sleeper, self._waker = socket.socketpair()
        self._sleeper.setblocking(False)
        self._waker.setblocking(False)
        self._selector.register(self._sleeper, selectors.EVENT_READ)
        self._asleep = False
        self._over = False
        self._crash: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="brokerlab-client", daemon=True)
        self._thread.start()

    # -- the application's side ----------------------------------------------------------

    def check(self) -> None:
        """Every call of an application begins with this: can the client be used at all?"""
        self.lock.check()
        if self._crash is not None:
            raise RuntimeError(f"the client met a bug of its own: {self._crash!r}") from self._crash

    def wake(self) -> None:
        """A core has something new to act on."""
        if self._asleep:
            self._asleep = False
            self._waker.send(b"!")

    def wait(self, holds: Callable[[], Any], timeout: float | None) -> Any:
        """What `holds` gives as soon as that is true, or in the end. The lock must be held."""
        until = None if timeout is None else time.monotonic() + timeout
        while not (found := holds()):
            self.check()
            left = IDLE if until is None else until - time.monotonic()
            if left <= 0 or self._over:
                break
            self.wake()
            self.changed.wait(left)
        return found

    def ask(self, ask: Ask, timeout: float) -> Any:
        """One question of the application's own, and the response, or the KafkaError."""
        self.check()
        with self.lock:
            question = self._questions.add(ask)
            self.wait(lambda: question.done, timeout)
            self._questions.forget(question)
        if question.error is not None:
            raise question.error
        if not question.done:
            raise KafkaError(
                ErrorCode.request_timed_out, f"no answer to {ask.api.name} within {timeout:g} s"
            )
        return question.response

    def metadata(self, topics: Collection[str] | None, timeout: float) -> Metadata:
        """What some broker knows, of all topics for None; asked again while none answers."""
        until = time.monotonic() + timeout
        while True:
            try:
                ask = Ask(ANY, Api.METADATA, metadata_request(topics))
                return Metadata.of(self.ask(ask, max(until - time.monotonic(), 0)))
            except KafkaError as error:
                left = until - time.monotonic()
                if error.code not in (UNSENT, ErrorCode.network_exception) or left <= 0:
                    raise
            with self.lock:
                self.wait(lambda: False, min(left, self._settings.retry_backoff_ms / 1000))

    def close(self) -> None:
        """Hang up; what was asked gets no answer. In a forked child there is nothing to close."""
        if not self.lock.is_ours:
            return
        with self.lock:
            self._over = True
            self.wake()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    # -- the thread ----------------------------------------------------------------------

    def _run(self) -> None:
        try:
            with self.lock:
                while not self._over:
                    self._ask(time.monotonic())
                    self._serve(self._sleep(), time.monotonic())
        except BaseException as error:
            self._crash = error  # `check` raises it where it is heard
        finally:
            with self.lock:
                self._over = True
                self._hang_up()
                self.changed.notify_all()

    def _ask(self, now: float) -> None:
        """Collect what the cores want to ask, and put it on its way."""
        for core in self._cores:
            for ask in core.step(now, self.view):
                self._link(ask, now).put(core, ask, now)
        for link in self._links.values():
            link.move(now)

    def _sleep(self) -> list[tuple[selectors.SelectorKey, int]]:
        """Until a socket can go on, something is due, or somebody wakes us; without the lock."""
        dues = [due for core in self._cores if (due := core.due()) is not None]
        dues += [due for link in self._links.values() if (due := link.due()) is not None]
        until = min(dues, default=float("inf"))
        left = min(max(until - time.monotonic(), 0), IDLE)
        self.changed.notify_all()
        self._asleep = True
        self.lock.inner.release()
        try:
            return self._selector.select(left)
        finally:
            self.lock.inner.acquire()
            self._asleep = False

    def _serve(self, ready: list[tuple[selectors.SelectorKey, int]], now: float) -> None:
        """Take in what came, and tell the cores."""
        for key, events in ready:
            if key.data is None:
                self._sleeper.recv(4096)
            else:
                key.data.serve(events, now)
        for link in self._links.values():
            link.expire(now)
            for core, ask, outcome in link.outcomes():
                if isinstance(outcome, KafkaError):
                    core.failed(ask, outcome, now)
                else:
                    core.answered(ask, outcome, now)

    def _hang_up(self) -> None:
        for link in self._links.values():
            link.close()
        self._selector.close()
        self._sleeper.close()
        self._waker.close()

    # -- whom to ask ---------------------------------------------------------------------

    def _link(self, ask: Ask, now: float) -> Link:
        who = self._anybody(ask.lane, now) if ask.to == ANY else ask.to
        key = (who, ask.lane)
        if key not in self._links:
            self._links[key] = Link(self._settings, self._selector, lambda: self._address(who))
        return self._links[key]

    def _address(self, who: int | Address) -> Address:
        if isinstance(who, Address):
            return who
        address = self.view.metadata.brokers.get(who)
        if address is None:
            self.view.stale()
            raise KafkaError(UNSENT, f"broker {who} is not alive, as far as is known")
        return address

    def _anybody(self, lane: str, now: float) -> int | Address:
        """One that is connected if there is one, else the next in turn that may be called."""
        known: list[int | Address] = [*self.view.metadata.brokers, *self._bootstrap]
        self._turn += 1
        known = known[(turn := self._turn % len(known)) :] + known[:turn]

        def rank(who: int | Address) -> tuple[float, int, int]:
            link = self._links.get((who, lane))
            if link is None:
                return (0, 1 + isinstance(who, Address), 0)
            return (link.pause(now), link.state is not State.READY, link.load)

        return min(known, key=rank)


# -- questions of the application itself -----------------------------------------------------


class Question:
    """An ask of the application, and what came of it."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        self.done = False
        self.response: Any = None
        self.error: KafkaError | None = None


class Questions:
    """The core that asks for `Network.ask`."""

    def __init__(self) -> None:
        self._new: list[Question] = []

    def add(self, ask: Ask) -> Question:
        question = Question(ask)
        self._new.append(question)
        return question

    def forget(self, question: Question) -> None:
        """Its asker waits no more."""
        if question in self._new:
            self._new.remove(question)

    def step(self, now: float, view: View) -> list[Ask]:
        asks = [each.ask._replace(about=each) for each in self._new]
        self._new.clear()
        return asks

    def answered(self, ask: Ask, response: Any, now: float) -> None:
        ask.about.response, ask.about.done = response, True

    def failed(self, ask: Ask, error: KafkaError, now: float) -> None:
        ask.about.error, ask.about.done = error, True

    def due(self) -> float | None:
        return None
