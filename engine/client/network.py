"""The network of a client: sockets and clock, in one background thread or in the caller's.

    the application's thread          this thread
    ------------------------          -------------------------------------------------
    with network.lock:                every core's step()  ->  asks  ->  links  ->  brokers
        change a core                 answers, failures    <-         <-  links  <-
    network.wake()                    changed: threads that wait check their condition

A client is a few cores (core.py) and one `MetadataView`. One lock guards their state, and this
thread holds it except while it waits for sockets. So two threads never call a core at once, and an
application never reads one in the middle of a change.

A client that only sends a request and waits (cluster.py) needs no thread: then each wait of the
application runs these rounds itself, and nothing happens between two waits.

Invariant: a bug in a core ends the thread, and the application's next call raises it. After a fork
the child has the client's memory and none of its threads, so it refuses every call.
"""

import math
import os
import selectors
import socket
import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from engine.client.address import Address
from engine.client.client_lock import ClientLock
from engine.client.connection import BrokerConnection, ConnectionState
from engine.client.core import ANY, UNSENT, Ask, Core
from engine.client.metadata import MetadataSnapshot, MetadataView, metadata_request
from engine.config.client import ClientConfig
from engine.errors import ApiException, ErrorCode
from engine.wire.apis import Api

# Errors of one broker: another one may answer.
OF_ONE_BROKER = UNSENT, ErrorCode.network_exception, ErrorCode.request_timed_out
IDLE = 60.0  # seconds: the longest wait for sockets


class NetworkClient:
    def __init__(
        self,
        settings: ClientConfig,
        view: MetadataView,
        cores: Sequence[Core] = (),
        has_thread: bool = True,
    ) -> None:
        self._lock, self._process = ClientLock(), os.getpid()
        self.changed = threading.Condition(self._lock)  # notified after every round
        self.view = view
        self._settings = settings
        self._requests = ApplicationRequests()
        self._cores: list[Core] = [view, *cores, self._requests]
        self._bootstrap = [Address.parse(each) for each in settings.bootstrap_servers]
        # By broker or address, and lane.
        self._links: dict[tuple[int | Address, str], BrokerConnection] = {}
        self._security = _security(settings)
        self._turn = 0  # of requests to any broker
        self._selector = selectors.DefaultSelector()
        self._sleeper, self._waker = socket.socketpair()
        self._sleeper.setblocking(False)
        self._waker.setblocking(False)
        self._selector.register(self._sleeper, selectors.EVENT_READ)
        self._asleep = False
        self._over = False
        self._crash: BaseException | None = None
        self._thread: threading.Thread | None = None
        if has_thread:
            self._thread = threading.Thread(target=self._run, name="brokerlab-client", daemon=True)
            self._thread.start()

    # -- the application's side ----------------------------------------------------------

    @property
    def lock(self) -> AbstractContextManager[Any]:
        """Guards the state of all cores. In a forked child it raises: the thread that may hold it
        does not exist there.

        It is the lock itself that `with` takes, not one of our context managers: see ClientLock.
        """
        self._check_process()
        return self._lock

    @property
    def is_forked(self) -> bool:
        return os.getpid() != self._process

    def _check_process(self) -> None:
        if self.is_forked:
            raise RuntimeError(
                f"this client belongs to process {self._process}; process {os.getpid()} is a fork "
                "of it, without the client's thread: make a new client there"
            )

    def check(self) -> None:
        """Raises if the client can't be used. Every call of the application begins with this."""
        self._check_process()
        if self._crash is not None:
            raise RuntimeError(
                f"the client stopped at a bug of its own: {self._crash!r}"
            ) from self._crash

    @property
    def is_over(self) -> bool:
        """It is closed, perhaps by another thread: nothing that is waited for will come."""
        return self._over

    def wake(self) -> None:
        """A core has something new to act on."""
        if self._asleep:
            self._asleep = False
            self._waker.send(b"!")

    def wait(self, holds: Callable[[], Any], timeout: float) -> Any:
        """Wait until `holds` is true, or the time is over; its result. The lock must be held.

        The network's thread is woken once. Each of its rounds wakes this one: if this one woke it
        in turn, both would be busy until the answer has come.
        """
        until, woken = time.monotonic() + timeout, False
        while not (found := holds()):
            self.check()
            left = min(until - time.monotonic(), IDLE)
            if left <= 0 or self._over:
                break
            if self._thread is None:
                self._round(left)
                continue
            if not woken:
                self.wake()
                woken = True
            self.changed.wait(left)
        return found

    def ask(self, ask: Ask, timeout: float = math.inf) -> Any:
        """Send a request of the application, and wait for the response; raises its ApiException."""
        return self.result(self.submit(ask), timeout)

    def submit(self, ask: Ask) -> "Submitted":
        """Send a request whose response is wanted later."""
        self.check()
        with self.lock:
            submitted = Submitted(ask)
            self._requests.new.append(submitted)
            if self._thread is None:
                self._round(0)
            else:
                self.wake()
        return submitted

    def result(self, submitted: "Submitted", timeout: float = math.inf) -> Any:
        """The response, or the ApiException. Without a time-out, the request has its own."""
        with self.lock:
            self.wait(lambda: submitted.done, timeout)
            self._requests.forget(submitted)
        if submitted.error is not None:
            raise submitted.error
        if not submitted.done:
            why = f"no answer to {submitted.ask.api.name} within {timeout:g} s"
            raise ApiException(ErrorCode.request_timed_out, why)
        return submitted.response

    def metadata(self, topics: Collection[str] | None, timeout: float) -> MetadataSnapshot:
        """The metadata of any broker, of all topics for None; retried while none answers."""
        until = time.monotonic() + timeout
        while True:
            try:
                ask = Ask(ANY, Api.METADATA, metadata_request(topics))
                return MetadataSnapshot.of(self.ask(ask, max(until - time.monotonic(), 0)))
            except ApiException as error:
                left = until - time.monotonic()
                if error.code not in OF_ONE_BROKER or left <= 0:
                    raise
            with self.lock:
                self.wait(lambda: False, min(left, self._settings.retry_backoff_ms / 1000))

    def close(self) -> None:
        """Close the connections; requests get no answer. A forked child has nothing to close."""
        if self.is_forked:
            return
        with self.lock:
            self._over = True
            if self._thread is None:
                self._disconnect()
            else:
                self.wake()
        if self._thread not in (None, threading.current_thread()):
            self._thread.join()

    # -- the thread ----------------------------------------------------------------------

    def _run(self) -> None:
        try:
            with self.lock:
                while not self._over:
                    self._round(IDLE)
        except BaseException as error:
            self._crash = error  # `check` raises it in the application's thread
        finally:
            with self.lock:
                self._over = True
                self._disconnect()
                self.changed.notify_all()

    def _round(self, longest: float) -> None:
        """Send the cores' requests, and pass on what arrives within so many seconds."""
        self._ask(time.monotonic())
        self._serve(self._sleep(longest), time.monotonic())

    def _ask(self, now: float) -> None:
        """Collect the requests of the cores, and send them."""
        for core in self._cores:
            for ask in core.step(now, self.view):
                self._link(ask, now).put(core, ask, now)
        for link in self._links.values():
            link.move(now)

    def _sleep(self, longest: float) -> list[tuple[selectors.SelectorKey, int]]:
        """Until a socket is ready, something is due, or `wake` is called; without the lock."""
        dues = [due for core in self._cores if (due := core.due()) is not None]
        dues += [due for link in self._links.values() if (due := link.due()) is not None]
        until = min(dues, default=math.inf)
        left = min(max(until - time.monotonic(), 0), longest)
        self.changed.notify_all()
        self._asleep = True
        self._lock.release()
        try:
            return self._selector.select(left)
        finally:
            self._lock.acquire()
            self._asleep = False

    def _serve(self, ready: list[tuple[selectors.SelectorKey, int]], now: float) -> None:
        """Read what came, and call the cores with their answers and failures."""
        for key, events in ready:
            if key.data is None:
                self._sleeper.recv(4096)
            else:
                key.data.serve(events, now)
        for link in self._links.values():
            link.expire(now)
            for core, ask, outcome in link.outcomes():
                if isinstance(outcome, ApiException):
                    core.failed(ask, outcome, now)
                else:
                    core.answered(ask, outcome, now)

    def _disconnect(self) -> None:
        for link in self._links.values():
            link.close()
        self._selector.close()
        self._sleeper.close()
        self._waker.close()

    # -- connections -----------------------------------------------------------------------

    def _link(self, ask: Ask, now: float) -> BrokerConnection:
        broker: int | Address = ask.to if ask.at is None else ask.at
        if broker == ANY:
            broker = self._any_broker(ask.lane, now)
        key = (broker, ask.lane)
        if key not in self._links:
            self._links[key] = BrokerConnection(
                self._settings, self._selector, lambda: self._address(broker), self._security
            )
        return self._links[key]

    def _address(self, broker: int | Address) -> Address:
        if isinstance(broker, Address):
            return broker
        address = self.view.metadata.brokers.get(broker)
        if address is None:
            self.view.stale()
            raise ApiException(UNSENT, f"broker {broker} is not alive, as far as is known")
        return address

    def _any_broker(self, lane: str, now: float) -> int | Address:
        """A broker that is connected if there is one, else the next in turn."""
        known: list[int | Address] = [*self.view.metadata.brokers, *self._bootstrap]
        self._turn += 1
        known = known[(turn := self._turn % len(known)) :] + known[:turn]

        def rank(broker: int | Address) -> tuple[float, int, int]:
            link = self._links.get((broker, lane))
            if link is None:
                return (0, 1 + isinstance(broker, Address), 0)
            return (link.pause(now), link.state is not ConnectionState.READY, link.load)

        return min(known, key=rank)


def _security(settings: ClientConfig) -> Any:
    """Loaded only if it is needed: a client without TLS and SASL starts sooner."""
    if settings.security_protocol == "PLAINTEXT":
        return None
    return import_module("engine.client.security").ConnectionSecurity(settings)


# -- requests of the application itself ------------------------------------------------------


@dataclass(eq=False)
class Submitted:
    """A request of the application, and its result."""

    ask: Ask
    done: bool = False
    response: Any = None
    error: ApiException | None = None


class ApplicationRequests:
    """The core for `NetworkClient.submit`."""

    def __init__(self) -> None:
        self.new: list[Submitted] = []

    def forget(self, submitted: Submitted) -> None:
        """Do not send it, if it was not sent yet."""
        if submitted in self.new:
            self.new.remove(submitted)

    def step(self, now: float, view: MetadataView) -> list[Ask]:
        asks = [each.ask._replace(about=each) for each in self.new]
        self.new.clear()
        return asks

    def answered(self, ask: Ask, response: Any, now: float) -> None:
        ask.about.response, ask.about.done = response, True

    def failed(self, ask: Ask, error: ApiException, now: float) -> None:
        ask.about.error, ask.about.done = error, True

    def due(self) -> float | None:
        return None
