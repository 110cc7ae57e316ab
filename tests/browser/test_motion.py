"""What belongs together moves together: a text stays in its box while both are on their way.

    moment 1    ┌ leader 3 ───┐                        moment 2    ┌ leader 3 ───┐
    between              ┌ leader 3 ───┐               never                ┌─ leader 3 ──┐

A picture is drawn twice on a page, once with its movements and once without. In each frame a text
is compared with the box around it: both lag behind their places by the same distance. The page is
as busy as JupyterLab is, so that a movement that waits for the page stays behind one that does not.
"""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.browser.jupyter import ROOT
from tests.browser.picture_page import PicturePage
from tests.browser.test_text import quorum, recorded, replicas, run
from widgets import GroupView, MetadataLogView, OperatorBoard, QuorumView, WireView, ZooKeeperTree
from widgets.stage import SceneWidget

SCRIPT = (ROOT / "tests" / "browser" / "motion.js").read_text(encoding="utf-8")
WIDTH = 928
LIVE_MS, REST_MS = 100, 700  # from one picture to the next: as a live run, or after a rest
PLAYED = [0.30 + 0.004 * step for step in range(12)]  # shares of a run
JUMPS = [0.2, 0.24, 0.5, 0.55, 0.8]

VIEWS: dict[str, Callable[[], Any]] = {
    "ClusterView": lambda: recorded("failover"),
    "GroupView": lambda: GroupView(run("storm"), group="billing"),
    "MetadataLogView": lambda: MetadataLogView(run("migration")),
    "OperatorBoard": lambda: OperatorBoard(run("failover")),
    "QuorumView": lambda: quorum(3),
    "QuorumView-cluster": lambda: QuorumView(run("migration")),
    "ReplicaView": lambda: replicas("failover"),
    "WireView": lambda: WireView(run("failover")),
    "ZooKeeperTree": lambda: ZooKeeperTree(run("failover")),
}


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize(("shares", "pause_ms"), [(PLAYED, LIVE_MS), (JUMPS, REST_MS)])
def test_a_text_stays_in_its_box_while_both_move(
    browser: Browser,
    name: str,
    shares: list[float],
    pause_ms: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A learner plays a run, or jumps in it; no text leaves its box in any frame."""
    monkeypatch.setattr(SceneWidget, "told_last", SceneWidget.told_last)  # other tests have theirs
    context = browser.new_context(viewport={"width": 1000, "height": 1600})
    page = context.new_page()
    view = VIEWS[name]()
    view.do("seek", shares[0])
    shown = PicturePage(page, view, WIDTH, moves=True)
    page.evaluate(SCRIPT)
    page.wait_for_timeout(REST_MS)
    page.evaluate("motion.watch()")
    for share in shares[1:]:
        view.do("seek", share)
        page.evaluate("(traits) => motion.tell(traits)", shown.traits())
        page.wait_for_timeout(pause_ms)
    page.evaluate("motion.goes = false")
    frames, found = page.evaluate("[motion.frames, motion.found]")
    view.close()
    context.close()
    assert frames > 5, "nobody looked"
    assert found == [], "\n".join(sorted(set(found))[:20])
