"""One broker, from start to stop.

    start   lock the log directories -> the source of the metadata -> the cluster's id -> check the
            owner of the directories -> load the logs, and repair them after an unclean stop ->
            bind the port, register, serve -> the controller sends the roles -> ready
    stop    hand over the leaderships -> close connections -> flush, checkpoints, clean-shutdown
            marker -> leave the cluster

If the start fails, the error says why, and nothing is left open: a directory that is in use or
belongs to another broker or cluster, an id or a port that is taken, no ZooKeeper.

DIR/broker.pid has the process id.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

from engine.broker.broker import Broker
from engine.broker.build import build_broker
from engine.broker.cleaner_task import CleanerTask
from engine.broker.debug.debug_server import DebugServer
from engine.broker.dispatch import handlers_of
from engine.broker.environment import Environment
from engine.broker.metadata_source import SourceContext, StoppedWhileStarting
from engine.broker.secure_listeners import SecureListener
from engine.broker.server import Secure, Server
from engine.config import BrokerConfig
from engine.errors import ApiException, ErrorCode, MetadataError, invalid_config
from engine.metadata.lifecycle import BrokerLifecycle, LifecycleStep
from engine.model import NO_BROKER, Event
from engine.storage.directory import OFFLINE

SWEEP_MS = 1000  # how often files are removed whose delay after deletion is over
FORGET_MS = 600_000  # how often producers are removed that have not written for long
WARNINGS = frozenset({"znode.unreadable", "config.ignored"})  # others have written nonsense
STOP_CHECK_S = 0.05  # between two checks for a stop signal, while the broker starts

log = logging.getLogger(__name__)


class BrokerServer:
    def __init__(
        self,
        config: BrokerConfig,
        environment: Environment | None = None,
        built: Callable[[Broker], object] = lambda broker: None,
    ) -> None:
        """`built` is called with the broker as soon as it is built: before its logs are loaded."""
        self._config = config
        self._environment = environment or Environment(config)
        self._ports: dict[str, int] = {}  # where it listens, by the name of the listener
        self._built = built
        self._directories: list[Any] = []
        self._on_directory_failure: list[Callable[[], None]] = []
        self._stop = asyncio.Event()
        self._tasks: dict[asyncio.Task[None], None] = {}  # in the order of their start
        self._failure: BaseException | None = None  # why it ends by itself
        self._lifecycle = BrokerLifecycle()
        self._context = SourceContext(
            config,
            self._lifecycle,
            self._environment.now,
            self._environment.new_uuid,
            self._environment.connect,
            self._emit,
            self._report,
            self._spawn,
            self._every,
            self._stop,
        )
        self._source = self._environment.source(self._context)

    async def run(self, ready: Callable[[int], None]) -> None:
        """Start, call `ready` with the port, serve until SIGTERM or SIGINT, stop in order."""
        self._environment.prepare(self._stop.set)
        async with AsyncExitStack() as stack:
            try:
                broker = await self._start(stack)
                if await self._wait_until_known(broker):
                    ready(next(iter(self._ports.values())))
                await self._stop.wait()
                if self._failure is None:
                    self._lifecycle.take(LifecycleStep.LEAVE)
                    await self._source.leave(broker)
            except StoppedWhileStarting:
                log.info("stopped before this broker was registered")
            except MetadataError as error:
                raise TimeoutError(
                    f"{self._source.address} does not answer ({error.__cause__!r}): is it running?"
                ) from error
            except GeneratorExit:  # killed, in the simulator: nothing is closed
                stack.pop_all()
                raise
        if self._failure is not None:
            raise self._failure

    # -- start ---------------------------------------------------------------------------

    async def _start(self, stack: AsyncExitStack) -> Broker:
        for directory in self._environment.directories(self._emit, stack):
            self._directories.append(directory)
        cluster_id = await self._source.connect(stack)
        now = self._environment.now()
        for directory in self._directories:
            directory.attempt(now, partial(self._source.claim, directory, cluster_id))
        reasons = [each.offline for each in self._directories if each.offline is not None]
        if len(reasons) == len(self._directories):
            raise ApiException(ErrorCode.kafka_storage_error, "; ".join(reasons))
        broker = build_broker(
            self._context, self._environment, self._source, self._directories, cluster_id
        )
        self._on_directory_failure += (
            broker.replicas.directory_failed,
            self._source.log_dir_failed,
        )
        self._built(broker)
        found = [each for directory in self._directories for each in directory.partitions(now)]
        await self._source.load(broker, {partition.topic for partition in found})
        broker.replicas.logs.load(broker.configs.topic_config)
        stack.callback(broker.replicas.close)
        stack.callback(broker.transactions.close)
        handlers = handlers_of(broker, self._source.handlers(broker))
        server, secure, metrics = self._environment.server(broker, handlers)
        stack.push_async_callback(self._cancel_tasks)
        stack.push_async_callback(server.close)
        await self._bind(server, secure, broker)
        await self._source.follow(broker)
        self._every(max(1, self._config.replica_lag_time_max_ms // 2), broker.replicas.tick)
        self._start_upkeep(broker, server)
        await self._source.register(broker, self._ports)
        await server.serve()  # not before: see registration.py
        debug_server = partial(self._debug_server, broker, server)
        await self._environment.announce(stack, metrics, debug_server)
        return broker

    async def _bind(
        self, server: Server, secure: Callable[[SecureListener], Secure], broker: Broker
    ) -> None:
        for each in broker.listeners.all:
            host, port = each.listener.host, each.listener.port
            try:
                self._ports[each.name] = await server.bind(host, port, secure(each))
            except OSError as error:
                raise invalid_config(
                    f"Socket server failed to bind to {host}:{port}: {error.strerror}. "
                    "Is another broker running there? Choose another --port."
                ) from error

    def _debug_server(self, broker: Broker, server: Server) -> DebugServer:
        source = self._source
        known = (lambda: source.session_id), (lambda: source.quorum), source.metadata
        return DebugServer(self._environment.home, broker, server, *known)

    async def _wait_until_known(self, broker: Broker) -> bool:
        """Wait until the controller has sent the metadata; False if the broker is to stop."""
        loop, source = asyncio.get_running_loop(), self._source

        def known() -> bool:
            return broker.metadata.controller != NO_BROKER and source.is_settled

        while not known() and not self._stop.is_set():
            await broker.metadata.until(known, loop.time() + STOP_CHECK_S)
        return not self._stop.is_set()

    # -- upkeep --------------------------------------------------------------------------

    def _start_upkeep(self, broker: Broker, server: Server) -> None:
        config, replicas = self._config, broker.replicas
        checkpoint = partial(replicas.checkpoint, self._environment.in_thread)
        flush_closed = partial(replicas.logs.flush_closed, self._environment.in_thread)
        if config.log_cleaner_enable:
            self._spawn(CleanerTask(config, replicas, self._emit).run())
        self._every(config.log_retention_check_interval_ms, replicas.enforce_retention)
        self._every(min(config.log_flush_scheduler_interval_ms, 1000), replicas.logs.flush_due)
        self._every(config.replica_high_watermark_checkpoint_interval_ms, checkpoint)
        self._every(config.replica_high_watermark_checkpoint_interval_ms, flush_closed)
        self._every(SWEEP_MS, replicas.logs.sweep)
        if config.connections_max_idle_ms >= 0:
            self._every(max(100, min(config.connections_max_idle_ms, 10_000)), server.close_idle)
        self._every(FORGET_MS, lambda: broker.quotas.expire(broker.now()))
        self._every(
            FORGET_MS, lambda: replicas.logs.expire_producers(config.transactional_id_expiration_ms)
        )

    def _every(self, milliseconds: int, work: Callable[[], Awaitable[None] | None]) -> None:
        async def repeat() -> None:
            while True:
                await asyncio.sleep(milliseconds / 1000)
                if (rest := work()) is not None:
                    await rest

        self._spawn(repeat())

    def _spawn(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.get_running_loop().create_task(work)
        self._tasks[task] = None
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: "asyncio.Task[None]") -> None:
        self._tasks.pop(task, None)
        if not task.cancelled() and task.exception() is not None:
            self._failed(task, task.exception())

    def _failed(self, task: "asyncio.Task[None]", error: BaseException | None) -> None:
        """A task has ended by an error. Only an ApiException is meant for people: the broker is
        refused, for instance. Any other is a bug of ours; disks that fail never come so far."""
        if not isinstance(error, ApiException):
            log.critical("a bug: %s failed", _name(task), exc_info=error)
            self._report("broker.bug", task=_name(task), error=repr(error))
        self._fail(error)

    async def _cancel_tasks(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _report(self, kind: str, **facts: Any) -> None:
        self._emit(Event(kind, self._environment.now(), facts))

    def _emit(self, event: Event) -> None:
        level = logging.WARNING if event.kind in WARNINGS else logging.INFO
        log.log(level, "%s %s", event.kind, event.data)
        self._environment.events.append(event)
        if event.kind == OFFLINE:  # not at once: the caller is in the middle of its work
            asyncio.get_running_loop().call_soon(self._directory_failed)

    def _directory_failed(self) -> None:
        if all(directory.offline is not None for directory in self._directories):
            reason = "Shutdown broker because all log dirs have failed"
            self._fail(ApiException(ErrorCode.kafka_storage_error, reason))
        elif self._lifecycle.is_loaded:
            for react in self._on_directory_failure:
                react()

    def _fail(self, error: BaseException | None) -> None:
        self._failure = self._failure or error
        self._stop.set()


def _name(task: "asyncio.Task[None]") -> str:
    """The name of its function: CleanerTask.run."""
    return getattr(task.get_coro(), "__qualname__", task.get_name())
