"""Every text can be read: in each view, at each width of the window.

    window      1366   1280   900   853 (1280 at 150 % zoom)   390 (a phone, on the site)
    picture      928    842   462   415                        356

A picture has these widths in JupyterLab with its file browser open. A view
is a row of the table VIEWS: how it is made, and what is done to it before each look. No text may be
smaller than 11 CSS pixels, cut off, out of its card, or on top of another one. Themes differ in
colours only: of each look a screenshot is kept of the widest picture, light, and of the narrowest,
dark.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from engine.cluster.recording import Recording
from engine.cluster.state import LinkState
from proof.quorum.simulated_quorum import SimulatedQuorum
from proof.storms.trace import Trace
from tests.browser.conftest import SCREENSHOTS
from tests.browser.jupyter import ROOT
from tests.browser.picture_page import FINDER, LEAST, PicturePage
from tests.browser.samples import SAMPLES
from tests.unit.widgets.cluster import START, Cluster, ensemble, partition, state, topic
from tests.unit.widgets.test_replica_past import transactions
from tests.unit.widgets.test_wire_words import copying
from tests.unit.widgets.test_znodes_history import story, znode
from tests.unit.widgets.test_znodes_view import Told
from widgets import (
    ClusterView,
    Ledger,
    MetadataLogView,
    OperatorBoard,
    QuorumView,
    ReplicaView,
    WireView,
    ZooKeeperTree,
)
from widgets.ledger.ledger import STRICT
from widgets.stage import SceneWidget

WIDTHS = {1366: 928, 1280: 842, 900: 462, 853: 415, 390: 356}
KEPT = {1366: "light", 390: "dark"}  # the widths of which a screenshot is kept, and its theme
Look = Callable[[Any], object]


def at(*shares: float) -> list[Look]:
    """Looks at these times of a run."""
    return [lambda view, share=share: view.do("seek", share) for share in shares]


def do(*acts: tuple[Any, ...]) -> Look:
    def look(view: SceneWidget) -> None:
        for act, *on in acts:
            view.do(act, *on)
        assert not view.trouble, view.trouble

    return look


RUN = at(0, 0.3, 0.5, 0.8, 1)


def run(name: str) -> Recording:
    return Recording.load(ROOT / "labs" / "recorded" / f"{name}.jsonl.gz")


def recorded(name: str) -> ClusterView:
    return ClusterView(run(name))


def live(**facts: Any) -> ClusterView:
    return ClusterView(Cluster(**facts))


def crowded() -> ClusterView:
    partitions = topic("orders", 6) | topic("a-topic-with-a-long-name", 3)
    return live(brokers=5, partitions=partitions)


def of_servers(count: int) -> ClusterView:
    cut = LinkState("zookeeper-1", "zookeeper-2", True), LinkState("1", "zookeeper-1", True)
    partitions = topic("orders", 6) | topic("payments", 3)
    servers = ensemble(count, brokers=5)
    return live(brokers=5, partitions=partitions, zookeepers=servers, links=cut)


def pausing(view: ClusterView) -> None:
    view.do("kill", "2")
    view.source.pass_time(1300)
    view.do("slow", "1-3")
    view.advance(1.0)


def quorum(voters: int, **facts: Any) -> QuorumView:
    """The leader dies, and the others vote; then one is cut off."""
    quorum = SimulatedQuorum(voters, seed=7, **facts)
    quorum.until(lambda: quorum.leader)
    quorum.append("a record")
    quorum.run(0.3)
    quorum.kill(quorum.leader or 0)
    quorum.until(lambda: quorum.leader)
    quorum.isolate(quorum.leader or 0)
    quorum.run(1)
    return QuorumView(quorum)


def replicas(name: str) -> ReplicaView:
    return ReplicaView(run(name), "orders", 0)


def lagging(view: ReplicaView) -> None:
    """A minute of a live run with large offsets, in which a follower falls behind, and one dies."""
    for second in range(0, 60, 3):
        view.source.pass_time(3000)
        end, isr = 1_234_567 + second, (1, 2, 3) if second < 30 else (1, 3)
        ends = (end, min(end, 1_234_590), end)
        view.source.set_partitions(orders_0=partition(1, ends=ends, committed=end, isr=isr))
        view.advance(second)
    view.source.kill(3)
    view.source.pass_time(900)
    view.advance(61)


def told(view: ZooKeeperTree) -> None:
    """At a change of which brokers were told."""
    view.do("step_to", next(it.number for it in view.history.steps if it.notified))


def crowded_tree() -> ZooKeeperTree:
    """Ten brokers, hundreds of topics, and data that has no spaces."""
    mirror = story()
    for number in range(3, 11):
        data = f'{{"host":"a-broker-with-a-long-name.example.org","port":{number}}}'
        mirror.found(f"/brokers/ids/{number}", znode(data, 40, owner=700 + number), START + 4300)
    for number in range(300):
        data = '{"partitions":{"0":[1,2,3]},"topic_id":"0HJQZ621RHy6za9QiN5DvA","version":3}'
        path = f"/brokers/topics/a-topic-with-a-very-long-name-{number}"
        mirror.found(path, znode(data), START + 4400)
    mirror.watched({999: {"/controller"}, 703: {"/controller"}}, START + 4500)
    source = Told(mirror, START + 9000)
    source.no_watches, source.closed = "This ZooKeeper refuses the word 'wchc'.", True
    return ZooKeeperTree(source)


def crowd(view: WireView) -> None:
    """Open what has most fields, and turn its page."""
    longest = max(view.messages.arrows, key=lambda it: len(it.exchange.answered))
    do(("api", ""), ("read", longest.key), ("turn", 14))(view)


def opened(way: str, kind: str) -> Look:
    def look(view: WireView) -> None:
        arrows = [it for it in view.messages.arrows if (it.way, it.kind) == (way, kind)]
        do(("shut",), ("api", kind), ("read", arrows[-1].key))(view)

    return look


VIEWS: dict[str, tuple[Callable[[], Any], list[Look]]] = {
    "ClusterView-live": (live, [do(), pausing]),
    "ClusterView-crowded": (crowded, [do(), pausing]),
    "ClusterView-ensemble": (lambda: of_servers(3), [do(), pausing]),
    "ClusterView-large-ensemble": (lambda: of_servers(7), [do()]),
    "ClusterView-failover": (lambda: recorded("failover"), RUN),
    "ClusterView-storm": (lambda: recorded("storm"), RUN),
    "ClusterView-trace": (lambda: ClusterView(Trace.of(2, 8.0)), RUN),
    **SAMPLES,
    "MetadataLogView-migration": (
        lambda: MetadataLogView(run("migration")),
        [*at(0.2, 0.5, 1), do(("fold",)), do(("only", "partitions"), ("choose", 30))],
    ),
    "QuorumView-migration": (lambda: QuorumView(run("migration")), at(0.3, 1)),
    "ZooKeeperTree-migration": (lambda: ZooKeeperTree(run("migration")), at(0.3, 0.6, 1)),
    "OperatorBoard-failover": (lambda: OperatorBoard(run("failover")), RUN),
    "OperatorBoard-live": (lambda: OperatorBoard(Cluster()), [do()]),
    "QuorumView-three": (lambda: quorum(3), [do(), do(*[("back",)] * 5), do(("seek", 0.4))]),
    "QuorumView-five": (lambda: quorum(5, observers=[9]), [do(), do(("seek", 0.6))]),
    "ReplicaView-failover": (lambda: replicas("failover"), RUN),
    "ReplicaView-storm": (lambda: replicas("storm"), [*RUN, do(("span", "10")), *at(0.4, 0.9)]),
    "ReplicaView-unclean": (lambda: replicas("unclean"), RUN),
    "ReplicaView-trace": (lambda: ReplicaView(Trace.of(2, 8.0), "orders", 0), RUN),
    "ReplicaView-transactions": (
        lambda: ReplicaView(transactions(), "orders", 0),
        at(0.2, 0.3, 0.6, 1),
    ),
    "ReplicaView-writers": (lambda: ReplicaView(Trace.of(3, 8.0), "copies", 0), at(0.6, 1)),
    "ReplicaView-live": (lambda: ReplicaView(Cluster(), "orders", 0), [do(), lagging]),
    "ZooKeeperTree-failover": (
        lambda: ZooKeeperTree(run("failover")),
        [
            *at(0, 0.5, 1),
            told,
            do(("live",), ("choose", "/brokers/topics/orders")),
            do(("choose", "/brokers/ids/2"), ("find", "orders")),
            do(("find", ""), ("expand", "/config"), ("choose", "/controller")),
        ],
    ),
    "ZooKeeperTree-crowded": (
        crowded_tree,
        [
            do(("expand", "/brokers/topics")),
            do(("who", "703"), ("find", "topic-with")),
            do(("find", ""), ("collapse", "/brokers/topics"), ("choose", "/brokers/ids/7")),
        ],
    ),
    "WireView-failover": (
        lambda: WireView(run("failover")),
        [*at(0.2, 0.7, 1), opened("response", "Metadata"), opened("request", "Produce"), crowd],
    ),
    "WireView-pair": (
        lambda: WireView(run("failover"), between=("shop", 2)),
        [*at(0.2, 1), opened("request", "Produce"), do(("shut",), ("api", "JoinGroup"))],
    ),
    "WireView-transaction": (
        lambda: WireView(Recording([state(), state(at=START + 100)], copying())),
        [do(), opened("request", "WriteTxnMarkers"), opened("response", "EndTxn")],
    ),
    "WireView-crowded": (lambda: WireView(run("storm")), at(0, 0.6, 1)),
    "WireView-trace": (
        lambda: WireView(Trace.of(7, 8.0)),
        [*at(0.3, 1), lambda view: view.do("read", view.messages.arrows[9].key)],
    ),
}


@pytest.fixture(scope="module")
def window(browser: Browser) -> Iterator[Callable[[], Page]]:
    context = browser.new_context(viewport={"width": 1000, "height": 1200}, reduced_motion="reduce")
    yield context.new_page
    context.close()


NOTEBOOK = """<style>
body { margin: 0; font: 14px/1.4 system-ui, sans-serif; color: INK; background: PAPER; }
table { font-size: 12px; border-collapse: collapse; border-spacing: 0; table-layout: fixed; }
th, td { text-align: right; vertical-align: middle; padding: .5em; }
</style><main class="lab-frame" style="width: WIDTHpx; overflow: auto">"""  # as JupyterLab has it
COLOURS = {"light": ("#fff", "#222"), "dark": ("#111", "#ddd")}


def test_every_verdict_can_be_read(
    window: Callable[[], Page], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(STRICT, raising=False)  # these cases decide nothing
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    ledger, page, found = Ledger("02_replication"), window(), list[str]()
    by_length = sorted(ledger.claims.values(), key=lambda it: -len(it.claim + it.why + it.later))
    cases = {"the HW moved after the last copy was stored": True, "__consumer_offsets-17": False}
    decided = ledger.decide(**{it.id: cases for it in by_length[:5]})
    cards = decided._repr_mimebundle_()["text/html"].replace("<details", "<details open")
    table = ledger.table()._repr_mimebundle_()["text/html"]
    for wide, width in WIDTHS.items():
        for theme, (paper, ink) in COLOURS.items():
            style = NOTEBOOK.replace("WIDTH", str(width)).replace("PAPER", paper)
            page.set_content(f"{style.replace('INK', ink)}{cards}{table}</main>")
            path = SCREENSHOTS / f"text_Verdicts_0_{wide}_{theme}.png"
            page.locator("main").screenshot(path=path)
        unreadable = page.evaluate(f"({FINDER})({LEAST})")  # themes differ in colours only
        found += [f"{wide}: {it}" for it in unreadable]
    page.close()
    assert found == [], "\n".join(found)


@pytest.mark.parametrize("name", VIEWS)
def test_every_text_can_be_read(
    window: Callable[[], Page], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SceneWidget, "told_last", SceneWidget.told_last)  # other tests have theirs
    make, looks = VIEWS[name]
    view, page = make(), window()
    found: list[str] = []
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    shown = PicturePage(page, view, WIDTHS[1366])
    for number, look in enumerate(looks):
        look(view)
        for wide, width in WIDTHS.items():
            shown.resize(width)
            shown.again()
            found += [f"{wide}, look {number}: {it}" for it in shown.unreadable()]
            if wide in KEPT:  # themes differ in colours only
                shown.darken(KEPT[wide] == "dark")
                path = SCREENSHOTS / f"text_{name}_{number}_{wide}_{KEPT[wide]}.png"
                page.locator("main").screenshot(path=path)
    view.close()
    page.close()
    assert found == [], "\n".join(found)
