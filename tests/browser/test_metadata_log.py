"""A learner looks at the controllers' log on a page: a topic is created, and what it is made of."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import SCREENSHOTS
from tests.browser.jupyter import Notebook, darken

SETUP = """from engine import Cluster
from widgets import MetadataLogView, QuorumView
cluster = Cluster(brokers=1, metadata="kraft", controllers=3).start()
view = MetadataLogView(cluster)
view"""
KILL = """leader = cluster.state().controller
cluster.kill(f"controller-{leader - 100}")
other = cluster.wait("another", lambda: cluster.state().controller not in (leader, -1))
print("killed", leader)"""


@pytest.mark.timeout(300)
def test_a_topic_as_records_and_the_quorum_on_the_same_clock(
    page: Page, notebook: Notebook
) -> None:
    notebook.run(SETUP)
    stage = page.locator(".lab-stage").first
    expect(stage.locator(".lab-about")).to_contain_text("committed up to", timeout=150_000)
    notebook.run('cluster.topic("teas", replicas=[[1], [1]])')
    record = stage.get_by_role("button", name=re.compile("PartitionRecord|Partition, teas-0"))
    expect(record).to_have_count(1)
    record.focus()
    record.press("Enter")
    expect(stage).to_contain_text("A partition with all that it has")
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    stage.screenshot(path=SCREENSHOTS / "metadata_log.png")
    stage.get_by_role("button", name="close this").click()
    fold = stage.get_by_role("button", name="fold the records by what they change")
    fold.click()
    expect(fold).to_have_attribute("aria-pressed", "true")
    expect(stage.locator('[data-key="thing teas-1"]')).to_be_visible()
    darken(page)
    stage.screenshot(path=SCREENSHOTS / "metadata_log_folded_dark.png")

    quorum = notebook.run("quorum = QuorumView(cluster)\nquorum").locator(".lab-stage")
    expect(quorum.locator('[data-key^="node 10"]')).to_have_count(3)
    killed = notebook.run(KILL)
    expect(killed).to_contain_text("killed")
    leader = killed.inner_text().split()[-1]
    dead = quorum.locator(f'[data-key="node {leader}"]')
    expect(dead).to_have_attribute("aria-label", re.compile(": down"))
    quorum.screenshot(path=SCREENSHOTS / "quorum_of_cluster_dark.png")
    quorum.get_by_role("button", name="back to the beginning").click()
    live = stage.get_by_role("button", name="back to now")
    expect(live).to_have_attribute("aria-pressed", "false")
    notebook.run("view.close(); quorum.close(); cluster.stop(); print('stopped')")
