"""A learner looks at ZooKeeper's tree on the page: a broker dies, and one sees who is told."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import SCREENSHOTS
from tests.browser.jupyter import Notebook, darken

SETUP = """import tempfile
from engine import Cluster
from engine.cluster.recording import Recording
from widgets import ZooKeeperTree
cluster = Cluster(brokers=3, config={"zookeeper.session.timeout.ms": "2000"}).start()
folder = tempfile.TemporaryDirectory()
path = folder.name + "/run.jsonl"
recorder = cluster.record(path, znodes=True)
print("ready")"""
KILL = """victim = cluster.state().controller
cluster.kill(victim)
print("killed", victim)"""
# Everything that comes into the picture, however briefly it stays.
WITNESS = """scene => {
  window.witnessed = [];
  new MutationObserver((all) => {
    for (const each of all) for (const node of each.addedNodes)
      if (node.dataset?.key) window.witnessed.push(node.dataset.key);
  }).observe(scene, { childList: true });
}"""


class Tree:
    """A ZooKeeperTree on a page."""

    def __init__(self, page: Page, notebook: Notebook) -> None:
        self.page, self.notebook = page, notebook
        self.stage = page.locator(".lab-stage").first
        expect(self.stage.locator("svg.lab-scene")).to_be_visible()

    def row(self, path: str) -> Locator:
        return self.stage.locator(f'[data-key="row {path}"]')

    def find(self, path: str) -> Locator:
        field = self.stage.get_by_label("find", exact=True)
        field.press_sequentially(path)
        return field

    def press(self, label: str) -> None:
        self.stage.get_by_role("button", name=label, exact=True).click()

    def line(self, words: str | re.Pattern[str]) -> Locator:
        """What happened, below the strip."""
        return self.stage.locator('[data-key^="line "]', has_text=words).last

    def witness(self) -> None:
        self.stage.locator("svg.lab-scene").evaluate(WITNESS)

    def came(self, key: str) -> None:
        self.page.wait_for_function(
            "start => window.witnessed.some((key) => key.startsWith(start))", arg=key
        )

    def photograph(self, name: str) -> None:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.stage.screenshot(path=SCREENSHOTS / f"zookeeper_tree_{name}.png")


@pytest.fixture
def tree(page: Page, notebook: Notebook) -> Iterator[Tree]:
    expect(notebook.run(SETUP)).to_contain_text("ready")
    notebook.run("view = ZooKeeperTree(cluster)\nview")
    yield Tree(page, notebook)
    closing = notebook.run("view.close(); cluster.stop(); print('stopped')")
    expect(closing).to_contain_text("stopped")


def test_a_broker_dies_and_one_sees_who_is_told(tree: Tree) -> None:
    expect(tree.row("/brokers/ids/3")).to_be_visible()
    expect(tree.stage.locator('[data-key="eye /controller"]')).to_have_text("◎ 3")
    tree.witness()

    tree.notebook.run('cluster.admin.create_topic("orders", partitions=1, replication=3)')

    expect(tree.row("/brokers/topics/orders/partitions/0/state")).to_be_visible()
    tree.came("glow ")
    tree.photograph("topic")
    expect(tree.stage.locator(".glow")).to_have_count(0)  # once, and it fades

    killed = tree.notebook.run(KILL)
    expect(killed).to_contain_text("killed")
    victim = killed.inner_text().split()[-1]

    expect(tree.stage.locator(f'[data-key="chip {victim}"]')).to_contain_text("no session")
    tree.came("told ")
    expect(tree.line("/controller deleted → told: ")).to_be_visible()
    expect(tree.row(f"/brokers/ids/{victim}")).to_have_count(0)
    expect(tree.row("/controller")).to_be_visible()

    tree.line("/controller deleted → told: ").click()  # back to that moment, in which it stays
    expect(tree.stage.locator(".told")).to_have_count(2)
    expect(tree.row("/controller").locator(".struck")).to_be_visible()
    expect(tree.stage.locator(".lab-live")).to_contain_text("/controller deleted → told: broker")
    tree.photograph("told")
    tree.press("a change back")
    tree.press("a change forward")
    expect(tree.stage.locator(".told")).to_have_count(2)
    tree.press("back to now")
    expect(tree.stage.locator(".told")).to_have_count(0)
    expect(tree.row("/controller").locator(".struck")).to_have_count(0)


def test_by_keyboard_in_the_dark_and_again_without_a_cluster(tree: Tree) -> None:
    darken(tree.page)
    unchanged = tree.row("//≡")
    expect(unchanged).to_contain_text("unchanged: admin, cluster, config")
    unchanged.focus()
    unchanged.press("Enter")
    config = tree.row("/config")
    config.focus()
    config.press("ArrowRight")
    expect(tree.row("/config/topics")).to_be_visible()
    expect(config).to_be_focused()
    config.press("ArrowLeft")
    expect(tree.row("/config/topics")).to_have_count(0)
    config.press("ArrowDown")
    expect(tree.row("/consumers")).to_be_focused()
    tree.row("/controller").focus()
    tree.row("/controller").press("Enter")
    expect(tree.stage).to_contain_text("Whoever creates it is the controller")
    expect(tree.stage).to_contain_text(re.compile(r"session 0x\w+ of broker \d: gone when"))
    tree.photograph("opened_dark")
    field = tree.find("ids/2")
    expect(tree.row("/brokers/ids/2")).to_be_visible()
    expect(tree.row("/brokers/ids/1")).to_have_count(0)
    expect(field).to_be_focused()
    field.fill("")
    expect(tree.row("/brokers/ids/1")).to_be_visible()

    tree.notebook.run(KILL)
    expect(tree.line("/controller created")).to_be_visible()
    tree.photograph("killed_dark")
    replaced = "cluster.stop(); view.close(); view = ZooKeeperTree(Recording.load(path))"
    shown = tree.notebook.run(f"{replaced}\nview")
    again = Tree(tree.page, tree.notebook)
    again.stage = shown.locator(".lab-stage")
    expect(again.row("/controller")).to_be_visible()
    again.press("back to the beginning")
    for number in (1, 2, 3):
        expect(again.row(f"/brokers/ids/{number}")).to_be_visible()
    again.press("play")
    expect(again.line(re.compile("session .* ended"))).to_be_visible()
    expect(again.line("/controller deleted → told: ")).to_be_visible()
    again.photograph("recording_dark")
