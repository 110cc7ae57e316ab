"""A learner listens in on the page: to a producer, to a member of a group, down to the bytes."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import SCREENSHOTS
from tests.browser.jupyter import Notebook, darken

SETUP = """from engine import Cluster
from widgets import WireView
cluster = Cluster(brokers=2, config={"offsets.topic.num.partitions": "1"}).start()
cluster.admin.create_topic("orders", partitions=1, replication=2)
leader = cluster.admin.list_topics().topics["orders"].partitions[0].leader
producer = cluster.producer({"client.id": "producer-1", "linger.ms": "20", "acks": "all"})
kitchen = cluster.consumer({"client.id": "kitchen-1", "group.id": "kitchen",
    "auto.offset.reset": "earliest", "heartbeat.interval.ms": "300"})
def send(*words):
    for word in words:
        producer.produce("orders", word, key=b"table 4")
    producer.flush()
print("ready")"""
EAT = """kitchen.subscribe(["orders"])
eaten = [kitchen.poll(20).value() for _ in range(3)]
kitchen.commit(asynchronous=False)
kitchen.poll(1.5)
print("ate", len(eaten))"""


class View:
    """A WireView on a page."""

    def __init__(self, page: Page, notebook: Notebook) -> None:
        self.page, self.notebook = page, notebook
        page.set_viewport_size({"width": 1280, "height": 1050})  # a whole view at once
        self.stage = page.locator(".lab-stage").first

    def show(self, between: str = "") -> None:
        self.notebook.run(f"view = WireView(cluster{between})\nview")
        expect(self.stage.locator("svg.lab-scene")).to_be_visible()
        expect(self.stage).to_contain_text("the trace costs the brokers a little")

    def arrow(self, words: str) -> Locator:
        """The last one that is told so."""
        return self.stage.get_by_role("button", name=re.compile(words)).last

    def press(self, label: str) -> None:
        self.stage.get_by_role("button", name=label, exact=True).click()

    def only(self, api: str) -> None:
        self.stage.locator(".lab-field select").select_option(api)

    def line(self, name: str) -> Locator:
        """A field's line in the tree."""
        return self.stage.locator(f'rect[aria-label^="{name}: "]').first

    def band(self, name: str) -> Locator:
        return self.stage.locator(f'.band[aria-label^="{name}: "]').first

    def photograph(self, name: str) -> None:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.page.mouse.move(0, 0)
        self.stage.screenshot(path=SCREENSHOTS / f"wire_view_{name}.png", animations="disabled")


@pytest.fixture
def view(page: Page, notebook: Notebook) -> Iterator[View]:
    expect(notebook.run(SETUP)).to_contain_text("ready")
    yield View(page, notebook)
    expect(notebook.run("view.close(); cluster.stop(); print('stopped')")).to_contain_text(
        "stopped"
    )


def test_a_producer_is_heard_and_its_request_opened_to_fields_and_bytes(view: View) -> None:
    view.show(', between=("producer-1", leader)')
    view.notebook.run('send("two teas", "one cake", "a lemonade")')

    produce = view.arrow(r"producer-1 asks broker \d: Produce v9 · orders-0 · 3 records")
    expect(produce).to_be_visible()
    expect(
        view.arrow(r"broker \d answers producer-1: Produce v9 · orders-0 offset 0")
    ).to_be_visible()
    view.photograph("producer")

    produce.click()

    expect(view.stage).to_contain_text("Produce v9, the request")
    expect(view.line("client_id")).to_have_attribute("aria-label", re.compile("“producer-1”"))
    view.line("acks").hover()
    expect(view.stage.locator(".lab-tip")).to_contain_text("acks: -1 (int16, bytes 26 to 27)")
    expect(view.line("acks")).to_have_class(re.compile("lit"))
    expect(view.band("acks")).to_have_class(re.compile("lit"))
    view.band("crc").hover()
    expect(view.line("crc")).to_have_class(re.compile("lit"))
    expect(view.line("crc")).to_have_attribute("aria-label", re.compile("right ✓"))
    view.photograph("produce_opened")
    view.press("the fields behind")
    expect(view.stage).to_contain_text("3 records, the first “table 4”: “two teas”")

    view.press("show the answer")
    expect(view.line("base_offset")).to_have_attribute("aria-label", re.compile("base_offset: 0 "))
    view.press("close the message")
    expect(view.stage).not_to_contain_text("Produce v9, the answer")


def test_a_member_joins_is_refused_once_and_reads_by_keyboard_and_in_the_dark(view: View) -> None:
    view.show()
    darken(view.page)
    view.notebook.run('send("two teas", "one cake", "a lemonade")')
    expect(view.notebook.run(EAT)).to_contain_text("ate 3")

    expect(view.stage).to_contain_text(re.compile(r"\d+ heartbeats?"))
    expect(view.stage).to_contain_text(re.compile(r"\d+ empty fetch"))
    view.photograph("group_dark")
    view.only("Metadata")
    metadata = view.arrow(r"producer-1 asks broker \d: Metadata v11 · orders")
    expect(metadata).to_be_visible()
    metadata.click()
    expect(view.line("allow_auto_topic_creation")).to_be_visible()
    view.press("close the message")
    view.only("JoinGroup")
    refused = view.arrow(r"broker \d refuses kitchen-1: JoinGroup v7 · MEMBER_ID_REQUIRED")
    expect(refused).to_be_visible()
    expect(view.arrow(r"generation 1 · range · leader of 1")).to_be_visible()
    view.only("SyncGroup")
    expect(view.arrow("SyncGroup v5 · orders-0")).to_be_visible()

    view.only("")
    expect(view.arrow("Fetch v12")).to_be_visible()  # all are shown again
    view.press("stay here")
    expect(view.stage.get_by_role("button", name="to the newest")).to_be_visible()
    arrows, drawn, shown = view.stage.locator('[data-key^="arrow "]'), "", None
    while drawn != shown:  # what was on its way when it was told to stay
        drawn = shown
        view.page.wait_for_timeout(1000)
        shown = arrows.last.get_attribute("data-key")
    expect(view.notebook.run('send("a second cake"); print("sent")')).to_contain_text("sent")
    expect(arrows.last).to_have_attribute("data-key", shown or "")
    view.press("to the newest")
    produce = view.arrow(r"asks broker \d: Produce v9 · orders-0 · 1 record ·")
    expect(produce).to_be_visible()
    produce.focus()
    produce.press("Enter")
    expect(view.stage).to_contain_text("Produce v9, the request")
    view.line("acks").focus()
    expect(view.band("acks")).to_have_class(re.compile("lit"))
    view.photograph("opened_dark")

    view.notebook.run("view.close(); before = len(cluster.events())")
    quiet = 'send("unheard"); print("told", len(cluster.events()) - before)'
    expect(view.notebook.run(quiet)).to_contain_text("told 0")
