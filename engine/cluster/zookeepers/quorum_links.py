"""The links between the ZooKeeper servers of an ensemble, which a lab cuts, slows and heals.

    zookeeper-1 ──> proxy of zookeeper-1 ──────────────────────> zookeeper-2: its quorum port,
                    whose connection is it? zookeeper-1's        or its election port
                    which port does it want? zookeeper-2's

Each server's Java connects to the others through a SOCKS proxy of its own: so every connection
between two servers passes here, and it is known who is at its ends. (A forwarder for each port
would not do: a server tells the others its real election port, and they connect to that.) Clients
connect to the servers directly.

A cut behaves as that of a broker (engine.links): no connection breaks, nothing is lost, nothing
arrives. What 1 sends to 2 waits at 1's link "zookeeper-2", what 2 sends to 1 at 2's link
"zookeeper-1".

The proxies and the questions to the servers (ensemble_monitor.py) share one thread with an event
loop; it ends with the process, as the servers do.

Invariant: only this thread touches the links.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from typing import Any, TypeVar

from engine.cluster.ports import HOST
from engine.links import ZOOKEEPER, Link, Links

T = TypeVar("T")
CHUNK = 65_536  # bytes
# SOCKS, version 5 (RFC 1928), as far as Java uses it without a user's name.
NO_NAME = b"\5\0"
IPV4, NAME = 1, 3  # the kinds of address
CONNECTED, REFUSED = (bytes([5, code, 0, IPV4]) + bytes(6) for code in (0, 5))


class LoopThread:
    """A thread with an event loop."""

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self.loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do it there, and wait for its result."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Do it there until the end; to be called there."""
        task = self.loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def call(self, function: Callable[..., object], *args: Any) -> None:
        self.loop.call_soon_threadsafe(function, *args)

    def close(self) -> None:
        self.run(self._end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()

    async def _end(self) -> None:
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class QuorumLinks:
    """The proxies of all servers; see above."""

    def __init__(self, thread: LoopThread, numbers: Iterable[int]) -> None:
        self._thread = thread
        self._links = {number: Links() for number in numbers}
        self._names: dict[int, int] = {}  # port -> the server that listens there
        self._proxies: list[asyncio.Server] = []

    def start(self, ports: Mapping[int, Iterable[int]]) -> dict[int, int]:
        """`ports`: at which each server listens for the others. Returns those of the proxies."""
        self._names = {port: number for number, own in ports.items() for port in own}
        return self._thread.run(self._start())

    def close(self) -> None:
        for proxy in self._proxies:
            self._thread.call(proxy.close)
        self._proxies.clear()

    def change(self, server: int, faults: Mapping[str, Mapping[str, Any]]) -> None:
        """Of one server: the faults of its links, by the name of the other end."""
        self._thread.run(self._change(server, faults))

    async def _change(self, server: int, faults: Mapping[str, Mapping[str, Any]]) -> None:
        for number in self._links:
            name = f"{ZOOKEEPER}-{number}"
            self._links[server].change(name, **{**asdict(Link()), **faults.get(name, {})})

    async def _start(self) -> dict[int, int]:
        found = {}
        for number in self._links:
            proxy = await asyncio.start_server(partial(self._carry, number), HOST, 0)
            self._proxies.append(proxy)
            found[number] = proxy.sockets[0].getsockname()[1]
        return found

    async def _carry(
        self, source: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """One connection, from the server's greeting to its end."""
        try:
            with suppress(OSError, asyncio.IncompleteReadError):  # it hung up
                port = await _greeted(reader, writer)
                await self._connect(source, port, reader, writer)
        finally:
            writer.close()

    async def _connect(
        self, source: int, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        target = self._names.get(port, source)  # an unknown port is refused below
        there, back = (source, target), (target, source)
        await self._passes(*there)  # the packets that open a connection go both ways
        await self._passes(*back)
        try:
            far_reader, far_writer = await asyncio.open_connection(HOST, port)
        except OSError:
            writer.write(REFUSED)
            return
        try:
            writer.write(CONNECTED)
            await asyncio.gather(
                self._pump(*there, reader, far_writer), self._pump(*back, far_reader, writer)
            )
        finally:
            far_writer.close()

    async def _pump(
        self, source: int, target: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        with suppress(ConnectionError):  # the same as its end
            while data := await reader.read(CHUNK):
                await self._passes(source, target)
                writer.write(data)
                await writer.drain()
        await self._passes(source, target)  # nor does the end of a connection pass a cut link
        writer.close()

    async def _passes(self, source: int, target: int) -> None:
        await self._links[source].passes(f"{ZOOKEEPER}-{target}")


async def _greeted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
    """The port to which a client of the proxy wants to connect."""
    _, methods = await reader.readexactly(2)
    await reader.readexactly(methods)
    writer.write(NO_NAME)
    *_, kind = await reader.readexactly(4)
    assert kind in (IPV4, NAME), "the servers have IPv4 addresses"
    size = 4 if kind == IPV4 else (await reader.readexactly(1))[0]
    await reader.readexactly(size)
    return int.from_bytes(await reader.readexactly(2), "big")
