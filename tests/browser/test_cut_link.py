"""A cut link on the page: red, with what follows from it and when, and later what happened."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from engine.cluster.state import FollowerState
from tests.browser.conftest import SCREENSHOTS
from tests.browser.picture_page import PicturePage
from tests.unit.widgets.cluster import START, Cluster, partition
from widgets import ClusterView
from widgets.stage import SceneWidget

WIDTHS = {1366: 928, 900: 462, 390: 356}
VERMILION = {"light": "rgb(213, 94, 0)", "dark": "rgb(255, 138, 76)"}


@pytest.fixture
def pages(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Page]]:
    monkeypatch.setattr(SceneWidget, "told_last", SceneWidget.told_last)
    context = browser.new_context(viewport={"width": 1000, "height": 900}, reduced_motion="reduce")
    yield context.new_page
    context.close()


def pass_time(view: ClusterView, milliseconds: int) -> None:
    view.source.pass_time(milliseconds)
    view.advance(view.source.now.at / 1000)


def lagging(view: ClusterView) -> None:
    """Broker 3 can't fetch from the leader, and misses two records."""
    cluster: Any = view.source
    state = partition(1, ends=(12, 12, 10), committed=10)
    followers = {2: FollowerState(12, -1), 3: FollowerState(10, START + 500)}
    cluster.set_partitions(orders_0=replace(state, followers=followers))


@pytest.mark.parametrize("width", WIDTHS)
def test_it_says_what_follows_from_a_cut_link(pages: Callable[[], Page], width: int) -> None:
    cluster: Any = Cluster(partitions={}, brokers=3)
    for number in (1, 2, 3):
        cluster.change(number, max_lag_ms=12_000, session_ms=6_000)
    cluster.set_partitions(orders_0=partition(1))
    view = ClusterView(cluster)
    shown = PicturePage(pages(), view, WIDTHS[width])
    page = shown.page
    pass_time(view, 1000)
    view.do("cut", "1-3")
    lagging(view)
    pass_time(view, 500)
    shown.again()

    link = page.locator('[data-key="link 1-3"]')
    words = "Broker 3 leaves the ISR of orders-0 in 11 s or a little later."
    expect(link).to_have_attribute(
        "aria-label", f"link between broker 1 and broker 3: cut. {words}"
    )
    cost = page.locator('[data-key="cost"]')
    expect(cost).to_have_attribute("aria-label", words)
    expect(cost).to_contain_text("What follows")
    for theme, colour in VERMILION.items():
        shown.darken(theme == "dark")
        for key, ink in (("way", "stroke"), ("words", "fill")):
            drawn = link.locator(f'[data-key="{key}"]')
            assert drawn.evaluate(f"it => getComputedStyle(it).{ink}") == colour
        assert shown.unreadable() == []
        name = f"cut_link_{width}_{theme}.png"
        page.locator("main").screenshot(path=SCREENSHOTS / name)

    pass_time(view, 12_000)
    cluster.note("isr.changed", 1, topic="orders", partition=0, was=[1, 2, 3], isr=[1, 2])
    cluster.set_partitions(orders_0=partition(1, ends=(12, 12, 10), committed=12, isr=(1, 2)))
    pass_time(view, 100)
    shown.again()
    words = "Broker 3 left the ISR of orders-0 12.5 s after the cut."
    expect(cost).to_have_attribute("aria-label", words)
    page.locator("main").screenshot(path=SCREENSHOTS / f"cut_link_later_{width}.png")

    view.do("heal", "1-3")
    view.do("cut", "2-zookeeper")
    pass_time(view, 1000)
    shown.again()
    session = page.locator('[data-key="session 2"]')
    words = "The session of broker 2 ends in at most 5 s."
    expect(session).to_have_attribute(
        "aria-label", f"session of broker 2 with ZooKeeper: cut. {words}"
    )
    assert shown.unreadable() == []
    page.locator("main").screenshot(path=SCREENSHOTS / f"cut_session_{width}.png")
    view.close()
