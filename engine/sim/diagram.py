"""A sequence diagram as text: a column for each machine, a line for each message and event.

      s  producer hasty    reader   1        2        3        zookeeper
  7.012  ├─────────────────────────────────>│        ┆        │    Produce orders-0 r00017, 14 ms
  7.031  │        │        │        │        ●        ┆        │   isr.changed orders-0 isr=2,1
  7.500  │        │        │                 │        ┆        │   * broker.killed broker=1

│ up, ┆ paused, blank: down. A message is drawn when it is sent, with the time that it takes (longer
on a cut link); × for a lost one; ○ for a request of the controller to its own broker. A star marks
what was done to the cluster, and events of a group's members.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engine.cluster.event_stream import ClusterEvent
from engine.cluster.state import ClusterState, Status
from engine.errors import ErrorCode
from engine.sim.group_workload import MACHINES as MEMBERS
from engine.sim.moment import Moment, TraceMessage
from engine.sim.peer import machine
from engine.sim.serving import Consume, Consumed, Locate, Produce, Produced
from engine.sim.transactions.message_text import transaction_text
from engine.sim.workload import MACHINES
from engine.sim.zookeeper.client import (
    ConnectRequest,
    ConnectResponse,
    ControlMessage,
    RequestBatch,
)
from engine.storage.records import stream
from engine.wire.fetch import FetchAnswer
from engine.zookeeper import znodes
from engine.zookeeper.requests import Changed, Create, Delete, Multi, Set

WIDTH = 9  # of a column
LEFT = 9  # of the time
MARKS = {Status.UP: "│", Status.PAUSED: "┆", Status.DOWN: " "}
ROUTINE = "UpdateMetadata", "Metadata", "Partition", "None", "Heartbeat", "FindCoordinator"
OMITTED = frozenset({"topic", "partition"})


# -- the text of a message -------------------------------------------------------------------


def words(what: Any) -> tuple[str, bool] | None:
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
    return f"{', '.join(found)} in generation {request.generation_id_or_member_epoch}"


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


# -- the drawing -----------------------------------------------------------------------------


def draw(moments: Sequence[Moment], *, routine: bool = False) -> str:
    if not moments:
        return "nothing happened"
    brokers = [*moments[-1].state.brokers]
    seen = {each.source for moment in moments for each in moment.messages}
    clients = [*MACHINES, *(each for each in MEMBERS if each in seen)]
    places = {name: at for at, name in enumerate([*clients, *map(machine, brokers), "zookeeper"])}
    titles = [*clients, *map(str, brokers), "zookeeper"]
    head = "s".rjust(LEFT - 2) + "  " + "".join(title.ljust(WIDTH) for title in titles)
    lines = [head.rstrip()]
    for moment in moments:
        marks = _marks(moment.state, len(clients))
        shown = [_happened(each, marks, places) for each in moment.events]
        sent = [
            _carried(each, marks, places, moment.at)
            for each in moment.messages
            if routine or not each.routine
        ]
        lines += [f"{moment.at / 1000:{LEFT - 2}.3f}  {line}" for line in shown + sent]
    return "\n".join(line.rstrip() for line in lines)


def _marks(state: ClusterState, clients: int) -> str:
    marks = ["│"] * clients + [MARKS[each.status] for each in state.brokers.values()] + ["│"]
    return "".join(mark.ljust(WIDTH) for mark in marks)


def _happened(each: ClusterEvent, marks: str, places: Mapping[str, int]) -> str:
    facts = " ".join(
        f"{name}={_plain(value)}" for name, value in each.data.items() if name not in OMITTED
    )
    about = f" {each.data['topic']}-{each.data['partition']}" if "partition" in each.data else ""
    text = f"{each.kind}{about} {facts}"
    if each.broker is None:
        return f"{marks}* {text}"
    at = places[machine(each.broker)] * WIDTH
    return f"{marks[:at]}●{marks[at + 1 :]}{text}"


def _plain(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _carried(each: TraceMessage, marks: str, places: Mapping[str, int], now: int) -> str:
    if each.source not in places or each.target not in places:
        return f"{marks}{each.source} to {each.target}: {each.text}"
    source, target = places[each.source] * WIDTH, places[each.target] * WIDTH
    first, last = sorted((source, target))
    lost = each.arrives < 0
    if source == target:  # a controller is a broker, too
        line = f"{marks[:first]}○{marks[first + 1 :]}"
    elif source < target:
        arrow = "├" + "─" * (last - first - 2) + ("×" if lost else ">")
        line = marks[:first] + arrow + marks[last:]
    else:
        arrow = ("×" if lost else "<") + "─" * (last - first - 2) + "┤"
        line = marks[: first + 1] + arrow + marks[last + 1 :]
    return f"{line}{each.text}, {'lost' if lost else f'{each.arrives - now} ms'}"
