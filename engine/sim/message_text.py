"""The text of a simulated message, for a trace and for `Simulation.messages`.

    Produce orders-0 r00017 acks=all        Fetch orders-0 from 17        Fetched orders-0 HW 17
    LeaderAndIsr orders-0 leader 2 epoch 3  set orders-0 leader=2 epoch=3 isr=2,1

Messages about transactions: see transaction_text.
"""

from collections.abc import Iterator
from typing import Any

from engine.errors import ErrorCode
from engine.sim.quorum.controller_peer import ControllerRequest
from engine.sim.serving import Consume, Consumed, Locate, Produce, Produced
from engine.sim.transaction_text import transaction_text
from engine.sim.zookeeper.client import (
    ConnectRequest,
    ConnectResponse,
    ControlMessage,
    RequestBatch,
)
from engine.storage.records import stream
from engine.wire.controller_apis import ControllerApi
from engine.wire.fetch import FetchAnswer
from engine.zookeeper import znodes
from engine.zookeeper.requests import Changed, Create, Delete, Multi, Set

ROUTINE = "UpdateMetadata", "Metadata", "Partition", "None", "Heartbeat", "FindCoordinator"


# Periodic requests to controllers.
OF_CONTROLLERS = {ControllerApi.FETCH, ControllerApi.BROKER_HEARTBEAT}


def message_text(what: Any) -> tuple[str, bool] | None:
    """The text of a message, and whether it is routine; None for TCP's and ZooKeeper's own ones."""
    if isinstance(what, tuple) and len(what) == 2 and isinstance(what[0], int):
        return _conversation(what[1])
    match what:
        case RequestBatch(asks):  # the answers show in the messages that follow
            writes = [each for ask in asks for each in _writes(ask)]
            return ", ".join(writes) or "read", not writes
        case Changed(path):
            return f"changed: {path}", False
        case ConnectRequest(session):
            return f"session {session}, please" if session else "a session, please", False
        case ConnectResponse(session):
            return f"session {session}", False
        case ControlMessage.EXPIRED | ControlMessage.BYE:
            return what.value, False
    return None


def _conversation(what: Any) -> tuple[str, bool]:
    match what:
        case ControllerRequest(api):
            return api.name.title().replace("_", ""), api in OF_CONTROLLERS
        case bytes():
            return "response", True
        case Produce(partition, batch, acks):
            values = [(each.value or b"").decode() for each in stream(batch)]
            level = "all" if acks < 0 else acks
            return f"Produce {partition} {' '.join(values)} acks={level}", False
        case Produced(code, offset):
            return (f"offset {offset}" if code == ErrorCode.none else code.name), False
        case Consume(partition, offset):
            return f"Consume {partition} from {offset}", True
        case Consumed(code, records):
            size = len(records)
            return f"{size} bytes" if code == ErrorCode.none else code.name, not size
        case Locate(partition):
            return f"Locate {partition}", True
        case FetchAnswer():
            return _fetched(what)
    name = type(what).__name__.removesuffix("Request")
    if name == "Fetch":
        return _fetch(what)
    if name in ("LeaderAndIsr", "OffsetForLeaderEpoch", "StopReplica"):
        return f"{name} {_partitions(what)}", False
    if name == "OffsetCommit":
        return f"{name} {_commits(what)}", False
    if (told := transaction_text(name, what)) is not None:
        return told, False
    return name, name.startswith(ROUTINE)


def _fetch(request: Any) -> tuple[str, bool]:
    wanted = [
        f"{topic.topic}-{each.partition} from {each.fetch_offset}"
        for topic in request.topics
        for each in topic.partitions
    ]
    return f"Fetch {', '.join(wanted)}".rstrip(), not wanted


def _fetched(response: FetchAnswer) -> tuple[str, bool]:
    found = [
        f"{topic.topic}-{each.partition_index} "
        + (f"{_size(each.records)} bytes" if each.records else f"HW {each.high_watermark}")
        for topic in response.responses
        for each in topic.partitions
    ]
    return f"Fetched {', '.join(found)}".rstrip(), not found


def _size(records: Any) -> int:
    """The length of records that were read from a log; in a message they are bytes."""
    return len(records)


def _commits(request: Any) -> str:
    rows = [(topic.name, each) for topic in request.topics for each in topic.partitions]
    found = [f"{name}-{each.partition_index} to {each.committed_offset}" for name, each in rows]
    return f"{', '.join(found)} in generation {request.generation_id}"


def _partitions(request: Any) -> str:
    """The partitions of a request of the controller or of a follower."""
    found = []
    for topic in getattr(request, "topic_states", ()) or getattr(request, "topics", ()):
        name = getattr(topic, "topic_name", "") or topic.topic
        for each in getattr(topic, "partition_states", ()) or topic.partitions:
            number = getattr(each, "partition_index", None)
            number = each.partition if number is None else number
            leader = f" leader {each.leader}" if hasattr(each, "leader") else ""
            found.append(f"{name}-{number}{leader} epoch {each.leader_epoch}")
    return ", ".join(found)


def _writes(ask: Any) -> Iterator[str]:
    match ask:
        case Multi(writes):
            for each in writes:
                yield from _writes(each)
        case Create(path):
            yield f"create {path}"
        case Set(path, data) if path.endswith("/state"):
            state = znodes.LeaderAndIsr.decode(data)
            isr = ",".join(map(str, state.isr))
            yield f"set {_short(path)} leader={state.leader} epoch={state.leader_epoch} isr={isr}"
        case Set(path, data):
            yield f"set {path} {data.decode(errors='replace')[:100]}"
        case Delete(path):
            yield f"delete {path}"


def _short(path: str) -> str:
    """/brokers/topics/orders/partitions/0/state: that of orders-0"""
    *_, topic, _, number, _ = path.split("/")
    return f"{topic}-{number}"
