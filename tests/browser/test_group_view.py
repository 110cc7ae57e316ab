"""A learner disturbs a group on the page: adds, kills and freezes consumers, and sees who reads."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import SCREENSHOTS
from tests.browser.jupyter import Notebook, darken

SETUP = """from engine import Cluster
from widgets import GroupView
cluster = Cluster(brokers=1).start()
cluster.admin.create_topic("orders", partitions=6, replication=1)
cluster.admin.create_topic("refunds", partitions=2, replication=1)
producer = cluster.producer()
def send(count):
    for number in range(count):
        producer.produce("orders", b"pizza", key=b"order-%d" % number)
    producer.flush()
send(600)
print("ready")"""


class View:
    """A GroupView on a page."""

    def __init__(self, page: Page, notebook: Notebook) -> None:
        self.page, self.notebook = page, notebook
        self.stage = page.locator(".lab-stage").first
        expect(self.stage.locator("svg.lab-scene")).to_be_visible()

    def consumer(self, name: str) -> Locator:
        return self.stage.locator(f'[data-key="consumer {name}"]')

    def press(self, label: str) -> None:
        self.stage.get_by_role("button", name=label, exact=True).click()

    def choose(self, label: str, option: str) -> None:
        words = self.page.get_by_text(label, exact=True)
        self.stage.locator(".lab-field", has=words).locator("select").select_option(option)

    def has(self, name: str, count: int) -> None:
        """It has come to own so many partitions."""
        shares = re.compile(f"{name}: reading, has orders-\\d(, orders-\\d){{{count - 1}}}$")
        expect(self.consumer(name)).to_have_attribute("aria-label", shares)

    def two_consumers(self) -> None:
        self.press("add a consumer")
        self.has("c1", 6)
        self.press("add a consumer")
        self.has("c2", 3)
        self.has("c1", 3)

    def photograph(self, name: str) -> None:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.stage.screenshot(path=SCREENSHOTS / f"group_view_{name}.png")


@pytest.fixture
def view(page: Page, notebook: Notebook) -> Iterator[View]:
    expect(notebook.run(SETUP)).to_contain_text("ready")
    notebook.run('view = GroupView(cluster, group="billing", topic="orders")\nview')
    yield View(page, notebook)
    closing = notebook.run("view.close(); cluster.stop(); print('stopped')")
    expect(closing).to_contain_text("stopped")


def test_a_consumer_is_killed_with_the_mouse_and_the_other_takes_over(view: View) -> None:
    expect(view.stage).to_contain_text("Nobody reads yet. Add a consumer.")
    view.two_consumers()
    expect(view.stage).to_contain_text("3 moved")
    view.photograph("two")

    view.consumer("c2").locator("text.head").click()
    view.stage.get_by_role("menuitem", name="kill (SIGKILL)").click()

    expect(view.stage).to_contain_text("killed, not missed yet")
    view.notebook.run("send(300)")
    expect(view.stage.locator('[data-key^="unread orders-"]')).to_have_count(3)
    view.photograph("killed")
    view.has("c1", 6)
    expect(view.stage).to_contain_text("What c2 had was read by nobody for")
    expect(view.stage).to_contain_text("lag 0")
    view.photograph("taken_over")


def test_everything_can_be_done_by_keyboard_and_in_the_dark(view: View) -> None:
    view.two_consumers()
    keyboard = view.page.keyboard
    view.consumer("c1").focus()
    keyboard.press("ArrowDown")
    expect(view.consumer("c2")).to_be_focused()

    keyboard.press("Enter")
    keyboard.press("ArrowDown")
    keyboard.press("Enter")  # the second in the menu

    expect(view.consumer("c2")).to_have_attribute("aria-label", re.compile("c2: frozen"))
    keyboard.press("Enter")
    keyboard.press("Enter")
    view.has("c2", 3)

    darken(view.page)
    view.choose("by", "cooperative-sticky")
    view.press("add a consumer")
    view.has("c3", 2)
    view.press("one more partition for orders")
    expect(view.stage).to_contain_text(re.compile("of 7 partitions move"))
    view.choose("read also", "refunds")
    expect(view.stage).to_contain_text(re.compile("of 9 partitions move"))
    view.photograph("dark")

    tall = "from IPython.display import HTML; HTML('<div style=\"height:6000px\">far</div>')"
    view.notebook.run(tall)
    view.notebook.run("print('the end')").scroll_into_view_if_needed()
    view.notebook.panel.locator(".jp-CodeCell").first.scroll_into_view_if_needed()
    expect(view.consumer("c3")).to_be_visible()
