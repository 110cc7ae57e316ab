"""Each view on the full screen, as on a projector: larger, whole, and with its keys."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from engine.cluster.recording import Recording
from proof.quorum.simulated_quorum import SimulatedQuorum
from tests.browser.conftest import SCREENSHOTS
from tests.browser.jupyter import ROOT
from tests.browser.picture_page import PicturePage
from tests.unit.widgets.cluster import Cluster
from widgets import (
    ClusterView,
    GroupView,
    HexView,
    MetadataLogView,
    Predict,
    QuorumView,
    ReplicaView,
    SegmentView,
    WireView,
    ZooKeeperTree,
)
from widgets.stage import SceneWidget

SCREEN = [1366, 768]
SIZE = "(it) => { const box = it.getBoundingClientRect(); return [box.width, box.height]; }"
LETTERS = "(it) => it.getScreenCTM().a"


def recording(name: str) -> Recording:
    return Recording.load(ROOT / "labs" / "recorded" / f"{name}.jsonl.gz")


def simulated() -> QuorumView:
    quorum = SimulatedQuorum(voters=3)
    quorum.run(2)
    return QuorumView(quorum)


VIEWS = {
    "ClusterView": lambda: ClusterView(recording("failover")),
    "ReplicaView": lambda: ReplicaView(recording("failover"), "orders", 0),
    "GroupView": lambda: GroupView(recording("storm"), "billing"),
    "WireView": lambda: WireView(recording("failover")),
    "ZooKeeperTree": lambda: ZooKeeperTree(recording("failover")),
    "MetadataLogView": lambda: MetadataLogView(recording("migration")),
    "QuorumView": lambda: QuorumView(recording("migration")),
    "QuorumView-simulated": simulated,
    "SegmentView": lambda: SegmentView(recording("failover"), "orders", 0),
    "HexView": lambda: HexView(recording("failover"), "orders", 0),
    "Predict": lambda: Predict("Is it lost?", {"Yes": "No.", "No": "It is not."}, hint="Look."),
}


@pytest.fixture
def screen(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(reduced_motion="reduce")
    page = context.new_page()
    page.set_viewport_size({"width": SCREEN[0], "height": SCREEN[1]})
    yield page
    context.close()


def shown(screen: Page, name: str) -> tuple[SceneWidget, PicturePage, Locator]:
    view: SceneWidget = VIEWS[name]()
    page = PicturePage(screen, view, 928)
    return view, page, screen.get_by_role("button", name="full screen")


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_fills_the_screen(screen: Page, name: str) -> None:
    view, page, button = shown(screen, name)
    scene = screen.locator(".lab-scene")
    before = scene.evaluate(LETTERS)
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)

    button.click()

    expect(button).to_have_attribute("aria-pressed", "true")
    wanted = round(screen.locator(".lab-frame").evaluate(SIZE)[0] / 1.5)
    screen.wait_for_function("(width) => laidOut === width", arg=wanted)
    assert screen.locator(".lab-stage").evaluate(SIZE) == SCREEN
    wide, high = scene.evaluate(SIZE)
    frame = screen.locator(".lab-frame").evaluate(SIZE)
    grown = scene.evaluate(LETTERS)
    assert wide <= frame[0]
    assert high <= frame[1] + 1 or grown == pytest.approx(1, abs=0.02)  # whole, or scrolled
    assert grown >= before - 0.02
    if name in ("ClusterView", "SegmentView", "Predict"):
        assert grown > 1.4
    assert wide > frame[0] - 40 or high > frame[1] - 2 or grown == pytest.approx(1, abs=0.02)
    for theme in ("light", "dark"):
        page.darken(theme == "dark")
        screen.screenshot(path=SCREENSHOTS / f"full_{name}_{theme}.png")
    view.close()


def test_on_the_full_screen_its_keys_work_and_the_notebook_hears_none(screen: Page) -> None:
    view, _, button = shown(screen, "ClusterView")
    screen.evaluate(
        "() => { window.keys = []; document.onkeydown = (it) => { keys.push(it.key); }; }"
    )
    button.focus()
    screen.keyboard.press("Enter")
    expect(button).to_have_attribute("aria-pressed", "true")
    first = view.scene

    screen.keyboard.press("d")  # twice it would delete the cell
    screen.get_by_role("button", name="back to the beginning").focus()
    screen.keyboard.press("Enter")

    screen.wait_for_function("(first) => model.get('scene') !== first", arg=first)
    assert screen.evaluate("() => keys") == ["Enter"]  # the one before
    button.click()
    expect(button).to_have_attribute("aria-pressed", "false")
    assert screen.evaluate("() => document.fullscreenElement") is None
    view.close()


def test_escape_closes_a_menu_and_then_leaves_the_full_screen(screen: Page) -> None:
    view = ClusterView(Cluster())
    PicturePage(screen, view, 928)
    button = screen.get_by_role("button", name="full screen")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    broker = screen.locator('[data-key="broker 2"]')
    broker.click()
    menu = screen.get_by_role("menu")
    expect(menu).to_be_visible()

    screen.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(broker).to_be_focused()
    expect(button).to_have_attribute("aria-pressed", "true")

    screen.keyboard.press("Escape")
    expect(button).to_have_attribute("aria-pressed", "false")
    assert screen.evaluate("() => document.fullscreenElement") is None

    broker.click()  # as it was before
    expect(menu).to_be_visible()
    screen.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(broker).to_be_focused()
    view.close()
