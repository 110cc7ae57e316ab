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
            {"ask": "metadata", "topic": "orders"}           without ZooKeeper: what is committed

The connections, and what a request and a response look like: control_server.py.

The second response to "state" on a connection has only the rows that have changed, and the names of
those that are `gone`: at ten requests a second, most of two hundred partitions have not changed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, cast

from engine.broker.broker import Broker
from engine.broker.debug.control_server import (
    MAX_DELAY_S,
    ControlServer,
    change_links,
    events_after,
)
from engine.broker.server import Server
from engine.errors import ErrorCode
from engine.model import NO_BROKER, TopicPartition
from engine.replication.log_read import last_stable
from engine.replication.partition import Partition
from engine.wire.apis import Api
from engine.wire.kraft_apis import EVERY_API

CONTROL_FILE = "broker.control"
COUNT_INTERVAL_MS = 1_000  # between two counts of requests

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
        quorum: Callable[[], Mapping[str, Any] | None],  # of a controller in the same process
        metadata: Callable[[str | None], Mapping[str, Any]],  # with the partitions of a topic
    ) -> None:
        self._broker = broker
        self._broker_server = server
        self._links, self._faults = broker.links, broker.request_faults
        self._events = broker.events
        self._session, self._quorum = session, quorum
        self._control = ControlServer(home / CONTROL_FILE, self._requests_of_connection)
        self._counting = False
        self._counted: tuple[int, dict[str, tuple[int, int]]] = (0, {})  # when, and the rows
        self._requests: Mapping[str, Callable[..., Any]] = {
            "controller": broker.gateway.snapshot,
            "metadata": lambda topic=None: metadata(topic),
            "events": partial(events_after, self._events),
            "links": partial(change_links, self._links),
            "fail": self._fail,
            "drop": self._drop,
            "slow_coordinator": self._slow_coordinator,
            "repeat": self._repeat,
            "deliver": lambda: {"copies": self._faults.deliver()},
            "heal_requests": lambda: {"healed": self._faults.heal()},
            "trace": self._switch_trace,
            "count": self._switch_counts,
        }

    async def open(self) -> None:
        await self._control.open()

    async def close(self) -> None:
        await self._control.close()

    def _requests_of_connection(self) -> Mapping[str, Callable[..., Any]]:
        return {"state": partial(self._state, DebugConnection()), **self._requests}

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
            **({} if (quorum := self._quorum()) is None else {"quorum": quorum}),
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


def _api(key: int) -> Api:
    if key not in EVERY_API:
        raise ValueError(f"there is no API {key}")
    return cast(Api, EVERY_API[key])


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
