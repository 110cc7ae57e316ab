"""Listener containers beside those of Spring for Apache Kafka, whose names and rules ours have.

    case ──┬── SpringListeners.java   a Java process that dies by Runtime.halt
           └── ListenerContainer      of engine/client/listener

Both read the same topics from the same broker, in groups of their own. In each case the process
dies when the listener has the 7th of ten records; then it is started again and reads to the end.
Compared are the calls of the listeners, and all commits, as __consumer_offsets has them.

A clock must not decide: an ack time is an hour, or a millisecond, less than a first poll can take.
"""

import inspect
import re
import threading
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple, Self

import pytest

from engine import (
    AckMode,
    Acknowledgment,
    Consumer,
    ListenerContainer,
    PartitionOffset,
    TopicPartition,
)
from engine.client.values import Message
from engine.cluster.child import Child
from engine.cluster.kafka_process import OURS, command
from engine.coordinator.records import (
    GROUP_METADATA_TOPIC,
    OffsetKey,
    OffsetValue,
    decode_key,
    decode_value,
)
from tests.interop.watch import until
from tests.limits import JVM_S
from tests.real.jars import JARS, compiled
from tests.real.kafka import MixedCluster, quiet

LAYOUTS = [({1: OURS}, "2.8")]
SETTINGS = {
    "min.insync.replicas": "1",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
}
SOURCE = Path(__file__).with_name("SpringListeners.java")
HOUR = 3_600_000
ENDS = -1  # for the last record: no record is waited for, only the partitions
NEVER = 1000  # no record has this offset
Calls = list[tuple[int, int, int]]  # the consumer's number, the partition, the offset
Commits = list[tuple[int, int]]  # the partition, the offset


class Case(NamedTuple):
    """How a container is set up; and what its death must show, in DEATHS."""

    name: str
    mode: str
    committed: list[int] = []  # noqa: RUF012  when the process dies
    again: int = 0  # the first record after a new start
    ack_ms: int = HOUR
    count: int = 4
    start: str = "group"  # earliest, latest: it subscribes. An offset, which r makes relative
    how: str = "each"  # which records the listener acknowledges, where the mode is manual
    partitions: int = 1
    concurrency: int = 1

    @property
    def subscribes(self) -> bool:
        return self.start in ("earliest", "latest")


DEATHS = [
    Case("record", "RECORD", [1, 2, 3, 4, 5, 6], 6),
    Case("batch", "BATCH", [5], 5),
    Case("time-long", "TIME", [], 0),
    Case("time-short", "TIME", [5], 5, ack_ms=1),
    Case("count-small", "COUNT", [5], 5),
    Case("count-large", "COUNT", [], 0, count=6),
    Case("count-time", "COUNT_TIME", [5], 5),
    Case("count-time-long", "COUNT_TIME", [], 0, count=6),
    Case("count-time-short", "COUNT_TIME", [5], 5, ack_ms=1, count=6),
    Case("manual", "MANUAL", [5], 5),
    Case("manual-none", "MANUAL", [], 0, how="none"),
    Case("manual-back", "MANUAL", [], 0, how="back"),
    Case("manual-other", "MANUAL", [5], 5, how="other"),
    Case("immediate", "MANUAL_IMMEDIATE", [1, 2, 3, 4, 5, 6, 7], 7),
    Case("immediate-none", "MANUAL_IMMEDIATE", [], 0, how="none"),
    Case("immediate-back", "MANUAL_IMMEDIATE", [7, 6], 6, how="back"),
    Case("immediate-other", "MANUAL_IMMEDIATE", [1, 2, 3, 4, 5], 5, how="other"),
    Case("at-3", "RECORD", [4, 5, 6], 3, start="3"),
    Case("last-4", "RECORD", [], 6, start="-4"),
    Case("back-2", "RECORD", [1, 2, 3, 4, 5, 6], 4, start="-2r"),
    Case("on-1", "RECORD", [2, 3, 4, 5, 6], 7, start="1r"),
    Case("subscribed", "BATCH", [5], 5, start="earliest"),
    Case("latest", "BATCH", [10], 10, start="latest"),
    Case("record-fails", "RECORD", [1, 2, 3, 4, 5, 6], 6, how="fails"),
    Case("batch-fails", "BATCH", [5, 6], 6, how="fails"),
    Case("time-fails", "TIME", [6], 6, how="fails"),
    Case("count-fails", "COUNT", [5, 6], 6, how="fails", count=5),
    Case("count-time-fails", "COUNT_TIME", [6], 6, how="fails", count=7),
    Case("manual-fails", "MANUAL", [5, 7], 7, how="fails"),
    Case("immediate-fails", "MANUAL_IMMEDIATE", [1, 2, 3, 4, 5, 6, 7], 7, how="fails"),
]
SHARES = [
    Case("three", "BATCH", start="earliest", partitions=3, concurrency=3),
    Case("two", "BATCH", start="earliest", partitions=3, concurrency=2),
    Case("one-idle", "BATCH", start="earliest", partitions=3, concurrency=4),
    Case("bound-three", "BATCH", partitions=4, concurrency=3),
    Case("bound-six", "BATCH", partitions=4, concurrency=6),
]
SUBSCRIBED = [case for case in SHARES if case.start == "earliest"]
MOVES = [
    Case("kept", "TIME", start="earliest", partitions=2, how="cooperative"),
    Case("late", "MANUAL", start="earliest", partitions=2, how="late"),
]
TOPICS = {1: "bills", 3: "shared", 4: "bound", 2: "moved"}  # by their partitions


def last_of(case: Case, dies: bool) -> int:
    """The record at which it dies, or stops."""
    if case.partitions > 1:
        return NEVER if case in MOVES else 0
    if case.start == "latest":
        return ENDS if dies else 14
    return 6 if dies else 9


def topic_of(case: Case) -> str:
    return "late" if case.start == "latest" else TOPICS[case.partitions]


def settings(
    cluster: MixedCluster, group: str, case: Case, dies: bool = False
) -> dict[str, object]:
    """Of a consumer; as in SpringListeners.java."""
    return {
        "bootstrap.servers": cluster.bootstrap,
        "group.id": group,
        "client.id": group,
        "auto.offset.reset": case.start if case.subscribes else "earliest",
        "max.poll.records": 5,
        "session.timeout.ms": 6000 if dies else 30_000,  # the next member waits until it is over
        "partition.assignment.strategy": (
            "cooperative-sticky" if case.how == "cooperative" else "range"
        ),
    }


class Spring:
    """A run of SpringListeners.java."""

    def __init__(self, cluster: MixedCluster, cases: Sequence[Case], dies: bool, log: Path) -> None:
        self._exit = 137 if dies else 0
        self._stack = ExitStack()
        java, *main = command(
            "SpringListeners",
            cluster.bootstrap,
            "die" if dies else "stop",
            *(self._words(case, dies) for case in cases),
            folder=JARS,
            heap=128,
            classes=[compiled(SOURCE)],
        )
        flag = self._stack.enter_context(quiet())
        self._child = Child(["nice", "-n", "5", java, flag, *main], log)
        self._stack.callback(self._child.kill)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @staticmethod
    def _words(case: Case, dies: bool) -> str:
        what = [f"spring-{case.name}", topic_of(case), case.partitions, case.concurrency, case.mode]
        what += [case.ack_ms, case.count, case.start, last_of(case, dies), case.how]
        return " ".join(map(str, what))

    def end(self) -> dict[str, Calls]:
        """Wait until the process has died, or stopped. The calls of each group."""
        until(lambda: not self._child.alive, JVM_S)
        assert self._child.exit_code == self._exit, self._child.output()[-6000:]
        return self.calls()

    def runs(self) -> bool:
        assert self._child.alive, self._child.output()[-6000:]
        return True

    def calls(self) -> dict[str, Calls]:
        calls: dict[str, Calls] = defaultdict(list)
        for found in re.finditer(
            r"(spring-\S+) \S*-(\d+)-C-\d+ (\d+) (\d+)$", self._child.output(), re.M
        ):
            calls[found[1]].append((int(found[2]), int(found[3]), int(found[4])))
        return calls

    def defaults(self) -> str:
        """Of the settings that have some."""
        found = re.search(r"^defaults (.*)$", self._child.output(), re.M)
        assert found, self._child.output()[-6000:]
        return found[1]


class Poison(Exception):
    """Of a listener."""


class Ours:
    """A container of the engine, with a listener as that in SpringListeners.java."""

    def __init__(self, cluster: MixedCluster, case: Case, dies: bool) -> None:
        self.case, self._dies, self._last = case, dies, last_of(case, dies)
        self._left = case.partitions
        self._lock = threading.Lock()
        self._open: dict[tuple[int, int], Acknowledgment] = {}
        bound = [self._bound(partition) for partition in range(case.partitions)]
        self.container = ListenerContainer(
            settings(cluster, f"ours-{case.name}", case, dies),
            self._work,
            topics=topic_of(case) if case.subscribes else (),
            partitions=() if case.subscribes else bound,
            ack_mode=case.mode,
            ack_time=case.ack_ms / 1000,
            ack_count=case.count,
            concurrency=case.concurrency,
        ).start()

    def __repr__(self) -> str:
        return f"Ours({self.case})"

    def _bound(self, partition: int) -> PartitionOffset:
        topic, start = topic_of(self.case), self.case.start
        if not re.fullmatch(r"-?\d+r?", start):
            return PartitionOffset(topic, partition)
        return PartitionOffset(topic, partition, int(start.rstrip("r")), start.endswith("r"))

    def _work(self, record: Message, acknowledgment: Acknowledgment | None = None) -> None:
        if acknowledgment is not None:
            self._open[record.partition(), record.offset()] = acknowledgment
            self._acknowledge(acknowledgment, record.offset())
        if self.case.how == "fails" and record.offset() == 6:
            raise Poison
        if record.offset() == self._last:
            with self._lock:
                self._left -= 1
            if self._dies and not self._left:
                self.container.kill()

    def _acknowledge(self, each: Acknowledgment, offset: int) -> None:
        if self.case.how in ("each", "fails"):
            each.acknowledge()
        elif self.case.how == "other":
            thread = threading.Thread(target=each.acknowledge)
            thread.start()
            thread.join()
        elif self.case.how == "back" and offset == 6:
            each.acknowledge()
            if (0, 5) in self._open:
                self._open[0, 5].acknowledge()
        elif self.case.how == "late" and offset == 5:
            for one in self._open.values():
                one.acknowledge()

    def end(self) -> Calls:
        """Wait for the last record; stop, unless it has died there. The calls."""
        until(self._is_at_last, JVM_S)
        if self._dies and not self._has("failed"):
            self.container.kill()
        with suppress(Poison):
            self.container.stop()
        return self.calls()

    def calls(self) -> Calls:
        called = [it.data for it in [*self.container.events] if it.kind == "listener.called"]
        return [(it["consumer"], *_place(it["record"])) for it in called]

    def _is_at_last(self) -> bool:
        if self._last == ENDS:
            return self._has("assigned")
        return not self._left or self._has("failed")

    def _has(self, kind: str) -> bool:
        return any(event.kind == f"listener.{kind}" for event in list(self.container.events))


def _place(record: str) -> tuple[int, int]:
    """`bills-0@7`"""
    partition, _, offset = record.rpartition("-")[2].partition("@")
    return int(partition), int(offset)


def committed(cluster: MixedCluster) -> dict[str, Commits]:
    """All commits of each group, in order."""
    found: dict[str, Commits] = defaultdict(list)
    with cluster.consumer() as consumer:
        consumer.assign([TopicPartition(GROUP_METADATA_TOPIC, 0, 0)])
        _, end = consumer.get_watermark_offsets(TopicPartition(GROUP_METADATA_TOPIC, 0))
        record: Message | None = None
        while end and (record is None or record.offset() < end - 1):
            record = consumer.poll(JVM_S)
            assert record is not None and record.error() is None
            key = decode_key(record.key())
            if isinstance(key, OffsetKey) and record.value() is not None:
                value = decode_value(key, record.value())
                assert isinstance(value, OffsetValue)
                found[key.group].append((key.partition, value.offset))
    return dict(found)


class Found(NamedTuple):
    """What the containers of all groups did in one run."""

    defaults: str  # of Spring's settings
    calls: dict[str, Calls]
    commits: dict[str, Commits]


def run(cluster: MixedCluster, cases: Sequence[Case], dies: bool, log: Path) -> Found:
    before = committed(cluster)
    with ExitStack() as stack:
        spring = stack.enter_context(Spring(cluster, cases, dies, log))
        ours = _start(cluster, cases, dies, stack)
        if not dies:
            until(lambda: spring.runs() and is_shared(cluster), JVM_S)
            _write(cluster, "shared", 3, [0])
        calls = {f"ours-{each.case.name}": each.end() for each in ours} | spring.end()
        defaults = spring.defaults()
    commits = {
        group: all_of[len(before.get(group, [])) :] for group, all_of in committed(cluster).items()
    }
    return Found(defaults, calls, commits)


def _start(
    cluster: MixedCluster, cases: Sequence[Case], dies: bool, stack: ExitStack
) -> list[Ours]:
    started = []
    for case in cases:
        started.append(each := Ours(cluster, case, dies))
        stack.callback(each.container.kill)
    return started


def _write(cluster: MixedCluster, topic: str, partitions: int, values: Iterable[int]) -> None:
    values = list(map(str, values))
    for partition in range(partitions):
        cluster.write(topic, values, partition=partition)


def is_shared(cluster: MixedCluster) -> bool:
    """Whether all consumers that subscribe know their partitions."""
    groups = cluster.state().groups
    wanted = {f"{who}-{case.name}": case for case in SUBSCRIBED for who in ("spring", "ours")}
    return all(
        name in groups
        and groups[name].state == "Stable"
        and len(groups[name].members) == case.concurrency
        for name, case in wanted.items()
    )


@pytest.fixture(scope="module")
def runs(cluster: MixedCluster, tmp_path_factory: pytest.TempPathFactory) -> tuple[Found, Found]:
    """All cases die together, and are started again together."""
    for topic, partitions, records in (("bills", 1, 10), ("late", 1, 10), ("bound", 4, 1)):
        cluster.topic(topic, partitions=partitions)
        _write(cluster, topic, partitions, range(records))
    cluster.topic("shared", partitions=3)
    logs = tmp_path_factory.mktemp("spring")
    deaths = run(cluster, DEATHS, True, logs / "deaths.log")
    _write(cluster, "late", 1, range(10, 15))
    return deaths, run(cluster, [*DEATHS, *SHARES], False, logs / "starts.log")


@pytest.mark.parametrize("case", DEATHS, ids=lambda case: case.name)
def test_what_is_committed_and_comes_again_after_a_death(
    runs: tuple[Found, Found], case: Case
) -> None:
    found = {}
    for who in ("spring", "ours"):
        group = f"{who}-{case.name}"
        found[who] = [(run.calls.get(group, []), run.commits.get(group, [])) for run in runs]
    assert found["ours"] == found["spring"]
    (_, commits), (again, _) = found["spring"]
    assert [offset for _, offset in commits] == case.committed
    assert again[0] == (0, 0, case.again)


@pytest.mark.parametrize("case", SHARES, ids=lambda case: case.name)
def test_which_listener_has_which_partitions(runs: tuple[Found, Found], case: Case) -> None:
    shares = [
        {partition: number for number, partition, _ in runs[1].calls[f"{who}-{case.name}"]}
        for who in ("spring", "ours")
    ]
    assert shares[1] == shares[0]
    assert sorted(shares[0]) == [*range(case.partitions)]


def test_names_and_defaults(runs: tuple[Found, Found]) -> None:
    given = {
        name: parameter.default
        for name, parameter in inspect.signature(ListenerContainer).parameters.items()
    }
    ours = [given["ack_mode"].name, given["ack_time"] * 1000, given["ack_count"]]
    ours += [given["poll_timeout"] * 1000]
    modes = ", ".join(AckMode.__members__)
    assert runs[0].defaults == "{} {:.0f} {} {:.0f} [{}]".format(*ours, modes)


@pytest.fixture(scope="module")
def moved(
    cluster: MixedCluster, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[Commits]]:
    """The commits of each group when another member has one of two partitions, and at the end."""
    cluster.topic("moved", partitions=2)
    log = tmp_path_factory.mktemp("spring") / "moves.log"
    _write(cluster, "moved", 2, range(5))
    with ExitStack() as stack:
        spring = stack.enter_context(Spring(cluster, MOVES, False, log))
        ours = _start(cluster, MOVES, False, stack)

        def calls() -> dict[str, int]:
            spring.runs()
            found = {f"ours-{each.case.name}": each.calls() for each in ours} | spring.calls()
            return {group: len(found) for group, found in found.items()}

        groups = {f"{who}-{case.name}": case for case in MOVES for who in ("spring", "ours")}
        until(lambda: calls() == dict.fromkeys(groups, 10), JVM_S)
        for group, case in groups.items():
            more = {"client.id": f"{group}-1", "enable.auto.commit": False}
            member = stack.enter_context(cluster.consumer(settings(cluster, group, case) | more))
            member.subscribe(["moved"])
            until(partial(_has_partition, member), JVM_S)
        first = committed(cluster)
        _write(cluster, "moved", 2, [5])
        # The one that has committed nothing begins anew in the partition that is left to it.
        wanted = {group: 16 if case.how == "late" else 11 for group, case in groups.items()}
        until(lambda: calls() == wanted, JVM_S)
        until(lambda: {"spring-late", "ours-late"} <= committed(cluster).keys(), JVM_S)
        last = committed(cluster)
        return {group: [first.get(group, []), last[group]] for group in groups}


def _has_partition(member: Consumer) -> bool:
    member.poll(0.1)
    return len(member.assignment()) == 1


def test_all_that_is_ready_is_committed_when_a_partition_goes(
    moved: dict[str, list[Commits]],
) -> None:
    assert moved["ours-kept"] == moved["spring-kept"] == [[(0, 5), (1, 5)]] * 2


def test_an_acknowledgment_of_a_partition_that_went_counts_for_spring_alone(
    moved: dict[str, list[Commits]],
) -> None:
    """There the group goes back, if another consumer has committed more. Ours leaves it out."""
    assert moved["spring-late"] == [[], [(0, 6), (1, 5)]]
    assert moved["ours-late"] == [[], [(0, 6)]]
