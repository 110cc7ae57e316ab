"""Space and time, as text: a column for each machine, a line for each message and event.

      s  producer hasty    reader   1        2        3        zookeeper
  7.012  ├─────────────────────────────────>│        ┆        │    Produce orders-0 r00017, 14 ms
  7.031  │        │        │        │        ●        ┆        │   isr.changed orders-0 isr=2,1
  7.500  │        │        │                 │        ┆        │   * broker.killed broker=1

│ awake, ┆ paused, blank: down. A message is drawn when it is sent, with the time that it takes (a
cut link keeps it longer); × for one that is lost; ○ for what a controller tells its own broker.
A star is what was done to the cluster, or what a member of a group says.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engine.cluster.state import ClusterState, Status
from engine.cluster.stream import Happened
from engine.controller import znodes
from engine.controller.asks import Changed, Create, Delete, Multi, Set
from engine.errors import ErrorCode
from engine.sim.crowd import MACHINES as MEMBERS
from engine.sim.keeper import Hello, Questions, Welcome, Word
from engine.sim.moment import Message, Moment
from engine.sim.node import machine
from engine.sim.serving import Consume, Consumed, Locate, Produce, Produced
from engine.sim.workload import MACHINES
from engine.storage.records import stream
from engine.wire.fetch import Response

WIDTH = 9  # of a column
LEFT = 9  # of the time
MARKS = {Status.UP: "│", Status.PAUSED: "┆", Status.DOWN: " "}
ROUTINE = "UpdateMetadata", "Metadata", "Partition", "None", "Heartbeat", "FindCoordinator"
UNTOLD = frozenset({"topic", "partition"})


# -- what a message says ---------------------------------------------------------------------


def words(what: Any) -> tuple[str, bool] | None:
    """In short, and whether it is routine; None for what TCP and the sessions say to themselves."""
    if isinstance(what, tuple) and len(what) == 2 and isinstance(what[0], int):
        return _conversation(what[1])
    match what:
        case Questions(asks):  # the answers are seen in what follows
            writes = [each for ask in asks for each in _writes(ask)]
            return ", ".join(writes) or "read", not writes
        case Changed(path):
            return f"changed: {path}", False
        case Hello(session):
            return f"session {session}, please" if session else "a session, please", False
        case Welcome(session):
            return f"session {session}", False
        case Word.EXPIRED | Word.BYE:
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
        case Consumed(code, read):
            size = read.records.size if read else 0
            return f"{size} bytes" if code == ErrorCode.none else code.name, not size
        case Locate(partition):
            return f"Locate {partition}", True
        case Response():
            return _fetched(what)
    name = type(what).__name__.removesuffix("Request")
    if name == "Fetch":
        return _fetch(what)
    if name in ("LeaderAndIsr", "OffsetForLeaderEpoch", "StopReplica"):
        return f"{name} {_partitions(what)}", False
    if name == "OffsetCommit":
        return f"{name} {_commits(what)}", False
    return name, name.startswith(ROUTINE)


def _fetch(request: Any) -> tuple[str, bool]:
    wanted = [
        f"{topic.topic}-{each.partition} from {each.fetch_offset}"
        for topic in request.topics
        for each in topic.partitions
    ]
    return f"Fetch {', '.join(wanted)}".rstrip(), not wanted


def _fetched(response: Response) -> tuple[str, bool]:
    found = [
        f"{topic.topic}-{each.partition_index} "
        + (f"{_size(each.records)} bytes" if each.records else f"HW {each.high_watermark}")
        for topic in response.responses
        for each in topic.partitions
    ]
    return f"Fetched {', '.join(found)}".rstrip(), not found


def _size(records: Any) -> int:
    """Of what was read from a log: in a message on its way it is bytes."""
    return len(records)


def _commits(request: Any) -> str:
    rows = [(topic.name, each) for topic in request.topics for each in topic.partitions]
    found = [f"{name}-{each.partition_index} to {each.committed_offset}" for name, each in rows]
    return f"{', '.join(found)} in generation {request.generation_id_or_member_epoch}"


def _partitions(request: Any) -> str:
    """What the controller says of each, or what a follower asks about."""
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
            state = znodes.PartitionState.decode(data)
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
        told = [_happened(each, marks, places) for each in moment.events]
        sent = [
            _carried(each, marks, places, moment.at)
            for each in moment.messages
            if routine or not each.routine
        ]
        lines += [f"{moment.at / 1000:{LEFT - 2}.3f}  {line}" for line in told + sent]
    return "\n".join(line.rstrip() for line in lines)


def _marks(state: ClusterState, clients: int) -> str:
    marks = ["│"] * clients + [MARKS[each.status] for each in state.brokers.values()] + ["│"]
    return "".join(mark.ljust(WIDTH) for mark in marks)


def _happened(each: Happened, marks: str, places: Mapping[str, int]) -> str:
    facts = " ".join(
        f"{name}={_plain(value)}" for name, value in each.data.items() if name not in UNTOLD
    )
    about = f" {each.data['topic']}-{each.data['partition']}" if "partition" in each.data else ""
    text = f"{each.kind}{about} {facts}"
    if each.broker is None:
        return f"{marks}* {text}"
    at = places[machine(each.broker)] * WIDTH
    return f"{marks[:at]}●{marks[at + 1 :]}{text}"


def _plain(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _carried(each: Message, marks: str, places: Mapping[str, int], now: int) -> str:
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
