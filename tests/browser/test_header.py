"""The buttons above a picture: on a narrow page they stand together on lines of their own."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.picture_page import PicturePage
from tests.unit.widgets.cluster import Cluster
from widgets import ClusterView, ReplicaView
from widgets.stage import SceneWidget

VIEWS: dict[str, Callable[[], Any]] = {
    "ClusterView": lambda: ClusterView(Cluster()),
    "ReplicaView": lambda: ReplicaView(Cluster(), "orders", 0),
}
LINES = """() => [...document.querySelectorAll('.lab-time .lab-button, .lab-top > .lab-full')]
    .map((it) => Math.round(it.getBoundingClientRect().top))"""


@pytest.fixture
def page(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    monkeypatch.setattr(SceneWidget, "told_last", SceneWidget.told_last)
    context = browser.new_context(viewport={"width": 1000, "height": 900}, reduced_motion="reduce")
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("name", VIEWS)
def test_the_buttons_of_the_timeline_are_on_one_line(page: Page, name: str) -> None:
    view = VIEWS[name]()
    shown = PicturePage(page, view, 928)
    for width in (928, 462, 415, 356):
        shown.resize(width)
        *buttons, full = page.evaluate(LINES)
        assert len(buttons) == 6
        assert len(set(buttons)) == 1, f"{width}: {buttons}"
        assert full <= buttons[0], f"{width}: the full screen's button is below, alone"
    view.close()


def test_back_and_slow_have_words_where_there_is_room(page: Page) -> None:
    view = ClusterView(Cluster())
    shown = PicturePage(page, view, 928)
    for act in ("a step back", "slow motion"):
        word = page.get_by_role("button", name=act, exact=True).locator(".lab-word")
        assert word.inner_text().strip() in ("back", "slow")
        assert word.is_visible()
    shown.resize(356)
    assert not page.locator(".lab-word").first.is_visible()
    view.close()


@pytest.mark.parametrize("width", [332, 300])
def test_beside_the_file_browser_of_a_narrow_page_nothing_is_cut_off(
    page: Page, width: int
) -> None:
    view = ClusterView(Cluster())
    shown = PicturePage(page, view, width)
    assert shown.unreadable() == []
    view.close()
