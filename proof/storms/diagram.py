"""A sequence diagram as text: a column for each machine, a line for each message and event.

      s  producer hasty    reader   1        2        3        zookeeper
  7.012  ├─────────────────────────────────>│        ┆        │    Produce orders-0 r00017, 14 ms
  7.031  │        │        │        │        ●        ┆        │   isr.changed orders-0 isr=2,1
  7.500  │        │        │                 │        ┆        │   * broker.killed broker=1

Without ZooKeeper the last columns are those of the controllers.

│ up, ┆ paused, blank: down. A message is drawn when it is sent, with the time that it takes (longer
on a cut link); × for a lost one; ○ for a request of the controller to its own broker. A star marks
what was done to the cluster, and events of a group's members.
"""

from collections.abc import Mapping, Sequence

from engine.cluster.event_stream import ClusterEvent
from engine.cluster.state import ClusterState, Status
from engine.sim.quorum.controller_peer import controller_machine
from proof.storms.group_workload import MEMBERS
from proof.storms.moment import Moment, TraceMessage
from proof.storms.workload import MACHINES

WIDTH = 9  # of a column
LEFT = 9  # of the time
MARKS = {Status.UP: "│", Status.PAUSED: "┆", Status.DOWN: " "}
OMITTED = frozenset({"topic", "partition"})


def draw(moments: Sequence[Moment], *, routine: bool = False) -> str:
    if not moments:
        return "nothing happened"
    brokers = [*moments[-1].state.brokers]
    seen = {each.source for moment in moments for each in moment.messages}
    clients = [*MACHINES, *(each for each in MEMBERS if each in seen)]
    controllers, others = moments[-1].state.controllers, _controllers(moments[-1].state)
    servers = [*map(controller_machine, others)] if controllers else ["zookeeper"]
    machines = [*clients, *map(controller_machine, brokers), *servers]
    places = {name: at for at, name in enumerate(machines)}
    titles = [*clients, *map(str, [*brokers, *(others if controllers else servers)])]
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
    statuses = [broker.status for broker in state.brokers.values()]
    statuses += [state.controllers[node].status for node in _controllers(state)]
    marks = ["│"] * clients + [MARKS[status] for status in statuses]
    marks += [] if state.controllers else ["│"]  # ZooKeeper
    return "".join(mark.ljust(WIDTH) for mark in marks)


def _controllers(state: ClusterState) -> list[int]:
    """The controllers that have machines of their own."""
    return [node for node in state.controllers if node not in state.brokers]


def _happened(each: ClusterEvent, marks: str, places: Mapping[str, int]) -> str:
    facts = " ".join(
        f"{name}={_plain(value)}" for name, value in each.data.items() if name not in OMITTED
    )
    about = f" {each.data['topic']}-{each.data['partition']}" if "partition" in each.data else ""
    text = f"{each.kind}{about} {facts}"
    if each.broker is None:
        return f"{marks}* {text}"
    at = places[controller_machine(each.broker)] * WIDTH
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
