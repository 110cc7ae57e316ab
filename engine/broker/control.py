"""The broker's private door for labs: what is it doing, and what is to go wrong.

    DIR/broker.control     PORT TOKEN, for its owner's eyes only; gone when the broker has stopped

    lab     TOKEN                                            broker
            {"ask": "state"}                            ──>
                              <──  {"at": ..., "rows": [[topic, partition, role, ...], ...], ...}
            {"ask": "events", "after": 17, "most": 500} ──>
                              <──  {"last": 42, "lost": 0, "events": [[kind, at, data], ...]}
            {"ask": "links", "heal": true, "change": {"3": {"out_cut": true}}}
            {"ask": "drop", "answers": 1, "api": 0}
            {"ask": "trace", "on": true, "frames": true}     the requests, with their bytes
            {"ask": "controller"}                            what it believes, if it is one

One JSON value a line, one answer a request, in order. What is not understood is answered with
{"error": reason}; who does not begin with the token is hung up on.

A conversation that asks for the state again is told only the rows that have changed, and those
that are `gone`: at ten times a second, most of two hundred partitions have not.

Invariant: the broker never waits for this door, and nothing that is said here ends it. A line, an
answer's wait for its reader and the number of conversations are bounded.
"""

import asyncio
import json
import logging
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from engine.broker.broker import Broker
from engine.broker.events import Ring
from engine.broker.server import Server
from engine.links import Links
from engine.model import TopicPartition
from engine.replication.partition import Partition

CONTROL_FILE = "broker.control"
LINE = 64 * 1024  # bytes of a request
CONVERSATIONS = 16  # more at a time are hung up on
PATIENCE = 5.0  # seconds to say the token; and for the reader of an answer to take it
MOST_EVENTS = 5_000  # in one answer

log = logging.getLogger(__name__)

SLOWEST = 3600.0  # seconds that a message may be held up
NOBODY = -1  # as a leader
BESIDE = -1  # since when a follower is behind, if it is not
Row = tuple[Any, ...]


class Standing(NamedTuple):
    """What the broker is in the cluster, as only its process knows."""

    epoch: int  # the broker's own: which of its lives this is
    session: int | None  # with ZooKeeper; None while there is no connection
    controller: int  # who is controller, as ZooKeeper says; -1: nobody
    active: bool  # it is us
    controller_epoch: int


class Conversation:
    """What one lab has been told."""

    def __init__(self) -> None:
        self._rows: dict[TopicPartition, Row] = {}
        self._told: dict[str, list[dict[str, Any]]] = {}

    def news(
        self, rows: Iterable[tuple[TopicPartition, Row]]
    ) -> tuple[list[Row], list[TopicPartition]]:
        """The rows that are not as they were told, and whose are no more."""
        known, now = self._rows, dict(rows)
        self._rows = now
        changed = [
            (*partition, *row) for partition, row in now.items() if known.get(partition) != row
        ]
        return changed, [partition for partition in known if partition not in now]

    def all(self, what: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
        """All of them, if anything about them is not as it was told."""
        if rows == self._told.get(what, []):
            return None
        self._told[what] = rows
        return rows


class Control:
    def __init__(
        self,
        home: Path,
        broker: Broker,
        server: Server,
        links: Links,
        events: Ring,
        standing: Callable[[], Standing],
        snapshot: Callable[[], dict[str, Any]] | None = None,  # what the controller believes
    ) -> None:
        self._file = home / CONTROL_FILE
        self._broker = broker
        self._served = server
        self._links = links
        self._events = events
        self._standing = standing
        self._snapshot = snapshot
        self._door: asyncio.Server | None = None
        self._token = secrets.token_hex(16)
        self._conversations: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._requests: Mapping[str, Callable[..., Any]] = {
            "state": self._state,
            "controller": self._controller,
            "events": self._events_after,
            "links": self._change_links,
            "drop": self._drop,
            "trace": self._switch_trace,
        }

    # -- the door ------------------------------------------------------------------------

    async def open(self) -> None:
        door = self._door = await asyncio.start_server(self._converse, "127.0.0.1", 0, limit=LINE)
        port = door.sockets[0].getsockname()[1]
        self._file.unlink(missing_ok=True)  # a crash left it
        self._file.touch(mode=0o600)
        self._file.write_text(f"{port} {self._token}\n")

    async def close(self) -> None:
        self._file.unlink(missing_ok=True)
        if self._door is not None:
            self._door.close()
            for writer in self._conversations.values():
                writer.transport.abort()
            await asyncio.gather(*self._conversations)
            await self._door.wait_closed()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        conversations = self._conversations
        if len(conversations) >= CONVERSATIONS:
            writer.transport.abort()
            return
        task = asyncio.current_task()
        assert task is not None
        conversations[task] = writer
        try:
            async with asyncio.timeout(PATIENCE):
                token = await reader.readline()
            if secrets.compare_digest(token.strip(), self._token.encode()):
                conversation = Conversation()
                while line := await reader.readline():
                    writer.write(self._answer(conversation, line))
                    async with asyncio.timeout(PATIENCE):
                        await writer.drain()
        except (OSError, ValueError) as error:  # TimeoutError is one; ValueError: a line too long
            log.info("a conversation with a lab ended: %s", error)
        finally:
            del conversations[task]
            writer.close()

    def _answer(self, conversation: Conversation, line: bytes) -> bytes:
        try:
            request = json.loads(line)
            if not isinstance(request, dict) or request.get("ask") not in self._requests:
                raise ValueError(f"ask is one of {', '.join(self._requests)}")
            answer = self._requests[request.pop("ask")](conversation, **request)
            return _line(answer)
        except (ValueError, TypeError, RecursionError) as error:
            return _line({"error": str(error)})
        except Exception as error:
            log.exception("a bug met a lab's request: %.200r", line)
            return _line({"error": f"internal error: {error!r}"})

    # -- what can be asked ---------------------------------------------------------------

    def _state(self, told: Conversation) -> dict[str, Any]:
        broker, metadata = self._broker, self._broker.metadata
        rows, gone = told.news(self._rows())
        return {
            "broker": broker.id,
            "at": broker.now(),
            **self._standing()._asdict(),
            "brokers": sorted(metadata.brokers),
            "connections": len(self._served.connections),
            "events": self._events.total,
            "faults": {name: asdict(link) for name, link in self._links.faults().items()},
            "headless": [
                (name, number, each.leader_epoch, each.replicas, each.isr)
                for name, topic in metadata.topics.items()
                for number, each in topic.partitions.items()
                if each.leader == NOBODY
            ],
            "groups": told.all("groups", broker.groups.snapshot()),
            "transactions": told.all("transactions", broker.transactions.snapshot()),
            "rows": rows,
            "gone": gone,
        }

    def _rows(self) -> Iterator[tuple[TopicPartition, Row]]:
        replicas = self._broker.replicas
        for directory in replicas.directories:
            for partition, each in directory.logs.items():
                role = replicas.partitions.get(partition)
                if role is not None:
                    yield partition, _row(role, each, directory.offline is not None)

    def _controller(self, told: Conversation) -> dict[str, Any]:
        return self._snapshot() if self._snapshot else {}

    def _events_after(self, told: Conversation, after: int, most: int = 1000) -> dict[str, Any]:
        if not 0 <= after <= self._events.total:
            raise ValueError(f"there are events up to {self._events.total}, not {after}")
        found = self._events.after(after, min(most, MOST_EVENTS))
        return {"last": found.last, "lost": found.lost, "events": found.events}

    def _change_links(
        self, told: Conversation, change: Any = None, heal: bool = False
    ) -> dict[str, Any]:
        """All that is asked for is checked before any of it is done."""
        if not isinstance(change or {}, dict):
            raise ValueError(f"{change!r} are no links")
        changes = {name: _checked(name, faults) for name, faults in (change or {}).items()}
        if heal:
            self._links.heal()
        for name, faults in changes.items():
            self._links.change(name, **faults)
        return {"faults": sorted(self._links.faults())}

    def _drop(self, told: Conversation, answers: int, api: int | None = None) -> dict[str, Any]:
        self._links.answers_to_drop, self._links.dropped_api = int(answers), api
        return {"drop": self._links.answers_to_drop}

    def _switch_trace(self, told: Conversation, on: bool, frames: bool = False) -> dict[str, Any]:
        self._events.tracing, self._events.framing = bool(on), bool(on and frames)
        return {"trace": self._events.tracing}


def _checked(name: str, faults: object) -> dict[str, Any]:
    """What may be said of a link: {"out_cut": true, "delay": 0.2}."""
    if not isinstance(faults, dict):
        raise ValueError(f"{faults!r} are no faults of the link to {name}")
    for kind, value in faults.items():
        if kind == "delay":
            fine = isinstance(value, int | float) and 0 <= value <= SLOWEST
        else:
            fine = kind in ("out_cut", "in_cut") and isinstance(value, bool)
        if not fine:
            raise ValueError(f"{kind}={value!r} is no fault of the link to {name}")
    return faults


def _line(answer: Any) -> bytes:
    return json.dumps(answer, separators=(",", ":")).encode() + b"\n"


def _row(role: Partition, log: Any, offline: bool) -> Row:
    """One replica, in the order in which the other side (engine.cluster.state) reads it."""
    end = log.end_offset
    return (
        "offline" if offline else role.role.value,
        role.leader,
        role.leader_epoch,
        role.isr,
        role.replicas,
        log.start_offset,
        role.high_watermark,
        end,
        log.size,
        len(log.segments),
        tuple(
            (each.id, each.end, BESIDE if each.end >= end else each.caught_up)
            for each in role.followers.values()
        ),
    )
