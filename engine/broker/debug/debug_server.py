"""The broker's debug server for labs: it reports state and events, and injects faults.

    DIR/broker.control     PORT TOKEN, readable by its owner only; removed when the broker stops

    client  TOKEN                                            broker
            {"ask": "state"}                            ──>
                              <──  {"at": ..., "rows": [[topic, partition, role, ...], ...], ...}
            {"ask": "events", "after": 17, "most": 500} ──>
                              <──  {"last": 42, "lost": 0, "events": [[kind, at, data], ...]}
            {"ask": "links", "heal": true, "change": {"3": {"out_cut": true}}}
            {"ask": "fail", "api": 0, "error": 19, "times": 1}      requests of clients, and
            {"ask": "drop", "answers": 1, "api": 0}                 their answers: see
            {"ask": "slow_coordinator", "ms": 300}                  request_faults.py
            {"ask": "repeat", "api": 26, "ms": null, "times": 1}, {"ask": "deliver"}
            {"ask": "heal_requests"}
            {"ask": "trace", "on": true, "frames": true}     the requests, with their bytes
            {"ask": "count", "on": true}                     their number, in the state
            {"ask": "controller"}                            the controller's state, if it is one

One JSON value a line, one response a request, in order. A bad request is answered with
{"error": reason}; a connection that does not begin with the token is closed.

The second response to "state" on a connection has only the rows that have changed, and the names of
those that are `gone`: at ten requests a second, most of two hundred partitions have not changed.

Invariant: the broker never waits for a client of this server, and no request can stop the broker.
The length of a line, the time to take a response and the number of connections are bounded.
"""

import asyncio
import json
import logging
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, cast

from engine.broker.broker import Broker
from engine.broker.server import Server
from engine.errors import ErrorCode
from engine.model import NO_BROKER, TopicPartition
from engine.replication.log_read import last_stable
from engine.replication.partition import Partition
from engine.wire.apis import Api
from engine.wire.kraft_apis import EVERY_API

CONTROL_FILE = "broker.control"
LINE = 64 * 1024  # bytes of a request
MAX_CONNECTIONS = 16  # further ones are closed
CLIENT_WAIT_S = 5.0  # for a client to send the token, and to take a response
MAX_EVENTS = 5_000  # in one response
COUNT_INTERVAL_MS = 1_000  # between two counts of requests

log = logging.getLogger(__name__)

MAX_DELAY_S = 3600.0  # that a link may delay a message
CAUGHT_UP = -1  # "behind since", of a follower that is not behind
Row = tuple[Any, ...]


class DebugConnection:
    """The state that one client has, so that only changes are sent again."""

    def __init__(self) -> None:
        self._rows: dict[TopicPartition, Row] = {}
        self._sent: dict[str, list[dict[str, Any]]] = {}

    def changed_rows(
        self, rows: Iterable[tuple[TopicPartition, Row]]
    ) -> tuple[list[Row], list[TopicPartition]]:
        """The rows that have changed since they were sent, and the partitions that are gone."""
        known, now = self._rows, dict(rows)
        self._rows = now
        changed = [
            (*partition, *row) for partition, row in now.items() if known.get(partition) != row
        ]
        return changed, [partition for partition in known if partition not in now]

    def if_changed(self, what: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
        """All rows, if any has changed since they were sent; else None."""
        if rows == self._sent.get(what, []):
            return None
        self._sent[what] = rows
        return rows


class DebugServer:
    def __init__(
        self,
        home: Path,
        broker: Broker,
        server: Server,
        session: Callable[[], int | None],  # with ZooKeeper; None while there is no connection
    ) -> None:
        self._file = home / CONTROL_FILE
        self._broker = broker
        self._broker_server = server
        self._links, self._faults = broker.links, broker.request_faults
        self._events = broker.events
        self._session = session
        self._server: asyncio.Server | None = None
        self._token = secrets.token_hex(16)
        self._counting = False
        self._counted: tuple[int, dict[str, tuple[int, int]]] = (0, {})  # when, and the rows
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._requests: Mapping[str, Callable[..., Any]] = {
            "controller": broker.gateway.snapshot,
            "events": self._events_after,
            "links": self._change_links,
            "fail": self._fail,
            "drop": self._drop,
            "slow_coordinator": self._slow_coordinator,
            "repeat": self._repeat,
            "deliver": lambda: {"copies": self._faults.deliver()},
            "heal_requests": lambda: {"healed": self._faults.heal()},
            "trace": self._switch_trace,
            "count": self._switch_counts,
        }

    # -- connections ---------------------------------------------------------------------

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
                state = partial(self._state, DebugConnection())
                while line := await reader.readline():
                    writer.write(_answer({"state": state, **self._requests}, line))
                    async with asyncio.timeout(CLIENT_WAIT_S):
                        await writer.drain()
        except (OSError, ValueError) as error:  # TimeoutError is one; ValueError: a line too long
            log.info("a debug connection ended: %s", error)
        finally:
            writer.close()

    # -- requests ------------------------------------------------------------------------

    def _state(self, connection: DebugConnection) -> dict[str, Any]:
        broker, metadata = self._broker, self._broker.metadata
        rows, gone = connection.changed_rows(self._rows())
        return {
            "broker": broker.id,
            "at": broker.now(),
            "epoch": broker.replicas.broker_epoch,  # another one with each registration
            "session": self._session(),
            "controller": broker.gateway.controller_id,  # -1: none
            "active": broker.gateway.is_controller,  # this broker is the controller
            "controller_epoch": broker.replicas.controller_epoch,
            "brokers": sorted(metadata.brokers),
            "connections": len(self._broker_server.connections),
            "quotas": broker.quotas.snapshot(broker.now()),
            "tls_copied": sum(it.tls_copied for it in broker.listeners.all),
            "max_lag_ms": broker.config.replica_lag_time_max_ms,
            "session_ms": broker.config.zookeeper_session_timeout_ms,
            "events": self._events.total,
            "faults": {name: asdict(link) for name, link in self._links.faults().items()},
            "leaderless": [
                (name, number, each.leader_epoch, each.replicas, each.isr)
                for name, topic in metadata.topics.items()
                for number, each in topic.partitions.items()
                if each.leader == NO_BROKER
            ],
            "groups": connection.if_changed("groups", broker.groups.snapshot()),
            "transactions": connection.if_changed("transactions", broker.transactions.snapshot()),
            "request_faults": self._faults.rows(),
            "requests": self._counts(),
            "rows": rows,
            "gone": gone,
        }

    def _rows(self) -> Iterator[tuple[TopicPartition, Row]]:
        replicas = self._broker.replicas
        for directory in replicas.logs.directories:
            for topic_partition, each in directory.logs.items():
                partition = replicas.partitions.get(topic_partition)
                if partition is not None:
                    yield topic_partition, _row(partition, each, directory.offline is not None)

    def _events_after(self, after: int, most: int = 1000) -> dict[str, Any]:
        if not 0 <= after <= self._events.total:
            raise ValueError(f"there are events up to {self._events.total}, not {after}")
        found = self._events.after(after, min(most, MAX_EVENTS))
        return {"last": found.last, "lost": found.lost, "events": found.events}

    def _change_links(self, change: Any = None, heal: bool = False) -> dict[str, Any]:
        """The whole request is checked before any of it is done."""
        if not isinstance(change or {}, dict):
            raise ValueError(f"{change!r} is not a set of links")
        changes = {name: _checked(name, faults) for name, faults in (change or {}).items()}
        if heal:
            self._links.heal()
        for name, faults in changes.items():
            self._links.change(name, **faults)
        return {"faults": sorted(self._links.faults())}

    def _fail(self, api: int, error: int, times: int) -> dict[str, Any]:
        self._faults.fail(_api(api), ErrorCode(error), max(0, int(times)))
        return self._request_faults()

    def _drop(self, answers: int, api: int | None = None) -> dict[str, Any]:
        self._faults.drop(int(answers), None if api is None else _api(api))
        return self._request_faults()

    def _slow_coordinator(self, ms: int) -> dict[str, Any]:
        if not 0 <= ms / 1000 <= MAX_DELAY_S:
            raise ValueError(f"{ms} ms: 0 to {MAX_DELAY_S * 1000:.0f}")
        self._faults.slow_coordinator(ms / 1000)
        return self._request_faults()

    def _repeat(self, api: int, ms: int | None, times: int) -> dict[str, Any]:
        if ms is not None and not 0 <= ms / 1000 <= MAX_DELAY_S:
            raise ValueError(f"{ms} ms: 0 to {MAX_DELAY_S * 1000:.0f}")
        self._faults.repeat(_api(api), ms, max(0, int(times)))
        return self._request_faults()

    def _request_faults(self) -> dict[str, Any]:
        return {"request_faults": self._faults.rows()}

    def _switch_trace(self, on: bool, frames: bool = False) -> dict[str, Any]:
        self._events.tracing, self._events.framing = bool(on), bool(on and frames)
        return {"trace": self._events.tracing}

    def _switch_counts(self, on: bool) -> dict[str, Any]:
        self._counting = bool(on)
        self._broker.request_counts.on |= self._counting  # a page of metrics may count as well
        return {"count": self._counting}

    def _counts(self) -> dict[str, tuple[int, int]]:
        """Anew once a second: each change is another state, for all who keep the states."""
        now = self._broker.now()
        if not self._counting:
            self._counted = (0, {})
        elif now - self._counted[0] >= COUNT_INTERVAL_MS:
            self._counted = (now, self._broker.request_counts.rows())
        return self._counted[1]


def _answer(requests: Mapping[str, Callable[..., Any]], line: bytes) -> bytes:
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


def _api(key: int) -> Api:
    if key not in EVERY_API:
        raise ValueError(f"there is no API {key}")
    return cast(Api, EVERY_API[key])


def _line(answer: Any) -> bytes:
    return json.dumps(answer, separators=(",", ":")).encode() + b"\n"


def _row(partition: Partition, log: Any, offline: bool) -> Row:
    """One replica, in the order in which the client (engine.cluster.state) reads it."""
    end = log.end_offset
    return (
        "offline" if offline else partition.role.value,
        partition.leader,
        partition.leader_epoch,
        partition.isr,
        partition.replicas,
        log.start_offset,
        partition.high_watermark,
        last_stable(log, partition),
        end,
        log.size,
        len(log.segments),
        tuple(
            (each.id, each.end, CAUGHT_UP if each.end >= end else each.caught_up)
            for each in partition.followers.values()
        ),
    )
