"""The simulated cluster of lab 00 in a browser tab, and the cells that the lab has there."""

import ast
import asyncio
import inspect
import time
from pathlib import Path
from typing import Any

import pytest

from engine.model import TopicPartition
from lite import contents, sources
from widgets import ClusterView, background
from widgets.playground import cluster_in_tab
from widgets.playground.cluster_in_tab import ClusterInTab

SESSIONS = {"zookeeper.session.timeout.ms": "4000", "broker.session.timeout.ms": "4000"}
MODES = ["zookeeper", "kraft"]


@pytest.fixture
def quick(monkeypatch):
    """As in a tab there are no threads, which a simulated cluster does not bear; and the clock on
    the wall, by which it goes, is a hundred times as fast."""
    monkeypatch.setattr(background, "IN_BROWSER", True)
    monkeypatch.setattr(cluster_in_tab, "monotonic", lambda: 100 * time.monotonic())
    monkeypatch.setattr(cluster_in_tab, "LOOK_S", 0.001)


def cells(lab: str, mode: str) -> dict[str, str]:
    """The code of the lab as a browser opens it, by cell."""
    book = contents.in_a_tab(sources.ROOT / "labs" / f"{lab}.ipynb")
    code = [it for it in book["cells"] if it["cell_type"] == "code"]
    return {it["id"]: "".join(it["source"]).replace('= "zookeeper"', f'= "{mode}"') for it in code}


async def run(source: str, names: dict[str, Any]) -> Any:
    """Run a cell as IPython does; returns the value of its last line."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    result = None
    for part, how in ((tree, "exec"), (last and ast.Expression(last.value), "eval")):
        if part is not None:
            code = compile(part, "cell", how, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            result = eval(code, names)
            result = await result if inspect.iscoroutine(result) else result
    return result


@pytest.mark.parametrize("mode", MODES)
def test_lab_00_in_a_tab_keeps_the_teas_and_loses_the_coffee(mode, quick, monkeypatch):
    """The cells of lab 00 run from top to bottom, and come out as they do on a computer."""
    monkeypatch.syspath_prepend(str(sources.ROOT / "labs"))

    async def whole_lab() -> dict[str, Any]:
        names: dict[str, Any] = {}
        shown = {id: await run(source, names) for id, source in cells("00_start", mode).items()}
        names["cluster"].stop()
        return shown

    shown = asyncio.run(whole_lab())
    assert shown["record"] == [0]
    assert 2 < shown["kill"] < 8
    assert shown["read"] == ["two teas"]
    assert list(shown["careless"]) == [(1, ["two teas"])]


@pytest.mark.parametrize("mode", MODES)
def test_a_broker_is_killed_by_a_click_and_started_again(mode, quick):
    """The picture's acts are those of a cluster of processes."""
    cluster = ClusterInTab(mode, SESSIONS)
    cluster.topic("orders")

    async def clicks() -> ClusterView:
        view, leader = ClusterView(cluster), cluster.leader("orders")
        view.do("kill", str(leader))
        await cluster.wait("a new leader", lambda: cluster.leader("orders") != leader)
        view.do("restart", str(leader))
        await cluster.mend()
        return view

    view = asyncio.run(clicks())
    assert view.trouble == ""
    assert sorted(cluster.world.isr(TopicPartition("orders", 0))) == [1, 2, 3]


def test_the_bytes_of_a_log_are_in_a_file(quick):
    """What is written later gets there with the next look at the cluster."""
    cluster = ClusterInTab(config=SESSIONS)
    cluster.topic("orders")
    cluster.write("orders", ["two teas"])
    leader = cluster.leader("orders")
    path = Path(cluster.directory(leader), "orders-0", f"{0:020d}.log")
    before = path.read_bytes()
    cluster.write("orders", ["one coffee"])
    cluster.state()
    assert b"two teas" in before
    assert path.read_bytes().startswith(before)
    assert b"one coffee" in path.read_bytes()
    cluster.stop()
    assert not path.exists()


def test_what_never_comes_is_told_by_its_name(quick):
    """A cell that waits ends with an error, and does not hang."""
    with pytest.raises(TimeoutError, match="a fourth broker: not within 2 seconds"):
        asyncio.run(ClusterInTab().wait("a fourth broker", lambda: False, seconds=2))


def test_a_mode_that_there_is_not_is_refused():
    """The error names the two modes that there are."""
    with pytest.raises(Exception, match="zookeeper or kraft, not 'raft'"):
        ClusterInTab("raft")
