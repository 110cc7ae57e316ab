"""A learner breaks a cluster on the page: with the mouse, by keyboard, and back in time.

The clocks are those of one machine, so what an event says and what the page did can be compared:
`Watch` notes when a shape was told something new.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import SCREENSHOTS
from tests.browser.jupyter import Notebook

SETUP = """from engine import Cluster
from widgets import ClusterView
quick = {"zookeeper.session.timeout.ms": "2000"}
cluster = Cluster(brokers=3, config=quick).start()
cluster.admin.create_topic("orders", partitions=3, replication=3)
print("ready")"""
NOTE = """() => {
    window.noted = [];
    new MutationObserver((changes) => {
        for (const { target } of changes)
            noted.push([Date.now(), target.dataset.key ?? "", target.getAttribute("aria-label")]);
    }).observe(document.querySelector(".lab-scene"), {
        subtree: true, attributes: true, attributeFilter: ["aria-label"],
    });
}"""


class View:
    """A ClusterView on a page."""

    def __init__(self, page: Page, notebook: Notebook) -> None:
        self.page, self.notebook = page, notebook
        self.stage = page.locator(".lab-stage").first
        expect(self.stage.locator("svg")).to_be_visible()

    def shape(self, key: str) -> Locator:
        return self.stage.locator(f'[data-key="{key}"]').first

    def broker(self, number: int) -> Locator:
        return self.shape(f"broker {number}")

    def replica(self, broker: int, partition: str) -> Locator:
        return self.broker(broker).locator(f'[data-key="{partition}"]')

    def press(self, label: str) -> None:
        self.stage.get_by_role("button", name=label, exact=True).click()

    def choose(self, words: str) -> None:
        self.stage.get_by_role("menuitem", name=words).click()

    def by_mouse(self, shape: Locator, words: str) -> None:
        shape.locator("text.head").first.click()
        self.choose(words)

    def note(self) -> None:
        self.page.evaluate(NOTE)

    def first(self, key: str, word: str) -> int:
        """When a shape was first told something, ms since 1970."""
        noted = self.page.evaluate("noted")
        return int(next(at for at, who, label in noted if who == key and word in label))

    def ask(self, expression: str) -> Any:
        """What the kernel knows."""
        output = self.notebook.run(f"import json; print(json.dumps({expression}), 'told')")
        expect(output).to_contain_text("told")
        return json.loads(output.inner_text().rpartition("told")[0])

    def photograph(self, name: str) -> None:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.stage.screenshot(path=SCREENSHOTS / f"cluster_view_{name}.png")


@pytest.fixture
def view(page: Page, notebook: Notebook) -> Iterator[View]:
    expect(notebook.run(SETUP)).to_contain_text("ready")
    notebook.run("view = ClusterView(cluster)\nview")
    yield View(page, notebook)
    expect(notebook.run("view.close(); cluster.stop(); print('stopped')")).to_contain_text(
        "stopped"
    )


def leader_of(view: View, partition: str) -> int:
    """As the page has it."""
    for broker in (1, 2, 3):
        label = view.replica(broker, partition).get_attribute("aria-label") or ""
        if ": leader" in label:
            return broker
    pytest.fail(f"nobody leads {partition} on the page")


def test_a_leader_is_killed_with_the_mouse_and_another_takes_over(view: View) -> None:
    victim = leader_of(view, "orders-0")
    view.photograph("whole")
    view.note()

    view.by_mouse(view.broker(victim), "kill")

    expect(view.broker(victim)).to_have_attribute("aria-label", re.compile("killed"))
    expect(view.stage).to_contain_text("session waits")
    view.photograph("waiting")
    cost = re.compile("is the session time-out. Lost: nothing.")
    expect(view.shape("cost")).to_have_attribute("aria-label", cost)
    successor = leader_of(view, "orders-0")
    assert successor != victim
    view.photograph("failed_over")
    kinds = ("broker.killed", "replica.role")
    events = view.ask(f"[e[:4] for e in cluster.events() if e.kind in {kinds}]")
    killed = next(at for kind, at, *_ in events if kind == "broker.killed")
    elected = next(
        at
        for kind, at, broker, data in events
        if at > killed and broker == successor
        if (data["topic"], data["partition"], data.get("role")) == ("orders", 0, "leader")
    )
    took = view.first(f"broker {victim}", "killed") - killed
    moved = view.first("orders-0", ": leader") - elected
    print(f"\nevent to pixel: a kill {took} ms, a new leader {moved} ms")
    assert moved < 2000

    view.broker(victim).locator("text.head").first.click()  # all that can be done to a dead one

    expect(view.broker(victim)).to_have_attribute("aria-label", re.compile(": up"))
    expect(view.replica(victim, "orders-0")).to_have_attribute("aria-label", re.compile("in sync"))


def test_everything_can_be_done_by_keyboard(view: View) -> None:
    keyboard = view.page.keyboard
    view.broker(2).focus()

    keyboard.press("Enter")
    keyboard.press("Enter")  # the first thing in the menu

    expect(view.broker(2)).to_have_attribute("aria-label", re.compile("killed"))
    expect(view.broker(2)).to_be_focused()
    view.broker(2).press("Enter")  # a dead one can only be started
    expect(view.broker(2)).to_have_attribute("aria-label", re.compile(": up"))

    view.shape("link 1-3").focus()
    keyboard.press(" ")
    keyboard.press("Escape")
    expect(view.stage.get_by_role("menu")).to_be_hidden()
    expect(view.shape("link 1-3")).to_be_focused()
    keyboard.press(" ")
    view.photograph("menu")
    keyboard.press("Enter")
    expect(view.shape("link 1-3")).to_have_attribute("aria-label", re.compile("cut"))
    view.photograph("cut")
    keyboard.press("Enter")
    expect(view.shape("link 1-3")).to_have_attribute("aria-label", re.compile("whole"))

    keyboard.press("ArrowUp")
    expect(view.shape("link 1-3")).not_to_be_focused()


def test_a_broker_can_be_killed_while_a_cell_runs(view: View) -> None:
    waits = "import time\nwhile cluster.state().brokers[2].answers: time.sleep(0.1)\nprint('gone')"
    cell = view.notebook.run(waits)

    view.by_mouse(view.broker(2), "kill")

    expect(cell).to_contain_text("gone")
    expect(view.broker(2)).to_have_attribute("aria-label", re.compile("killed"))


def test_it_lives_in_a_notebook_scrolled_out_and_in_light_or_dark(view: View, page: Page) -> None:
    tall = "from IPython.display import HTML; HTML('<div style=\"height:6000px\">far</div>')"
    view.notebook.run(tall)
    view.ask("cluster.kill(3)")
    expect(view.stage).not_to_be_in_viewport()

    view.notebook.panel.locator(".jp-CodeCell").first.scroll_into_view_if_needed()

    expect(view.broker(3)).to_have_attribute("aria-label", re.compile("killed"))

    page.get_by_role("menuitem", name="Settings", exact=True).click()
    for item in ("^Theme$", "^JupyterLab Dark$"):
        page.locator(".lm-Menu-itemLabel", has_text=re.compile(item)).click()
    expect(page.locator("body")).to_have_attribute("data-jp-theme-light", "false")
    paper = view.stage.evaluate("element => getComputedStyle(element).backgroundColor")
    assert max(map(int, re.findall(r"\d+", paper)[:3])) < 80, paper
    view.photograph("dark")
