"""A learner watches a producer's batches on a page, and goes back to a batch that waits."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import SCREENSHOTS
from tests.browser.jupyter import Notebook, darken

SETUP = """from engine import Cluster
from widgets import AccumulatorView
cluster = Cluster(brokers=1).start()
cluster.admin.create_topic("orders", partitions=2, replication=1)
producer = cluster.producer({"linger.ms": 60_000})
view = AccumulatorView(producer)
view"""
FILL = """for number in range(3):
    producer.produce("orders", b"x", partition=number % 2)"""


@pytest.mark.timeout(300)
def test_batches_fill_are_sent_and_can_be_gone_back_to(page: Page, notebook: Notebook) -> None:
    notebook.run(SETUP)
    stage = page.locator(".lab-stage").first
    expect(stage).to_contain_text("No record yet", timeout=150_000)
    notebook.run(FILL)
    about = stage.locator(".lab-about")
    expect(about).to_contain_text("2 batches in queues, 0 in flight")
    notebook.run("producer.flush()")
    expect(about).to_contain_text("0 batches in queues, 0 in flight, 2 acknowledged")
    card = stage.get_by_role("button", name=re.compile("batch 1 of orders-0: 2 records"))
    card.focus()
    card.press("Enter")
    expect(stage).to_contain_text(re.compile(r"closed by flush\(\)"))
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    stage.screenshot(path=SCREENSHOTS / "accumulator_view.png")
    timeline = stage.get_by_role("slider")
    timeline.focus()
    timeline.press("ArrowLeft")
    expect(about).to_contain_text("looking back")
    stage.get_by_role("button", name="back to the beginning").click()
    expect(about).to_contain_text("1 batch in queues")
    darken(page)
    stage.screenshot(path=SCREENSHOTS / "accumulator_view_dark.png")
    notebook.run("producer.close(); cluster.stop(); print('stopped')")
