"""The connections of a debug server: one JSON value a line, one response a request, in order.

    FILE        PORT TOKEN, readable by its owner only; removed when the process stops

    client  TOKEN                                            process
            {"ask": "state"}            ──>
                              <──  {"at": ..., ...}

A bad request is answered with {"error": reason}; a connection that does not begin with the token is
closed. What may be asked of a broker is in debug_server.py, of a controller without ZooKeeper in
engine/quorum_server/controller_debug.py; both are asked for events and for changes of links.

Invariant: the process never waits for a client of this server, and no request can stop it. The
length of a line, the time to take a response and the number of connections are bounded.
"""

import asyncio
import json
import logging
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from engine.broker.events import Ring
from engine.links import Links

LINE = 64 * 1024  # bytes of a request
MAX_CONNECTIONS = 16  # further ones are closed
CLIENT_WAIT_S = 5.0  # for a client to send the token, and to take a response
MAX_EVENTS = 5_000  # in one response
MAX_DELAY_S = 3600.0  # that a link may delay a message

Requests = Mapping[str, Callable[..., Any]]  # by the name that is asked for

log = logging.getLogger(__name__)


class ControlServer:
    def __init__(self, file: Path, requests: Callable[[], Requests]) -> None:
        """`requests` is called for each connection: it may have a state of its own."""
        self._file = file
        self._requests = requests
        self._server: asyncio.Server | None = None
        self._token = secrets.token_hex(16)
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=LINE)
        port = self._server.sockets[0].getsockname()[1]
        self._file.unlink(missing_ok=True)  # from before a crash
        self._file.touch(mode=0o600)
        self._file.write_text(f"{port} {self._token}\n")

    async def close(self) -> None:
        with suppress(OSError):  # its disk may have failed
            self._file.unlink()
        if self._server is not None:
            server, self._server = self._server, None
            server.close()
            for writer in self._connections.values():
                writer.transport.abort()
            await asyncio.gather(*self._connections)
            await server.wait_closed()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Registered at once, so that `close` waits for it. asyncio may still hand over a
        connection after `close`: that one is closed."""
        if self._server is None or len(self._connections) >= MAX_CONNECTIONS:
            writer.transport.abort()
            return
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._connections[task] = writer
        task.add_done_callback(self._connections.pop)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(CLIENT_WAIT_S):
                token = await reader.readline()
            if secrets.compare_digest(token.strip(), self._token.encode()):
                requests = self._requests()
                while line := await reader.readline():
                    writer.write(_answer(requests, line))
                    async with asyncio.timeout(CLIENT_WAIT_S):
                        await writer.drain()
        except (OSError, ValueError) as error:  # TimeoutError is one; ValueError: a line too long
            log.info("a debug connection ended: %s", error)
        finally:
            writer.close()


def events_after(events: Ring, after: int, most: int = 1000) -> dict[str, Any]:
    if not 0 <= after <= events.total:
        raise ValueError(f"there are events up to {events.total}, not {after}")
    found = events.after(after, min(most, MAX_EVENTS))
    return {"last": found.last, "lost": found.lost, "events": found.events}


def change_links(links: Links, change: Any = None, heal: bool = False) -> dict[str, Any]:
    """The whole request is checked before any of it is done."""
    if not isinstance(change or {}, dict):
        raise ValueError(f"{change!r} is not a set of links")
    changes = {name: _checked(name, faults) for name, faults in (change or {}).items()}
    if heal:
        links.heal()
    for name, faults in changes.items():
        links.change(name, **faults)
    return {"faults": sorted(links.faults())}


def _answer(requests: Requests, line: bytes) -> bytes:
    try:
        request = json.loads(line)
        if not isinstance(request, dict) or request.get("ask") not in requests:
            raise ValueError(f"ask is one of {', '.join(requests)}")
        return _line(requests[request.pop("ask")](**request))
    except (ValueError, TypeError, RecursionError) as error:
        return _line({"error": str(error)})
    except Exception as error:
        log.exception("a bug in a debug request: %.200r", line)
        return _line({"error": f"internal error: {error!r}"})


def _checked(name: str, faults: object) -> dict[str, Any]:
    """The faults of a link, if they are valid: {"out_cut": true, "delay": 0.2}."""
    if not isinstance(faults, dict):
        raise ValueError(f"{faults!r} is not a set of faults of the link to {name}")
    for kind, value in faults.items():
        if kind == "delay":
            fine = isinstance(value, int | float) and 0 <= value <= MAX_DELAY_S
        else:
            fine = kind in ("out_cut", "in_cut") and isinstance(value, bool)
        if not fine:
            raise ValueError(f"{kind}={value!r} is not a fault of the link to {name}")
    return faults


def _line(answer: Any) -> bytes:
    return json.dumps(answer, separators=(",", ":")).encode() + b"\n"
