"""GroupView: shows a consumer group, and adds, kills and freezes consumers.

    GroupView(cluster, group="billing", topic="orders")              live: add, kill, freeze
    GroupView(Recording.load("run.jsonl.gz"), group="billing")       a finished run, with a
                                                                     timeline

Each consumer that it adds is a process of its own, which is really killed or frozen; they end with
the view, the cluster or the kernel. Other consumers are shown as well, but can't be stopped here.

A new consumer with another strategy than that of the group names both, its own first: so a group
changes its strategy without a stop, when the last member that does not know the new one leaves.

Invariant: acts are offered on a live cluster only.
"""

import re
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from engine.assignors import ASSIGNORS, find
from engine.client.admin.values import NewPartitions
from engine.cluster.event_stream import ClusterEvent
from engine.cluster.state import ClusterState
from engine.errors import ApiException, ErrorCode
from widgets import controls
from widgets.controls import Control
from widgets.group.consumer_processes import ConsumerProcesses
from widgets.group.group_run import FATES, GroupRun, RebalanceSteps, RecordedGroup
from widgets.group.history import GroupHistory
from widgets.group.lag import lags, topics_of
from widgets.group.layout import DeedMark, GroupViewState, Rows
from widgets.group.scene import header, picture
from widgets.playback import SPANS, TIME, SpanPlayback
from widgets.scene import Scene
from widgets.story import internal
from widgets.time_axis import Axis, axis
from widgets.view import redraws

if TYPE_CHECKING:
    from plotly.graph_objects import Figure  # type: ignore[import-untyped]

DEEDS = frozenset({"stop", "kill", "freeze", "thaw"})
WORK = DEEDS | {"add", "strategy", "add_partitions", "subscribe"}
TICK, FRAME = 250, 100  # ms between two pictures without events
COPY = re.compile(r"(.+)-\d+")  # a topic whose name was taken: Cluster.topic("orders") twice
NONE: Mapping[str, str] = {}


class GroupView(SpanPlayback[GroupViewState]):
    ACTS: ClassVar[frozenset[str]] = TIME | WORK | {"span"}

    SPANS = SPANS[1:]

    def __init__(
        self, source: Any, group: str, topic: str = "", config: Mapping[str, str] = NONE
    ) -> None:
        """`config`: Kafka's keys for the consumers that are added."""
        super().__init__(name="Group")
        self.group = group
        self.marks: list[DeedMark] = []
        self._told = 0  # of them, to a recording
        self.processes: ConsumerProcesses | None = None  # only with the first consumer
        self._topics = [topic] if topic else []
        self._config = config
        self._strategy = find(config.get("partition.assignment.strategy", "range")).name
        self._failed: set[str] = set()  # whose failure was reported
        self.history, self._lag = GroupHistory(group), list[tuple[int, int]]()
        self._past = None if hasattr(source, "state") else RecordedGroup(source, group)
        self._floor, self._floor_width = 0.0, 0  # the least height of all lanes at this width
        self._open(source)

    def _open(self, source: Any) -> None:
        super()._open(source)
        if self._past:
            self.run_source = RebalanceSteps(source, self._past)

    # -- looking -------------------------------------------------------------------------

    def add_events(self, events: Sequence[ClusterEvent]) -> None:
        self.history.add(events)

    def poll(self) -> bool:
        more = super().poll()
        with self.lock:
            self._tell_failures()
        if not more:
            self._dismiss()  # the cluster is over
        return more

    def axis(self) -> Axis:
        """To scale, as the lanes are."""
        return axis(self.run_source.start, self.run_source.end, False, 0, 1)

    def follow(self, at: int | None) -> None:
        """A group that lives has no past here: its lanes are all there."""
        if self._past:
            super().follow(at)

    def see(self, state: ClusterState) -> None:
        lag = sum(lags(state, state.groups.get(self.group)).values())
        if not self._lag or self._lag[-1][1] != lag:
            self._lag.append((state.at, lag))

    def _tell_failures(self) -> None:
        for name, status in self.statuses().items():
            if status == "failed" and name not in self._failed and self.processes:
                self._failed.add(name)
                self.trouble = f"{name} gave up: {self.processes.end_reason(name)}"

    def statuses(self) -> dict[str, str]:
        """The status of the consumers that were started here."""
        return self.processes.statuses() if self.processes else {}

    def view_state(self) -> GroupViewState:
        """The state now, or at the head."""
        if self._past:
            if self._floor_width != self.width:
                # From the beginning on, room for the picture at the end of the run.
                whole = self._seen(self._past, self.run_source.end, 0)
                self._floor, self._floor_width = Rows(whole).bottom, self.width
            at = self.run_source.end if self.head is None else self.head
            return self._seen(self._past, at, self._floor)
        state = self.run_source.at(self.run_source.end)
        self.history.see(state.groups.get(self.group), state.at)
        self.see(state)
        return GroupViewState(
            self.history,
            state,
            self.run_source.end,
            True,
            self.shown,
            (WORK if hasattr(self.source, "bootstrap") else frozenset()) | {"span"},
            tuple(self.statuses().items()),
            tuple(self.marks),
            width=self.width,
        )

    def _seen(self, past: RecordedGroup, at: int, floor: float) -> GroupViewState:
        marks = past.done(at)
        return GroupViewState(
            past.at(at).history,
            self.run_source.at(at),
            at,
            False,
            self.shown,
            TIME | {"span"},
            tuple({mark.lane: FATES[mark.deed] for mark in marks}.items()),
            tuple(marks),
            past.whole,
            floor,
            self.width,
        )

    def gist(self, state: GroupViewState) -> tuple[object, ...]:
        seen = id(state.state), state.now // (TICK if state.live else FRAME), state.span
        return *seen, state.statuses, state.marks, len(state.history.rounds), state.floor

    def headline(self, state: GroupViewState) -> str:
        return header(state)

    def painted(self, state: GroupViewState) -> Scene:
        return picture(state)

    def offers(self, state: GroupViewState) -> list[Control]:
        found = []
        if "add" in state.acts:
            found.append(controls.button("add", "+ consumer", "add a consumer"))
            found.append(controls.choice("strategy", "by", list(ASSIGNORS), self._strategy))
            if self._topics:
                label = f"one more partition for {self._topics[0]}"
                found.append(controls.button("add_partitions", "+ partition", label))
            others = [("", "..."), *((it, it) for it in self._offered(state.state))]
            if len(others) > 1:
                found.append(controls.choice("subscribe", "read also", others))
        time = super().offers(state)
        return found + (time if self._past else time[:1])  # a group that lives has no past here

    def _others(self, state: ClusterState) -> list[str]:
        """The other topics, without Kafka's own."""
        names = {partition.topic for partition in state.partitions}
        return sorted(it for it in names - set(self._topics) if not internal(it))

    def _offered(self, state: ClusterState) -> list[str]:
        """Topics that one could read as well. A lab makes topics for each of its sections: those
        that another group reads, and repetitions such as "orders-2", are not offered."""
        names = self._others(state)
        others = [each for name, each in state.groups.items() if name != self.group]
        read = {topic for each in others for topic in topics_of(each)}
        known = {*names, *self._topics}
        copies = {it for it in names if (copy := COPY.fullmatch(it)) and copy[1] in known}
        return [it for it in names if it not in read | copies]

    def news(self) -> list[DeedMark] | None:
        """The acts on consumers here since the last call: a track for a recording."""
        with self.lock:
            new, self._told = self.marks[self._told :], len(self.marks)
        return new or None

    # -- acts ----------------------------------------------------------------------------

    def add(self) -> None:
        """One more consumer, a process of its own."""
        self._need_topics()
        if self.processes is None:
            self.processes = ConsumerProcesses(self.source.bootstrap, self.group, self._config)
            self.processes.subscribe(self._topics)
        told = self.source.state().groups.get(self.group)
        strategies = [self._strategy]
        if told and told.protocol and told.protocol != self._strategy and told.members:
            strategies.append(told.protocol)
        self.processes.add(",".join(strategies), {life.lane for life in self.history.lives})
        self.draw()

    def stop(self, name: str) -> None:
        """It leaves the group, then ends."""
        self._do("stop", name)

    def kill(self, name: str) -> None:
        self._do("kill", name)

    def freeze(self, name: str) -> None:
        self._do("freeze", name)

    def thaw(self, name: str) -> None:
        self._do("thaw", name)

    @redraws
    def strategy(self, name: str) -> None:
        """Of those that are added from now on."""
        self._strategy = find(name).name

    def add_partitions(self) -> None:
        """One more, for the first topic of the group."""
        self.later(self._add_partition, self._need_topics()[0])

    def subscribe(self, topic: str) -> None:
        """The consumers that were started here read this topic as well."""
        self._need_cluster()
        if not topic or topic in self._topics:
            return
        known = {partition.topic for partition in self.source.state().partitions}
        if topic not in known:
            why = f"there is no topic {topic}; there are {', '.join(sorted(known)) or 'none'}"
            raise ApiException(ErrorCode.unknown_topic_or_partition, why)
        self._topics.append(topic)
        if self.processes:
            self.processes.subscribe(self._topics)
        self.draw()

    def _do(self, deed: str, name: str) -> None:
        if self.processes is None:
            why = f"{name} was not started here: add consumers, then {deed} those"
            raise ApiException(ErrorCode.unknown_member_id, why)
        getattr(self.processes, deed)(name)
        with self.lock:
            self.marks.append(DeedMark(now_ms(), name, deed))
            self.draw()

    def _add_partition(self, topic: str) -> None:
        count = sum(each.topic == topic for each in self.source.state().partitions)
        wish = NewPartitions(topic, count + 1)
        self.source.admin.create_partitions([wish])[topic].result()

    def _need_cluster(self) -> None:
        if not self.run_source.live:
            why = "this run is over: to change something, take GroupView(cluster, ...)"
            raise ApiException(ErrorCode.broker_not_available, why)

    def _need_topics(self) -> list[str]:
        """If no topic was given, take the only one that there is."""
        self._need_cluster()
        others = [] if self._topics else self._others(self.source.state())
        if len(others) == 1:
            self._topics = others
        if not self._topics:
            why = f"which topic? GroupView(cluster, group={self.group!r}, topic=...)"
            raise ApiException(ErrorCode.unknown_topic_or_partition, why)
        return self._topics

    # -- the rest ------------------------------------------------------------------------

    def run(self) -> GroupRun:
        """The history up to now."""
        with self.lock:
            if self._past:
                return self._past.at(self.run_source.end)
            return GroupRun(self.history, self.run_source.end, list(self._lag))

    def figure(self) -> "Figure":
        """A chart of the generations, the partitions of each member, and the cost of rebalances."""
        from widgets.group.chart import chart  # noqa: PLC0415 - plotly takes a second to load

        return chart(self.run())

    def close(self) -> None:
        super().close()
        self._dismiss()

    def _dismiss(self) -> None:
        if self.processes:
            self.processes.close()


def now_ms() -> int:
    return round(time.time() * 1000)
