"""A run of a cluster in a file: its states and events, to be replayed later.

    {"t": 1700000000000, "controller": 1, "brokers": {"1": [...], ...}, "partitions": {...}, ...}
    {"t": 1700000000104, "partitions": {"orders-0": [...]}}          only what has changed
    {"t": 1700000000311, "events": [["broker.killed", ...], ...]}
    {"t": 1700000000420, "tracks": {"znodes": ...}}                  further data: tracks
    {"t": 1700000060000}                                             the end

One JSON value a line, compressed if the file's name ends in .gz. Nothing is written while nothing
changes; a change of a broker's clock alone does not count, so a recording has the clock of the last
change. A file that ends in the middle of a line (its writer was killed) is read up to there.

A track is a function that returns what is new since its last call, as a JSON value, or None.
`Recording.track(name)` returns all its values with their times.
"""

import gzip
import json
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, astuple, replace
from pathlib import Path
from typing import IO, Any, Self, TypeVar

from engine.cluster.event_stream import ClusterEvent
from engine.cluster.state import (
    BrokerState,
    ClusterState,
    ControllerState,
    FollowerState,
    GroupState,
    LinkState,
    PartitionState,
    ReplicaState,
    Status,
    TransactionState,
    ZookeeperState,
    facts,
)
from engine.model import TopicPartition

INTERVAL = 0.1  # seconds
FLUSH = 10  # intervals

T = TypeVar("T")
Track = Callable[[], Any]  # returns what is new since the last call; None: nothing is
NO_TRACKS: Mapping[str, Track] = {}


class RecordingWriter:
    """Writes what has changed since the last time, a line for each."""

    def __init__(self, path: Path) -> None:
        self.file = _open(path, "wt")
        self._last: ClusterState | None = None

    def write(
        self,
        state: ClusterState,
        events: Sequence[ClusterEvent],
        last: bool = False,
        tracks: Mapping[str, Any] = NO_TRACKS,
    ) -> None:
        line = _changes(self._last, state)
        if events:
            line["events"] = events
        if tracks:
            line["tracks"] = tracks
        if line or last:
            self.file.write(json.dumps({"t": state.at, **line}, separators=(",", ":")) + "\n")
        self._last = state


class Recorder:
    """Writes in a thread of its own, until `stop`, or to the end of a with block.

    The state at the beginning is in the file before the constructor returns: what happens next is
    recorded as a change, however fast it happens.
    """

    def __init__(
        self,
        path: Path,
        state: Callable[[], ClusterState],
        events: Callable[[int], list[ClusterEvent]],
        tracks: Mapping[str, Track] = NO_TRACKS,
    ) -> None:
        self.path = path
        self._state = state
        self._events = events
        self._tracks = tracks
        self._number = 0  # of the last event that is written
        self._writer = RecordingWriter(path)
        self._stopping = threading.Event()
        self._failure: BaseException | None = None
        try:
            self._write_what_is_new(last=False)
        except BaseException:
            self._writer.file.close()
            raise
        self._thread = threading.Thread(target=self._run, name=f"recording {path}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Write the last state, and close the file. An error of the thread is raised here."""
        self._stopping.set()
        self._thread.join()
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self) -> None:
        try:
            with self._writer.file as file:
                rounds, last = 0, False
                while not last:
                    last = self._stopping.wait(INTERVAL)
                    self._write_what_is_new(last)
                    rounds += 1
                    if rounds % FLUSH == 0:
                        file.flush()
        except BaseException as error:
            self._failure = error

    def _write_what_is_new(self, last: bool) -> None:
        state, events = self._state(), self._events(self._number)
        if events:
            self._number = events[-1].number
        news = {name: track() for name, track in self._tracks.items()}
        tracks = {name: new for name, new in news.items() if new is not None}
        self._writer.write(state, events, last, tracks)


class Recording:
    """The states of a run in order, and its events."""

    def __init__(
        self,
        states: list[ClusterState],
        events: list[ClusterEvent],
        tracks: Mapping[str, list[tuple[int, Any]]] | None = None,
    ) -> None:
        self._states = states
        self._events = events
        self._tracks = tracks or {}
        self._times = [state.at for state in states]

    @classmethod
    def load(cls, path: Path | str) -> Self:
        states: list[ClusterState] = []
        events: list[ClusterEvent] = []
        tracks: dict[str, list[tuple[int, Any]]] = {}
        state = ClusterState(0, -1, {}, {})
        for line in _lines(Path(path)):
            state = _applied(state, line)
            states.append(state)
            events += [ClusterEvent(*each) for each in line.get("events", ())]
            for name, new in line.get("tracks", {}).items():
                tracks.setdefault(name, []).append((line["t"], new))
        return cls(states, events, tracks)

    @property
    def start(self) -> int:
        """ms since 1970"""
        return self._times[0]

    @property
    def end(self) -> int:
        return self._times[-1]

    def at(self, time: int) -> ClusterState:
        """The state at that time; before the beginning, the first."""
        return self._states[max(bisect_right(self._times, time) - 1, 0)]

    def events(self, after: int = 0) -> list[ClusterEvent]:
        return [event for event in self._events if event.number > after]

    def track(self, name: str) -> list[tuple[int, Any]]:
        """The values of a track, each with its time; empty if it was not recorded."""
        return list(self._tracks.get(name, ()))

    def __iter__(self) -> Iterator[ClusterState]:
        return iter(self._states)

    def __len__(self) -> int:
        return len(self._states)


def _open(path: Path, mode: str) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, mode, encoding="utf-8")  # type: ignore[return-value]
    return path.open(mode, encoding="utf-8")


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with _open(path, "rt") as file, suppress(EOFError, json.JSONDecodeError):
        for line in file:
            yield json.loads(line)


# -- what has changed ------------------------------------------------------------------------


def _changes(old: ClusterState | None, new: ClusterState) -> dict[str, Any]:
    old = old or ClusterState(0, 0, {}, {})
    changes: dict[str, Any] = {}
    if new.controller != old.controller:
        changes["controller"] = new.controller
    if new.links != old.links:
        changes["links"] = [astuple(link) for link in new.links]
    brokers = {
        number: _broker_row(broker)
        for number, broker in new.brokers.items()
        if number not in old.brokers or _timeless(broker) != _timeless(old.brokers[number])
    }
    partitions: dict[str, Any] = {
        str(partition): _partition_row(state)
        for partition, state in new.partitions.items()
        if old.partitions.get(partition) is not state
    }
    partitions |= {str(partition): None for partition in old.partitions.keys() - new.partitions}
    parts = {
        "brokers": brokers,
        "partitions": partitions,
        "groups": _others(old.groups, new.groups),
        "transactions": _others(old.transactions, new.transactions),
        "zookeepers": {
            number: astuple(server)
            for number, server in new.zookeepers.items()
            if old.zookeepers.get(number) != server
        },
        "controllers": {
            node: asdict(controller) | {"status": controller.status.value}
            for node, controller in new.controllers.items()
            if old.controllers.get(node) != controller
        },
    }
    return changes | {name: part for name, part in parts.items() if part}


def _others(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The entries that are not the same object as before, and None for those that are gone."""
    changed = {name: asdict(each) for name, each in new.items() if old.get(name) is not each}
    return changed | dict.fromkeys(old.keys() - new)


def _applied(state: ClusterState, line: Mapping[str, Any]) -> ClusterState:
    brokers, partitions = dict(state.brokers), dict(state.partitions)
    for number, row in line.get("brokers", {}).items():
        brokers[int(number)] = _parse_broker(row)
    for name, row in line.get("partitions", {}).items():
        topic, _, partition = name.rpartition("-")
        if row is None:
            del partitions[TopicPartition(topic, int(partition))]
        else:
            partitions[TopicPartition(topic, int(partition))] = _parse_partition(row)
    groups = _after(state.groups, line.get("groups", {}), _parse_group)
    transactions = _after(state.transactions, line.get("transactions", {}), _parse_transaction)
    links = state.links
    if "links" in line:
        links = tuple(LinkState(*each) for each in line["links"])
    controller = line.get("controller", state.controller)
    zookeepers = dict(state.zookeepers)
    for number, (role, zxid, sessions, *others) in line.get("zookeepers", {}).items():
        zookeepers[int(number)] = ZookeeperState(role, zxid, tuple(sessions), *others)
    controllers = dict(state.controllers)
    for node, row in line.get("controllers", {}).items():
        known = facts(ControllerState, row) | {"status": Status(row["status"])}
        controllers[int(node)] = ControllerState(**known)
    return ClusterState(
        *(line["t"], controller, brokers, partitions, links, groups, transactions),
        *(zookeepers, controllers),
    )


def _after(
    known: Mapping[str, T], rows: Mapping[str, Any], parse: Callable[[dict[str, Any]], T]
) -> dict[str, T]:
    left = {name: each for name, each in known.items() if rows.get(name, each) is not None}
    return left | {name: parse(row) for name, row in rows.items() if row is not None}


def _timeless(broker: BrokerState) -> BrokerState:
    return replace(broker, at=0)


def _broker_row(broker: BrokerState) -> list[Any]:
    status, *others = astuple(broker)
    return [status.value, *others]


def _parse_broker(row: list[Any]) -> BrokerState:
    status, *others = row
    broker = BrokerState(Status(status), *others)
    return replace(broker, brokers=tuple(broker.brokers))


def _partition_row(state: PartitionState) -> list[Any]:
    return [
        *(state.leader, state.leader_epoch, state.isr, state.assignment),
        {number: astuple(replica) for number, replica in state.replicas.items()},
        {number: astuple(follower) for number, follower in state.followers.items()},
    ]


def _parse_partition(row: list[Any]) -> PartitionState:
    leader, epoch, isr, assignment, replicas, followers = row
    return PartitionState(
        leader,
        epoch,
        tuple(isr),
        tuple(assignment),
        {int(number): ReplicaState(*each) for number, each in replicas.items()},
        {int(number): FollowerState(*each) for number, each in followers.items()},
    )


def _parse_group(row: dict[str, Any]) -> GroupState:
    members = [{"member": name, **each} for name, each in row["members"].items()]
    return GroupState.parse(row["coordinator"], {**row, "members": members})


def _parse_transaction(row: dict[str, Any]) -> TransactionState:
    return TransactionState.parse(row["coordinator"], row)
