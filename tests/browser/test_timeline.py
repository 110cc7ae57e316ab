"""The timeline after quiet minutes: a failover is wide enough to be dragged to, and each moment is
shown as what it was."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.conftest import SCREENSHOTS
from tests.browser.picture_page import PicturePage
from tests.unit.widgets.cluster import Cluster, partition
from widgets import ClusterView, ReplicaView
from widgets.playback import NOT_WATCHED, Playback
from widgets.stage import SceneWidget

WIDTHS = {1366: 928, 900: 462, 390: 356}
QUIET = 8 * 60  # seconds
OUTAGE = 3000  # ms
EDGE = 9  # px
LEAST = 12  # px of an outage on a phone


def led(by: int, epoch: int) -> dict[str, Any]:
    return {"topic": "orders", "partition": 0, "leader": by, "leader_epoch": epoch}


def quiet_then_a_failover(view: Playback) -> int:
    """When the leader was killed. After the failover the computer sleeps for an hour."""
    cluster: Any = view.source
    cluster.note("replica.role", 1, role="leader", **led(1, 0))
    for _ in range(QUIET // 4):
        pass_time(view, 4000)
    killed = cluster.now.at
    cluster.kill(1)
    cluster.set_partitions(orders_0=partition(1, ends=(12, 10, 10), committed=10))
    pass_time(view, 0)
    for _ in range(6):
        pass_time(view, OUTAGE // 6)
    cluster.note("broker.down", 2, broker=1)
    cluster.note("leader.elected", 2, clean=True, reason="gone", isr=[2, 3], **led(2, 1))
    cluster.note("replica.role", 2, role="leader", **led(2, 1))
    cluster.set_partitions(orders_0=partition(2, ends=(12, 10, 10), isr=(2, 3), epoch=1))
    pass_time(view, 2000)
    pass_time(view, 3_600_000)
    for _ in range(8):
        pass_time(view, 1000)
    return int(killed)


def pass_time(view: Playback, milliseconds: int) -> None:
    view.source.pass_time(milliseconds)
    view.advance(view.source.now.at / 1000)


@pytest.fixture
def pages(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Page]]:
    monkeypatch.setattr(SceneWidget, "told_last", SceneWidget.told_last)
    context = browser.new_context(viewport={"width": 1000, "height": 900}, reduced_motion="reduce")
    yield context.new_page
    context.close()


def strip(page: Page) -> dict[str, float]:
    return dict(page.locator('[data-key="timeline"]').bounding_box() or {})


def drag(shown: PicturePage, x: float) -> None:
    """The head to a place in the picture, in px."""
    page, box = shown.page, strip(shown.page)
    head = page.locator('[data-key="head"]').bounding_box()
    assert head
    y = box["y"] + box["height"] / 2
    page.mouse.move(head["x"] + head["width"] / 2, y)
    page.mouse.down()
    page.mouse.move(x, y, steps=4)
    page.mouse.up()
    shown.again()


@pytest.mark.parametrize("width", WIDTHS)
def test_after_quiet_minutes_a_failover_can_be_dragged_to(
    pages: Callable[[], Page], width: int
) -> None:
    view = ClusterView(Cluster())
    killed = quiet_then_a_failover(view)
    shown = PicturePage(pages(), view, WIDTHS[width])
    outage = shown.page.locator('[data-key="outage 0"]').bounding_box()
    assert outage
    assert outage["width"] >= LEAST
    for theme in ("light", "dark"):
        shown.darken(theme == "dark")
        name = f"timeline_quiet_{width}_{theme}.png"
        shown.page.locator("main").screenshot(path=SCREENSHOTS / name)

    drag(shown, outage["x"] + outage["width"] / 2)

    assert view.head is not None
    assert killed < view.head < killed + OUTAGE
    label = shown.page.locator('[data-key="broker 1"]').get_attribute("aria-label")
    assert label == "broker 1: killed, leads 1, controller"
    shown.page.locator("main").screenshot(path=SCREENSHOTS / f"timeline_dragged_{width}.png")

    drag(shown, outage["x"] - 3)  # just before: the time near an event is to scale

    assert killed - 4000 < view.head < killed
    label = shown.page.locator('[data-key="broker 1"]').get_attribute("aria-label")
    assert label == "broker 1: up, leads 1, controller"
    view.close()


def test_the_whole_timeline_is_dragged_through_and_each_moment_is_that_of_the_run(
    pages: Callable[[], Page],
) -> None:
    view = ClusterView(Cluster())
    quiet_then_a_failover(view)
    shown = PicturePage(pages(), view, WIDTHS[900])
    box, heads, missed = strip(shown.page), [], []
    for place in range(0, 101, 4):
        x = box["x"] + box["width"] * place / 100
        drag(shown, x)
        at = view.run_source.end if view.head is None else view.head
        heads.append(at)
        state = view.run_source.at(at)
        for number in state.brokers:
            label = shown.page.locator(f'[data-key="broker {number}"]').get_attribute("aria-label")
            status = "up" if state.brokers[number].answers else "killed"
            assert (label or "").startswith(f"broker {number}: {status}")
        hatched = shown.page.locator('[data-key="gap 0"]').bounding_box()
        assert hatched
        if abs(x - hatched["x"]) < EDGE or abs(x - hatched["x"] - hatched["width"]) < EDGE:
            continue  # on the edge: the box counts the width of the stroke
        if hatched["x"] < x < hatched["x"] + hatched["width"]:
            missed.append(place)
            assert view.about == NOT_WATCHED
        else:
            assert view.about != NOT_WATCHED
    assert heads == sorted(heads)
    assert missed
    words = shown.page.locator('[data-key^="fold "]').evaluate_all(
        "all => all.map((it) => it.getAttribute('aria-label'))"
    )
    assert [it.partition(" without")[0] for it in words] == ["7 min 52 s", "59 min 52 s"]
    view.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_the_offsets_above_stand_over_the_same_time(pages: Callable[[], Page], width: int) -> None:
    """ReplicaView with all of its time."""
    view = ReplicaView(Cluster(), "orders", 0)
    view.do("span", "0")
    killed = quiet_then_a_failover(view)
    shown = PicturePage(pages(), view, WIDTHS[width])
    for theme in ("light", "dark"):
        shown.darken(theme == "dark")
        name = f"timeline_replicas_{width}_{theme}.png"
        shown.page.locator("main").screenshot(path=SCREENSHOTS / name)
    assert shown.unreadable() == []
    page = shown.page
    above = page.locator('[data-key^="outage 1"]').bounding_box()
    below = page.locator('[data-key="outage 0"]').bounding_box()
    assert above and below
    assert abs(above["x"] - below["x"]) < 1
    assert abs(above["width"] - below["width"]) < 1
    x = above["x"] + above["width"] / 2
    drag(shown, x)
    assert view.head is not None
    assert killed <= view.head <= killed + OUTAGE
    view.close()
