"""A learner watches a streaming query on a page: rows come in, a table changes, time turns back."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import SCREENSHOTS
from tests.browser.jupyter import Notebook, darken

SETUP = """from engine import Cluster
from sparkstreams import session
from widgets import StreamView
cluster = Cluster(brokers=1).start()
cluster.admin.create_topic("orders", partitions=2, replication=1)
producer = cluster.producer({"linger.ms": "1000"})  # what is sent to a partition at once stays so
def send(*pizzas):
    for number, pizza in enumerate(pizzas):
        producer.produce("orders", b'{"size": "large"}', key=pizza.encode(), partition=number % 2)
    producer.flush()
send("margherita", "funghi", "salami", "funghi")
print("cluster ready")"""
SPARK = """spark = session.start(name="test")
print("spark ready")"""
QUERY = """stream = spark.readStream.format("kafka-lab").option("subscribe", "orders")
stream = stream.option("kafka.bootstrap.servers", cluster.bootstrap)
stream = stream.option("startingOffsets", "earliest").load()
known = stream.withWatermark("timestamp", "5 seconds")
counts = known.selectExpr("cast(key as string) as pizza").groupBy("pizza").count()
writer = counts.writeStream.outputMode("complete").format("memory").queryName("pizzas")
query = writer.start()
view = StreamView(query, cluster, lambda: spark.table("pizzas"))
view"""
END = """query.stop()
view.poll()
print(view.picture.says)"""
AGAIN = """import json
session.stop(spark)
cluster.stop()
StreamView.replay(json.loads(json.dumps(view.moments())))"""
SLOW = 150_000  # ms for what Spark does for the first time on a busy machine


class View:
    """A StreamView on a page."""

    def __init__(self, stage: Locator) -> None:
        self.stage, self.about = stage, stage.locator(".lab-about")

    def press(self, label: str) -> None:
        self.stage.get_by_role("button", name=label, exact=True).click()

    def row(self, pizza: str) -> Locator:
        """Of the table; the texts of a row lie on a rectangle that has them as its label."""
        return self.stage.locator(f'rect[aria-label*=": {pizza}, "]')

    def go_on_until(self, pizza: str, label: str) -> None:
        """Batch by batch: a partition may be read in one of its own."""
        while self.row(pizza).get_attribute("aria-label") != label:
            before = self.about.inner_text()
            self.stage.get_by_role("slider").press("ArrowRight")
            expect(self.about).not_to_have_text(before)

    def photograph(self, name: str) -> None:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.stage.screenshot(path=SCREENSHOTS / f"stream_view_{name}.png")


@pytest.fixture
def view(page: Page, notebook: Notebook) -> Iterator[View]:
    page.set_viewport_size({"width": 1280, "height": 1000})
    expect(notebook.run(SETUP)).to_contain_text("cluster ready", timeout=SLOW)
    expect(notebook.run(SPARK)).to_contain_text("spark ready", timeout=SLOW)
    notebook.run(QUERY)
    yield View(page.locator(".lab-stage").first)
    notebook.run("session.stop(spark); cluster.stop(); print('stopped')")


@pytest.mark.timeout(600)
def test_a_query_is_watched_gone_back_in_and_kept(
    page: Page, notebook: Notebook, view: View
) -> None:
    expect(view.about).to_contain_text("batch 0", timeout=SLOW)
    expect(view.stage).to_contain_text("4 rows")
    expect(view.row("funghi")).to_have_attribute("aria-label", "new: funghi, 2")
    notebook.run("send('funghi', 'tuna', 'funghi')")
    expect(view.about).to_contain_text(re.compile(r"batch [1-9]"), timeout=SLOW)
    expect(view.row("tuna")).to_have_count(1)
    expect(view.row("funghi")).to_have_attribute("aria-label", re.compile("funghi, 4"))
    expect(view.stage).to_contain_text("orders-1 @ 2")
    expect(view.stage.get_by_role("button", name="back to now")).to_have_attribute(
        "aria-pressed", "true"
    )

    view.press("back to the beginning")
    expect(view.about).to_contain_text("batch 0 · lag 0 · looking back")
    expect(view.stage).to_contain_text("The table after batch 0")
    expect(view.row("tuna")).to_have_count(0)
    expect(view.row("funghi")).to_have_attribute("aria-label", "new: funghi, 2")
    view.photograph("back")

    timeline = view.stage.get_by_role("slider")
    timeline.focus()
    timeline.press("ArrowRight")
    expect(view.about).not_to_contain_text("batch 0")
    view.go_on_until("funghi", "changed: funghi, 4")
    expect(view.stage).to_contain_text("2 → 4")
    view.stage.locator('rect[aria-label^="orders-1 @ 2: tuna"]').hover()
    expect(view.row("tuna")).to_have_class(re.compile("lit"))
    view.photograph("table")

    view.press("back to now")
    expect(view.about).not_to_contain_text("looking back")
    notebook.run("send('salami')")
    expect(view.row("salami")).to_have_attribute("aria-label", "changed: salami, 2", timeout=SLOW)
    darken(page)
    view.photograph("dark")

    expect(notebook.run(END)).to_contain_text("The query has stopped.", timeout=SLOW)
    expect(view.stage).to_contain_text("■ The query has stopped.")
    notebook.run(AGAIN)
    again = View(page.locator(".lab-stage").nth(1))
    expect(again.stage).to_contain_text("■ The query has stopped.", timeout=SLOW)
    again.press("play")
    expect(again.about).to_contain_text("looking back")
    expect(again.about).to_contain_text("ended")
    again.photograph("kept_dark")
