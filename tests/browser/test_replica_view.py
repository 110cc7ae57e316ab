"""A partition on the page: its leader dies, the epoch changes, and its offsets go on growing."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import SCREENSHOTS
from tests.browser.jupyter import Notebook, darken

SETUP = """from engine import Cluster
from widgets import ReplicaView
quick = {"zookeeper.session.timeout.ms": "2000"}
cluster = Cluster(brokers=3, config=quick).start()
cluster.admin.create_topic("orders", partitions=1, replication=3)
producer = cluster.producer({"acks": "all"})
cluster.trace()
def send(count):
    for number in range(count):
        producer.produce("orders", b"pizza")
        producer.flush()
def leader():
    return next(iter(cluster.state().partitions.values())).leader
print("ready")"""


class View:
    """A ReplicaView on a page."""

    def __init__(self, page: Page, notebook: Notebook) -> None:
        self.page, self.notebook = page, notebook
        self.stage = page.locator(".lab-stage").first
        expect(self.stage.locator("svg.lab-scene")).to_be_visible()

    def label(self, what: object) -> Locator:
        return self.stage.locator(f'[data-key="label {what}"]')

    def moments(self) -> Locator:
        return self.stage.locator("rect.column")

    def press(self, label: str) -> None:
        self.stage.get_by_role("button", name=label, exact=True).click()

    def run(self, code: str) -> str:
        """In a cell below, and back to the picture: out of view_state it would stand still."""
        output = self.notebook.run(f"{code}; print('done')")
        expect(output).to_contain_text("done")
        said = output.inner_text()
        self.stage.scroll_into_view_if_needed()
        return said

    def send(self, count: int) -> None:
        self.run(f"send({count})")

    def leader(self) -> int:
        """As the cluster has it."""
        return int(self.run("print(leader())").split()[0])

    def photograph(self, name: str) -> None:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.stage.screenshot(path=SCREENSHOTS / f"replica_view_{name}.png")


@pytest.fixture
def view(page: Page, notebook: Notebook) -> Iterator[View]:
    expect(notebook.run(SETUP)).to_contain_text("ready")
    notebook.run('view = ReplicaView(cluster, "orders", 0)\nview')
    yield View(page, notebook)
    closing = notebook.run("view.close(); cluster.stop(); print('stopped')")
    expect(closing).to_contain_text("stopped")


def test_a_leader_dies_and_the_high_watermark_goes_on_in_the_next_epoch(view: View) -> None:
    view.send(40)
    expect(view.label("HW")).to_contain_text("HW 40 · committed")
    first = view.leader()
    expect(view.label(first)).to_contain_text(f"broker {first} · leader · LEO 40")
    expect(view.stage.locator('[data-key="acks signs"]')).to_be_visible()
    expect(view.stage.locator('[data-key="answers signs"]')).to_be_visible()
    view.photograph("whole")

    view.run(f"cluster.kill({first})")

    expect(view.label(first)).to_contain_text("killed")
    expect(view.stage).to_contain_text(re.compile(r"epoch [1-9] · broker \d leads"))
    second = view.leader()
    assert second != first
    expect(view.label(second)).to_contain_text("leader")
    view.send(30)
    expect(view.label("HW")).to_contain_text("HW 70 · committed")
    expect(view.stage).to_contain_text("Lost: nothing committed")
    view.photograph("failed_over")

    view.run(f"cluster.restart({first})")
    expect(view.label(first)).to_contain_text("in sync · LEO 70")
    view.photograph("back")


def test_one_goes_back_in_time_and_returns_to_now(view: View) -> None:
    darken(view.page)
    view.send(20)
    expect(view.label("HW")).to_contain_text("HW 20")
    victim = view.leader()
    view.run(f"cluster.kill({victim})")
    expect(view.stage).to_contain_text(re.compile(r"epoch [1-9] · broker \d leads"))
    view.send(15)
    expect(view.label("HW")).to_contain_text("HW 35")

    view.moments().first.focus()
    view.page.keyboard.press("ArrowRight")
    told = view.page.locator("rect.column:focus")
    expect(told).to_have_attribute("aria-label", re.compile("LEO"))
    expect(view.stage.locator(".lab-tip")).to_contain_text(re.compile(r"s: .*ISR"))
    view.photograph("dark")

    kill = view.stage.locator('[data-key^="event broker.killed"]')
    kill.press("Enter")
    expect(view.label("HW")).to_contain_text("HW 20 · committed")
    expect(view.label(victim)).to_contain_text("killed · LEO 20")
    live = view.stage.get_by_role("button", name="back to now")
    expect(live).to_have_attribute("aria-pressed", "false")
    view.photograph("past")

    view.press("slow motion")
    view.press("play")
    expect(view.stage.get_by_role("button", name="pause", exact=True)).to_be_visible()
    view.press("back to now")
    expect(view.label("HW")).to_contain_text("HW 35 · committed")
    expect(live).to_have_attribute("aria-pressed", "true")


TILL = """
till = cluster.producer({"transactional.id": "till-1"})
till.init_transactions()
till.begin_transaction()
till.produce("orders", "one", partition=0)
till.flush()
"""


def test_an_open_transaction_holds_readers_back_until_it_ends(view: View) -> None:
    view.send(20)
    view.run(TILL)
    expect(view.label("HW")).to_contain_text("HW 21")
    expect(view.label("LSO")).to_contain_text("LSO 20 · stable")
    expect(view.stage.locator('[data-key="held back"]')).to_be_visible()
    view.photograph("transaction")

    view.run("till.commit_transaction()")
    expect(view.label("LSO")).to_contain_text("LSO 22 · stable")  # with the marker
    expect(view.label("HW")).to_contain_text("HW 22 · committed")
