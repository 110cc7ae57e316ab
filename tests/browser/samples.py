"""Views with real content, for tests that look at them: what labs show, and what is hard to draw.

SAMPLES   name -> how the view is made, and what is done to it before each look
"""

import random
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from engine.cluster.recording import Recording
from engine.storage.batch import Codec
from engine.storage.log import Log
from labs.delivery import promises
from labs.storage import questions
from tests.browser.jupyter import ROOT
from tests.unit.storage.disk import NOW, batch, temporary_disk
from tests.unit.widgets import test_accumulator_view as accumulator
from tests.unit.widgets import test_group_view as groups
from tests.unit.widgets import test_log_transactions as transactions
from tests.unit.widgets import test_throttle_gauge as throttled
from tests.unit.widgets.cluster import START, topic
from tests.unit.widgets.test_group_history import joins, member, preparing, stable
from tests.unit.widgets.test_group_scene import group, story
from tests.unit.widgets.test_group_transactions import copying
from tests.unit.widgets.test_stream_history import reports
from tests.unit.widgets.test_stream_scene import furnished, wide_batches
from widgets import (
    AccumulatorView,
    Check,
    CrashDial,
    Estimate,
    GroupView,
    HexView,
    LatencyView,
    PageMap,
    PathOfAByte,
    Predict,
    RatioBars,
    SegmentView,
    StreamView,
    ThrottleGauge,
    Trial,
)
from widgets.exercise import agrees_with
from widgets.group.layout import DeedMark
from widgets.log import directory
from widgets.measure.page_map import PageMoment
from widgets.stage import SceneWidget

Look = Callable[[Any], object]
Sample = tuple[Callable[[], Any], list[Look]]


def at(*shares: float) -> list[Look]:
    """Looks at these times of a run."""
    return [lambda view, share=share: view.do("seek", share) for share in shares]


def do(*acts: tuple[Any, ...]) -> Look:
    def look(view: SceneWidget) -> None:
        for act, *on in acts:
            view.do(act, *on)
        assert not view.trouble, view.trouble

    return look


def recorded(name: str) -> Recording:
    return Recording.load(ROOT / "labs" / "recorded" / f"{name}.jsonl.gz")


# -- groups ------------------------------------------------------------------------------------


def new_group() -> GroupView:
    cluster = groups.Cluster(partitions={**topic("orders", 4), **topic("refunds", 1)})
    return GroupView(cluster, group="billing", topic="orders")


def two_consumers(view: GroupView) -> None:
    """One of them is killed, and the group has noticed it."""
    cluster: Any = view.source
    cluster.tell([*story(), member(9000, "c2", "expired"), preparing(9000, "c2 expired")])
    cluster.tell(stable(9100, 3, c1="0123"))
    told = {"g": group({"orders-0": 10, "orders-1": 4}, c1="0123")}
    cluster.now = replace(cluster.now, at=START + 12_000, groups=told)
    view.marks += [DeedMark(START + 3000, "c2", "kill"), DeedMark(START + 5000, "c1", "freeze")]
    view.marks += [DeedMark(START + 5400, "c1", "thaw")]
    view.poll()


def group_g() -> GroupView:
    cluster = groups.Cluster(partitions=topic("orders", 4))
    return GroupView(cluster, group="g", topic="orders")


def copied(view: GroupView) -> None:
    """Consumers that commit their offsets in transactions; one of their producers is fenced."""
    cluster: Any = view.source
    cluster.tell(copying())
    told = {"g": group({"orders-0": 10, "orders-1": 4}, c1="01", c2="23")}
    cluster.now = replace(cluster.now, at=START + 8000, groups=told)
    view.poll()


def all_left(view: GroupView) -> None:
    cluster: Any = view.source
    cluster.tell([*joins(0, "c1"), *stable(10, 1, c1="0123"), member(4000, "c1", "left")])
    cluster.tell([preparing(4000, "c1 left"), *stable(4000, 2)])
    cluster.now = replace(cluster.now, at=START + 300_000, groups={})
    view.poll()


# -- logs --------------------------------------------------------------------------------------


class OnDisk:
    """A view of files in a directory that ends with it."""

    def __init__(
        self,
        make: Callable[[Any], SceneWidget],
        fill: Callable[[Log], None] | None = None,
        **config: Any,
    ) -> None:
        self.make, self.fill, self.config = make, fill or mixed, config

    def __call__(self) -> SceneWidget:
        stack = ExitStack()
        disk = stack.enter_context(temporary_disk(**self.config))
        self.fill(disk.open())
        view = self.make(disk)
        close = view.close

        def closed() -> None:
            close()
            stack.close()

        view.close = closed  # type: ignore[method-assign]
        return view


def mixed(log: Log) -> None:
    """Batches of many sizes, some of them compressed."""
    chance = random.Random(5)
    for number in range(300):
        codec = chance.choice([Codec.NONE, Codec.NONE, Codec.LZ4])
        size = chance.randint(5, 60)
        log.append(batch(chance.randint(1, 4), size, at=NOW + number, codec=codec), 0, NOW)


def with_transactions(log: Log) -> None:
    mixed(log)
    transactions.write(log)


def newest_page(disk: Any) -> HexView:
    view = HexView(directory.look(disk.directory).segments[-1].path)
    view.do("last")
    return view


def segments(disk: Any) -> SegmentView:
    return SegmentView(disk.directory)


def hex_of(kind: str) -> Callable[[Any], HexView]:
    def make(disk: Any) -> HexView:
        return HexView(directory.look(disk.directory).segments[1].path.with_suffix(kind))

    return make


FILES = {"segment_bytes": 4000, "index_interval_bytes": 200, "segment_index_bytes": 960}


def searched(*acts: tuple[Any, ...]) -> Look:
    """A search, with all its steps."""

    def look(view: SegmentView) -> None:
        do(*acts)(view)
        assert view.lookup is not None
        while view.shown < len(view.lookup.steps):
            view.do("step")

    return look


def chosen(view: HexView) -> None:
    """The field whose text is the longest."""
    assert view.page is not None
    longest = max(view.page.fields, key=lambda it: len(it.value + it.about))
    view.do("choose", longest.start)


# -- streams and cards -------------------------------------------------------------------------


def stream() -> StreamView:
    return StreamView.replay(furnished(reports("windowed")), into="cups")


def join() -> StreamView:
    return StreamView.replay(reports("join"))


def much() -> StreamView:
    ended = {"ended": "ApiException: there is no topic ordres. See the list. " * 3, "failed": True}
    return StreamView.replay([*wide_batches(2), ended])


def answered(view: Predict) -> None:
    (question,) = view.questions
    answers = list(question.answers)
    view.do("hint")
    view.do("choose", f"1 {answers[0]}")
    view.outcome(answers[-1])


def asked() -> Predict:
    return max(
        (questions.folders(), questions.batches(), questions.compaction(), questions.pause()),
        key=lambda it: len(it.questions[0].answers),
    )


def number_asked() -> Estimate:
    return promises.how_many()


def number_answered(view: Estimate) -> None:
    view.do("hint")
    view.do("answer", 4000)


def number_known(view: Estimate) -> None:
    view.outcome(1020, 1604)


def check() -> Check:
    return Check(
        "Somebody else than broker 1 leads orders, and all three replicas are in sync",
        groups.Cluster(partitions=topic("orders", 1)),
        lambda state, events: "orders is led by broker 1",
        hint="A leader that goes is replaced. One that comes back follows, and is let in again.",
    )


def trial() -> Trial:
    trial = Trial(
        "A function of a list and an offset: the slot of the last entry that is not above it",
        agrees_with(lambda entries, offset: 7, [([0, 9, 20, 31], 30)]),
        hint="Look at the entry in the middle: the answer is there, or in one half of the rest.",
    )
    trial.run(lambda entries, offset: 0 / 0)
    return trial


# -- producers and readers ---------------------------------------------------------------------


def dial() -> CrashDial:
    found = {"read": (1, 0), "process": (0, 1), "commit": (0, 0)}
    dial = CrashDial(lambda after: dict(zip(("lost", "twice"), found[after], strict=True)))
    for step in dial.steps:
        dial.choose(step)
        dial.run()
    return dial


def gauge() -> ThrottleGauge:
    rows = [
        throttled.row("noisy", 1_234_567.0, 3200),
        throttled.row("a client with a long name", 0),
    ]
    asks = throttled.row("app", 42.0, user="alice", quota="request_percentage", limit=50.0)
    return ThrottleGauge(throttled.Cluster(b1=rows, b2=[throttled.row("noisy", 760_000.0), asks]))


# -- measurements ------------------------------------------------------------------------------

MACHINE = "Measured on 2 cores (Example CPU), 4 GB of memory, Linux 6.18 on x86_64, Python 3.12.3"


def ratios() -> RatioBars:
    found = {"one by one": [1.0], "groups of 1,000": [80.2, 96.0, 101.5], "TLS": [0.3, 0.42, 0.61]}
    found["a way with a name that is much too long for a chart"] = [1.1, 1.2, 1.9]
    return RatioBars("Records per second, beside one by one", found, on=MACHINE)


def copies() -> PathOfAByte:
    ways = {"read and send": (1, 1), "mmap and send": (0, 1), "sendfile": (0, 0)}
    ways["a broker, with TLS"] = (1, 1)
    return PathOfAByte({name: {"in": it[0], "out": it[1]} for name, it in ways.items()})


def latencies() -> LatencyView:
    view, chance = LatencyView("From send to receive"), random.Random(2)
    view.machine = MACHINE
    view.add("linger.ms=0, acks=1", *(chance.lognormvariate(0, 0.5) for _ in range(2000)))
    view.add("linger.ms=0, acks=1", 900.0, 1400.0)
    view.add("linger.ms=200, acks=all", *(chance.uniform(3, 207) for _ in range(1000)))
    view.end()
    return view


class PagesOfFile:
    """A view of a file that ends with it."""

    def __call__(self) -> PageMap:
        stack = ExitStack()
        path = Path(stack.enter_context(TemporaryDirectory())) / "00000000000000000000.log"
        path.write_bytes(b"x" * 3_000_000)
        view = PageMap(path)
        view.note("after the write")
        pages = len(view.moments[0].pages)
        some = bytes(page % 90 < 4 or 300 < page < 420 for page in range(pages))
        view.moments.append(PageMoment("some pages were read, here and there", some))
        view.moments.append(PageMoment("after the hint", bytes(pages)))
        view.draw()
        close = view.close

        def closed() -> None:
            close()
            stack.close()

        view.close = closed  # type: ignore[method-assign]
        return view


SAMPLES: dict[str, Sample] = {
    "AccumulatorView": (
        lambda: AccumulatorView.replay(accumulator.everything()),
        [*at(0, 0.3, 0.5, 0.8, 1), do(("choose", 3))],
    ),
    "AccumulatorView-crowded": (
        lambda: AccumulatorView.replay(accumulator.crowd()),
        [do(), do(("page", "3"), ("seek", 0.5))],
    ),
    "AccumulatorView-empty": (lambda: AccumulatorView(accumulator.Silent()), [do()]),
    "CrashDial": (dial, [do(), do(("choose", "read"))]),
    "ThrottleGauge": (gauge, [do()]),
    "ThrottleGauge-empty": (lambda: ThrottleGauge(throttled.Cluster()), [do()]),
    "GroupView-empty": (new_group, [do()]),
    "GroupView-live": (group_g, [two_consumers, do(("span", "0"))]),
    "GroupView-left": (group_g, [all_left]),
    "GroupView-transactions": (group_g, [copied, do(("span", "30"))]),
    "GroupView-storm": (lambda: GroupView(recorded("storm"), group="billing"), at(0, 0.4, 0.7, 1)),
    "SegmentView-log": (
        OnDisk(segments, **FILES),
        [do(), searched(("ask_offset", 417)), do(("back",)), searched(("ask_time", str(NOW + 99)))],
    ),
    "SegmentView-transactions": (OnDisk(segments, with_transactions, **FILES), [do()]),
    "HexView-transactions": (
        OnDisk(newest_page, transactions.write, **FILES),
        [do(("first",)), do(("following",)), chosen],
    ),
    "HexView-txnindex": (
        OnDisk(
            lambda disk: HexView(next(disk.directory.glob("*.txnindex"))),
            transactions.write,
            **FILES,
        ),
        [do(), chosen],
    ),
    "SegmentView-recorded": (
        lambda: SegmentView(recorded("unclean"), "orders", 0, broker=1),
        [do(), searched(("ask_offset", 3)), do(("moment", 1))],
    ),
    "HexView-log": (OnDisk(hex_of(".log"), **FILES), [do(), chosen, do(("offset", 100))]),
    "HexView-index": (OnDisk(hex_of(".index"), **FILES), [do(), chosen]),
    "HexView-timeindex": (OnDisk(hex_of(".timeindex"), **FILES), [do(), chosen]),
    "StreamView-windowed": (stream, at(0, 0.3, 0.6, 1)),
    "StreamView-join": (join, at(0, 1)),
    "StreamView-much": (much, [do(), do(("begin",))]),
    "LatencyView": (latencies, [do()]),
    "LatencyView-empty": (lambda: LatencyView("From send to receive"), [do()]),
    "PageMap": (PagesOfFile(), [do(("look",))]),
    "PathOfAByte": (copies, [do()]),
    "RatioBars": (ratios, [do()]),
    "Estimate": (number_asked, [do(), number_answered, number_known]),
    "Predict": (asked, [do(), answered]),
    "Trial": (trial, [do(), do(("hint",))]),
    "Check": (check, [do(), do(("hint",))]),
}
