"""One thread that makes the blocking requests of an AdminClient and completes its futures.

    app:     each(keys, work) -> {key: future}         future.result()
                  |                                         ^
    thread:  open a ClusterClient, once -> work(view, key), one after the other

The time-out of a task starts when it is submitted, so it includes the wait for earlier tasks and
for brokers that do not answer.

Invariant: every future is completed, with a value or with an exception.
"""

import os
import time
import weakref
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from typing import Any, Generic, NamedTuple, TypeVar, TypeVarTuple

from engine.client.cluster import PASSING, RETRY_BACKOFF_S, UNREACHABLE, ClusterClient
from engine.client.values import KafkaError, exception_of
from engine.errors import ApiException

K = TypeVar("K")
V = TypeVar("V")
Ts = TypeVarTuple("Ts")

Open = Callable[[float], ClusterClient]  # within so many seconds

LAST = 1.0  # seconds that close() leaves to the task in progress
LONGEST = 3600.0  # seconds that a call may be given
NAME = "AdminClient"
UNSET = -1.0  # as a time-out: the configuration's


class _Task(NamedTuple, Generic[K, V]):
    futures: dict[K, "Future[V]"]
    work: Callable[[ClusterClient, K], V]
    until: float

    def run(self, view: ClusterClient) -> None:
        for key, future in self.futures.items():
            try:
                with view.within(self.until - time.monotonic()):
                    future.set_result(self.work(view, key))
            except Exception as error:
                future.set_exception(self._exception(error))

    def fail(self, error: Exception) -> None:
        for future in self.futures.values():
            future.set_exception(self._exception(error))

    def _exception(self, error: Exception) -> Exception:
        """The exception that the application gets; a bug of ours is passed on unchanged."""
        if not isinstance(error, ApiException):
            return error
        late = error.code in PASSING and time.monotonic() + RETRY_BACKOFF_S > self.until
        return exception_of(error, KafkaError._TIMED_OUT if late else None)


class AdminExecutor:
    def __init__(self, open: Open, patience: float) -> None:
        self._patience = patience
        self._queue: SimpleQueue[_Task[Any, Any] | None] = SimpleQueue()
        self._process = os.getpid()
        self._lock = Lock()  # no task is put behind the end
        over = Event()
        # The thread holds no reference to this object, so it ends when the application drops it.
        self._thread = Thread(target=_serve, args=(self._queue, open, over), name=NAME, daemon=True)
        self._end = weakref.finalize(self, _end, self._queue, over)
        self._thread.start()

    def each(
        self,
        keys: Iterable[K],
        work: Callable[[ClusterClient, K, *Ts], V],
        timeout: float,
        *args: *Ts,
    ) -> dict[K, "Future[V]"]:
        """A future for each key: the result of `work(cluster, key, *args)`."""
        left = self._patience if timeout == UNSET else seconds(timeout)
        self._check()
        futures: dict[K, Future[V]] = {key: Future() for key in keys}
        for future in futures.values():
            future.set_running_or_notify_cancel()  # it can't be cancelled

        def task(cluster: ClusterClient, key: K) -> V:
            return work(cluster, key, *args)

        with self._lock:
            self._check()  # another thread may have closed it since
            self._queue.put(_Task(futures, task, time.monotonic() + left))
        return futures

    def one(
        self, work: Callable[[ClusterClient, *Ts], V], timeout: float, *args: *Ts
    ) -> "Future[V]":
        """The future of `work(cluster, *args)`."""
        return self.each([0], lambda cluster, _: work(cluster, *args), timeout)[0]

    def _check(self) -> None:
        if not self._end.alive:
            raise RuntimeError(f"{NAME} closed")
        if os.getpid() != self._process:
            raise RuntimeError(
                f"this {NAME} belongs to process {self._process}, from which this one was "
                "forked: make a new one here"
            )

    def close(self) -> None:
        """The task in progress may still end; those that wait fail."""
        if self._end.alive and os.getpid() == self._process:
            with self._lock:
                with suppress(Empty):
                    while task := self._queue.get_nowait():
                        task.fail(RuntimeError(f"{NAME} closed"))
                self._end()
            self._thread.join(LAST)


def seconds(timeout: float) -> float:
    if not 0 <= timeout <= LONGEST:
        raise ValueError(f"a time-out is a number of seconds from 0 to 3600, not {timeout}")
    return timeout


def _end(queue: "SimpleQueue[_Task[Any, Any] | None]", over: Event) -> None:
    over.set()
    queue.put(None)


def _serve(queue: "SimpleQueue[_Task[Any, Any] | None]", open: Open, over: Event) -> None:
    view: ClusterClient | None = None
    for task in iter(queue.get, None):
        try:
            view = view or _opened(open, task.until, over)
        except Exception as error:
            task.fail(error)
        else:
            task.run(view)
        del task  # and the objects that it refers to
    if view is not None:
        view.close()


def _opened(open: Open, until: float, over: Event) -> ClusterClient:
    """The client, as soon as one broker answers; it gives up when the time is over, or at close."""
    while True:
        try:
            return open(until - time.monotonic())
        except ApiException as error:
            late = time.monotonic() + RETRY_BACKOFF_S > until
            if error.code not in UNREACHABLE or late or over.wait(RETRY_BACKOFF_S):
                raise
