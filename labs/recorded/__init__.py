"""Six runs of a real cluster, kept in files: to be watched without one.

    from recorded import RUNS, view

    view("failover")                 a ClusterView: drag the head, or press play
    view("storm", "GroupView")       the same with another view, of those in RUNS["storm"].views
    load("unclean")                  the Recording itself, for Python

    NAME.py  ── python -m recorded.record NAME ──>  NAME.jsonl.gz  ── load ──>  any widget
    what is to happen, in ten lines      a real cluster, half a minute

Nothing is started to watch one: on a phone's page, on GitHub, on a projector without a network.

Invariant: a recording holds nothing of the machine on which it was made.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import widgets
from engine.cluster.recording import Recording

if TYPE_CHECKING:
    from widgets.stage import SceneWidget

HERE = Path(__file__).parent
ALL = ("ClusterView", "ReplicaView", "WireView", "ZooKeeperTree", "SegmentView", "HexView")


class RecordedRun(NamedTuple):
    title: str
    words: str  # what to see
    topic: str
    group: str = ""  # of consumers; "": there is none
    views: tuple[str, ...] = ALL  # which have something to show
    partition: int = 0  # the one that is looked at closely


RUNS = {
    "failover": RecordedRun(
        "A failover",
        "The leader is killed while a producer writes with acks=all. Until its session with "
        "ZooKeeper runs out nobody is leader; then a follower leads, and no record is lost. The "
        "killed one comes back, catches up, and is in sync again.",
        "orders",
        "billing",
    ),
    "unclean": RecordedRun(
        "An unclean election",
        "The follower dies, and only the leader is in sync. Then the leader dies, too, and the "
        "follower comes back first. With unclean.leader.election.enable=true it leads, without "
        "the records that it never saw; when the old leader returns it cuts them off its log.",
        "orders",
    ),
    "transactions": RecordedRun(
        "Transactions",
        "Two copiers write a bill for each order, and commit bills and offsets in transactions. "
        "One is killed in the middle of one: the last stable offset stands still, and who reads "
        "committed waits, until the coordinator aborts the transaction and sends its markers.",
        "bills",
        "copiers",
        ("ReplicaView", "GroupView", "SegmentView", "HexView", "WireView", "AccumulatorView"),
    ),
    "oncall": RecordedRun(
        "A day on call",
        "A noisy client gets a quota, and waits. One broker of four is killed and comes back; so "
        "does the leader of three ZooKeeper servers. Then the partition of the noisy client moves "
        "to the broker that has none, with a throttle.",
        "clicks",
        "billing",
        ("OperatorBoard", "ThrottleGauge", "ClusterView", "ReplicaView", "ZooKeeperTree"),
    ),
    "storm": RecordedRun(
        "A rebalance storm",
        "Consumers come and leave, one is frozen and one is killed. With an eager strategy each "
        "of these changes makes all others stop reading, and what a frozen or dead one had "
        "nobody reads until its session runs out.",
        "orders",
        "billing",
        ("GroupView", "ClusterView", "ReplicaView", "WireView"),
    ),
    "migration": RecordedRun(
        "From ZooKeeper to KRaft",
        "Apache Kafka 3.9.1, the last release that knows both. Three controllers take over from "
        "the broker that was controller, copy ZooKeeper's tree into their log, and write each "
        "change to both; one of them is killed meanwhile. Then brokers and controllers are "
        "restarted without ZooKeeper, one by one, and there is no way back. A producer writes with "
        "acks=all all the time, and loses nothing.",
        "orders",
        views=("ZooKeeperTree", "MetadataLogView", "QuorumView"),
    ),
}


def path(name: str) -> Path:
    """Of the file."""
    if name not in RUNS:
        raise KeyError(f"there is no run {name!r}: there are {', '.join(RUNS)}")
    return HERE / f"{name}.jsonl.gz"


def load(name: str) -> Recording:
    return Recording.load(path(name))


def view(name: str, kind: str = "") -> "SceneWidget":
    """A widget on a recording; by default the first that its run names."""
    recording, run = load(name), RUNS[name]
    kind = kind or run.views[0]
    if kind not in MAKERS:
        raise KeyError(f"there is no view {kind!r} of a recording: there are {', '.join(MAKERS)}")
    return MAKERS[kind](recording, run)


def turn(view: Any, share: float) -> None:
    """Any of these views, at another time of its run: 0 is its beginning and 1 its end."""
    for control in view.controls:
        if control["act"] == "moment":
            view.do("moment", round(share * control["most"]))
            return
    view.do("seek", share)


def _first_leader(recording: Recording, run: RecordedRun) -> int:
    """To whose files most happens."""
    elected = (it.data for it in recording.events() if it.kind == "leader.elected")
    return next(int(it["leader"]) for it in elected if _is(it, run))


def _cut(recording: Recording, run: RecordedRun) -> int:
    """Where a log was cut off and written anew; 0: nowhere."""
    cuts = (it.data for it in recording.events() if it.kind == "log.truncated")
    return next((int(it["end_offset"]) for it in cuts if _is(it, run)), 0)


def _is(told: Mapping[str, Any], run: RecordedRun) -> bool:
    return (told["topic"], told["partition"]) == (run.topic, run.partition)


def _segment(recording: Recording, run: RecordedRun) -> "SceneWidget":
    place = run.topic, run.partition
    return widgets.SegmentView(recording, *place, broker=_first_leader(recording, run))


def _hex(recording: Recording, run: RecordedRun) -> "SceneWidget":
    broker, offset = _first_leader(recording, run), _cut(recording, run)
    return widgets.HexView(recording, run.topic, run.partition, broker=broker, offset=offset)


MAKERS: dict[str, Callable[[Recording, RecordedRun], "SceneWidget"]] = {
    "ClusterView": lambda recording, run: widgets.ClusterView(recording),
    "ReplicaView": lambda recording, run: widgets.ReplicaView(recording, run.topic, run.partition),
    "GroupView": lambda recording, run: widgets.GroupView(recording, run.group),
    "WireView": lambda recording, run: widgets.WireView(recording),
    "ZooKeeperTree": lambda recording, run: widgets.ZooKeeperTree(recording),
    "SegmentView": _segment,
    "HexView": _hex,
    "MetadataLogView": lambda recording, run: widgets.MetadataLogView(recording),
    "QuorumView": lambda recording, run: widgets.QuorumView(recording),
    "AccumulatorView": lambda it, run: widgets.AccumulatorView.replay(it.track("batches")[-1][1]),
    "OperatorBoard": lambda recording, run: widgets.OperatorBoard(recording),
    "ThrottleGauge": lambda recording, run: widgets.ThrottleGauge(recording),
}
