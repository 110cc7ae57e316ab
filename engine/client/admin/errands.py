"""Errands: blocking work on a cluster, done by one thread behind futures.

    app:     each(keys, work) -> {key: future}         future.result()
                  |                                         ^
    thread:  open a ClusterView, once -> work(view, key), one after the other

An errand has so many seconds from the moment it is asked for, with all that it waits for, its turn
and brokers that do not answer included.

Invariant: every future is completed, with a value or with what went wrong.
"""

import os
import time
import weakref
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Any, Generic, NamedTuple, TypeVar

from engine.client.cluster import BACKOFF, PASSING, UNREACHABLE, ClusterView
from engine.client.values import KafkaError as Told
from engine.client.values import exception_of
from engine.errors import KafkaError

K = TypeVar("K")
V = TypeVar("V")

Open = Callable[[float], ClusterView]  # within so many seconds

LAST = 1.0  # seconds that close() leaves to what is under way


class _Errand(NamedTuple, Generic[K, V]):
    futures: dict[K, "Future[V]"]
    work: Callable[[ClusterView, K], V]
    until: float

    def run(self, view: ClusterView) -> None:
        for key, future in self.futures.items():
            try:
                with view.within(self.until - time.monotonic()):
                    future.set_result(self.work(view, key))
            except Exception as error:
                future.set_exception(self.told(error))

    def fail(self, error: Exception) -> None:
        for future in self.futures.values():
            future.set_exception(self.told(error))

    def told(self, error: Exception) -> Exception:
        """A failure as the application hears of it; a bug of ours as it is."""
        if not isinstance(error, KafkaError):
            return error
        late = error.code in PASSING and time.monotonic() + BACKOFF > self.until
        return exception_of(error, Told._TIMED_OUT if late else None)


class Errands:
    def __init__(self, open: Open, name: str) -> None:
        self._name = name
        self._queue: SimpleQueue[_Errand[Any, Any] | None] = SimpleQueue()
        self._process = os.getpid()
        over = Event()
        # It must not hold on to us: when the application lets go of us, it ends.
        self._thread = Thread(target=_serve, args=(self._queue, open, over), name=name, daemon=True)
        self._end = weakref.finalize(self, _end, self._queue, over)
        self._thread.start()

    def each(
        self, keys: Iterable[K], work: Callable[[ClusterView, K], V], seconds: float
    ) -> dict[K, "Future[V]"]:
        """A future for each key."""
        self.check()
        futures: dict[K, Future[V]] = {key: Future() for key in keys}
        for future in futures.values():
            future.set_running_or_notify_cancel()  # as it can't be called off
        self._queue.put(_Errand(futures, work, time.monotonic() + seconds))
        return futures

    def one(self, work: Callable[[ClusterView], V], seconds: float) -> "Future[V]":
        return self.each([None], lambda view, _: work(view), seconds)[None]

    def check(self) -> None:
        if not self._end.alive:
            raise RuntimeError(f"{self._name} closed")
        if os.getpid() != self._process:
            raise RuntimeError(
                f"this {self._name} belongs to process {self._process}, from which this one was "
                "forked: make a new one here"
            )

    def close(self) -> None:
        """What is under way may still end; what waits for its turn fails."""
        if self._end.alive and os.getpid() == self._process:
            with suppress(Empty):
                while errand := self._queue.get_nowait():
                    errand.fail(RuntimeError(f"{self._name} closed"))
            self._end()
            self._thread.join(LAST)


def _end(queue: "SimpleQueue[_Errand[Any, Any] | None]", over: Event) -> None:
    over.set()
    queue.put(None)


def _serve(queue: "SimpleQueue[_Errand[Any, Any] | None]", open: Open, over: Event) -> None:
    view: ClusterView | None = None
    for errand in iter(queue.get, None):
        try:
            view = view or _opened(open, errand.until, over)
        except Exception as error:
            errand.fail(error)
        else:
            errand.run(view)
        del errand  # with all that its work has hold of
    if view is not None:
        view.close()


def _opened(open: Open, until: float, over: Event) -> ClusterView:
    """The cluster, as soon as one of its brokers is there, unless nobody waits for it any more."""
    while True:
        try:
            return open(until - time.monotonic())
        except KafkaError as error:
            late = time.monotonic() + BACKOFF > until
            if error.code not in UNREACHABLE or late or over.wait(BACKOFF):
                raise
