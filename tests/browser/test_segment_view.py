"""A learner looks into a log on the page: segments, a search step by step, and the very bytes."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import SCREENSHOTS
from tests.browser.jupyter import Notebook, darken

SETUP = """from engine import Cluster
from widgets import SegmentView
cluster = Cluster(brokers=1, config={"log.retention.check.interval.ms": "500"}).start()
small = {"segment.bytes": "30000", "index.interval.bytes": "600", "file.delete.delay.ms": "60000"}
cluster.admin.create_topic("orders", partitions=1, replication=1, config=small)
producer = cluster.producer({"linger.ms": "0", "batch.size": "700"})
def send(count):
    for number in range(count):
        producer.produce("orders", b"pizza " * 8, key=b"order-%d" % number)
    producer.flush()
send(2500)
print("ready")"""
ASKED = 1800


class View:
    """A SegmentView on a page, and the HexView that comes with it."""

    def __init__(self, page: Page, notebook: Notebook) -> None:
        self.page, self.notebook = page, notebook
        self.log = page.locator(".lab-stage").first
        self.bytes = page.locator(".lab-stage").nth(1)
        expect(self.log.locator("svg.lab-scene")).to_be_visible()

    def ask(self, label: str, value: str) -> None:
        field = self.log.get_by_label(label, exact=True)
        field.fill(value)
        field.press("Enter")

    def press(self, label: str) -> None:
        self.log.get_by_role("button", name=label, exact=True).click()

    def finish(self) -> None:
        """Step to the end of the search."""
        step = self.log.get_by_role("button", name="one probe on", exact=True)
        self.press("play the search")  # it plays by itself: hold it
        while step.is_enabled():
            before = self.log.locator(".lab-live").inner_text()
            step.click()
            expect(self.log.locator(".lab-live")).not_to_have_text(before)

    def field(self, name: str) -> Locator:
        """The first band on the page of a field with that name."""
        return self.bytes.locator(f'.band[aria-label^="{name}: "]').first

    def photograph(self, name: str, what: Locator) -> None:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        what.screenshot(path=SCREENSHOTS / f"segment_view_{name}.png")


@pytest.fixture
def view(page: Page, notebook: Notebook) -> Iterator[View]:
    expect(notebook.run(SETUP)).to_contain_text("ready")
    notebook.run('view = SegmentView(cluster, "orders", 0)\nview')
    yield View(page, notebook)
    notebook.run("view.close(); cluster.stop(); print('stopped')")


def test_an_offset_is_watched_and_followed_into_the_bytes(view: View) -> None:
    expect(view.log).to_contain_text("offsets 0 to 2,500")
    expect(view.bytes).to_be_hidden()
    view.photograph("log", view.log)

    view.ask("offset", str(ASKED))

    expect(view.log).to_contain_text("Which segment?")
    expect(view.log).to_contain_text(re.compile(r"Step [23] of"))  # it plays
    view.finish()
    expect(view.log).to_contain_text(f"Offset {ASKED:,} is in the batch at byte")
    expect(view.log).to_contain_text("probes into")
    view.photograph("found", view.log)

    view.press("open the batch that was found in hex")

    expect(view.bytes).to_be_visible()
    expect(view.bytes).to_contain_text(f"offset {ASKED:,} · bytes")
    base_offset = view.field("base offset")
    base_offset.hover(position={"x": 10, "y": 8})
    expect(view.bytes.locator(".lab-tip")).to_contain_text("The leader fills it in")
    expect(base_offset).to_have_class(re.compile("lit"))
    view.photograph("bytes", view.bytes)
    base_offset.click(position={"x": 10, "y": 8})
    change = view.bytes.get_by_label(re.compile("change byte"))
    change.fill("77")
    change.press("Enter")
    expect(view.bytes.get_by_role("alert")).to_contain_text("Nothing was written")


def test_a_log_that_lives_and_dies_by_keyboard_and_in_the_dark(view: View) -> None:
    segments = view.log.locator(".segment")
    before = segments.count()
    view.notebook.run("send(1000)")
    expect(view.log).to_contain_text("offsets 0 to 3,500")
    assert segments.count() > before

    view.notebook.run("cluster.kill(1)")
    segments.first.focus()
    segments.first.press("ArrowRight")
    expect(segments.nth(1)).to_be_focused()
    segments.nth(1).press("Enter")
    expect(view.bytes).to_contain_text("right ✓")
    field = view.field("base offset")
    field.focus()
    expect(view.bytes.locator(".lab-tip")).to_have_class(re.compile("shown"))
    field.press("ArrowRight")
    expect(view.field("length")).to_be_focused()
    view.field("length").press("Enter")
    expect(view.bytes).to_contain_text("a reader hops from batch to batch")

    darken(view.page)
    view.ask("time", "2020-01-01")
    view.finish()
    expect(view.log).to_contain_text("The first record that is not older has offset 0")
    view.photograph("time_dark", view.log)
    view.photograph("bytes_dark", view.bytes)

    tall = "from IPython.display import HTML; HTML('<div style=\"height:6000px\">far</div>')"
    view.notebook.run(tall)
    view.notebook.run("print('the end')").scroll_into_view_if_needed()
    view.notebook.panel.locator(".jp-CodeCell").first.scroll_into_view_if_needed()
    expect(view.log).to_contain_text("The first record that is not older has offset 0")


COPIES = """
till = cluster.producer({"transactional.id": "till-1"})
till.init_transactions()
for end in (till.commit_transaction, till.abort_transaction):
    till.begin_transaction()
    till.produce("orders", "tea", partition=0)
    till.flush()
    end()
print("copied")
"""


def test_an_aborted_batch_is_seen_and_its_marker_opened(view: View) -> None:
    expect(view.notebook.run(COPIES)).to_contain_text("copied")
    view.log.scroll_into_view_if_needed()
    expect(view.log).to_contain_text("1 skipped")
    marker = view.log.locator('[data-key="batch 2503"]')
    expect(marker).to_contain_text("ABORT")
    view.photograph("transactions", view.log)

    marker.press("Enter")

    expect(view.bytes).to_be_visible()
    expect(view.bytes).to_contain_text("ABORT marker of producer")
    expect(view.bytes.locator(".band.aborted").first).to_be_visible()
    expect(view.field("type")).to_have_attribute("aria-label", re.compile("0 → ABORT"))
    view.photograph("marker", view.bytes)
