"""Three transactions of a group on the page: one is committed, one is aborted, and one stays open.

The clients are confluent-kafka's, and the cluster is a real one.
"""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import SCREENSHOTS
from tests.browser.jupyter import Notebook, darken

SETUP = """from confluent_kafka import Consumer, Producer, TopicPartition
from engine import Cluster
from widgets import GroupView, HexView, ReplicaView, SegmentView
quick = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}
cluster = Cluster(brokers=3, config=quick).start()
orders = cluster.topic("orders", replicas=[1, 2, 3])
bills = cluster.topic("bills", replicas=[2, 3, 1])
cluster.write(orders, ["tea", "cake", "lemonade"])
where = {"bootstrap.servers": cluster.bootstrap}
patient = {"transactional.id": "till-1", "transaction.timeout.ms": 600_000}
producer = Producer({**where, **patient})
producer.init_transactions()
reader = Consumer({**where, "client.id": "reader-1", "group.id": "tills",
    "auto.offset.reset": "earliest", "enable.auto.commit": False})
reader.subscribe([orders])
def copy():
    order = cluster.wait("an order", lambda: reader.poll(0.5))
    producer.begin_transaction()
    producer.produce(bills, order.value())
    producer.flush()
    after = [TopicPartition(orders, 0, order.offset() + 1)]
    producer.send_offsets_to_transaction(after, reader.consumer_group_metadata())
print("ready")"""
COMMITS = "copy(); producer.commit_transaction(); print('committed')"
ABORTS = "copy(); producer.abort_transaction(); print('aborted')"
OPENS = """copy()
cluster.write(bills, ["in no transaction"])
print("open:", cluster.read(bills, isolation_level="read_committed"))"""
VIEWS = {
    "group": 'GroupView(cluster, "tills", orders)',
    "replicas": "ReplicaView(cluster, bills)",
    "segments": "SegmentView(cluster, bills)",
    "bytes_": "HexView(cluster, bills)",
}
CLOSE = """for view in (group, replicas, segments, bytes_):
    view.close()
reader.close(); cluster.stop()
print("stopped")"""

pytestmark = pytest.mark.timeout(300)  # several views and clients, and a cluster


@pytest.fixture
def views(page: Page, notebook: Notebook) -> Iterator[list[Locator]]:
    """Of the group, the replicas, the segments and the bytes."""
    page.set_viewport_size({"width": 1280, "height": 1100})
    expect(notebook.run(SETUP)).to_contain_text("ready")
    found = [notebook.run(f"{name} = {made}\n{name}") for name, made in VIEWS.items()]
    yield [each.locator(".lab-stage").first for each in found]
    expect(notebook.run(CLOSE)).to_contain_text("stopped")


def photograph(stage: Locator, name: str) -> None:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    stage.scroll_into_view_if_needed()
    stage.screenshot(path=SCREENSHOTS / f"transactions_{name}.png", animations="disabled")


def label(stage: Locator, *words: str) -> Locator:
    """The shape of which an assistive technology hears these words."""
    return stage.locator("".join(f'[aria-label*="{each}"]' for each in words)).first


def test_each_view_shows_what_is_committed_aborted_and_open(
    page: Page, notebook: Notebook, views: list[Locator]
) -> None:
    group, replicas, segments, bytes_ = views
    last = group.locator('[data-key^="transactions till-1"]').last

    expect(notebook.run(COMMITS)).to_contain_text("committed")
    group.scroll_into_view_if_needed()
    group.get_by_label("last").select_option("0")  # all of the time
    whose = r"till-1 \(producer 0, epoch 0\): begun at [\d.]+ s, "
    expect(last).to_have_attribute("aria-label", re.compile(f"{whose}committed at"))
    sent = "reader-1 commits orders-0 → 1 in a transaction of till-1, epoch 0: committed"
    expect(label(group, sent)).to_be_visible()

    expect(notebook.run(ABORTS)).to_contain_text("aborted")
    group.scroll_into_view_if_needed()
    expect(last).to_have_attribute("aria-label", re.compile(f"{whose}aborted at"))

    expect(notebook.run(OPENS)).to_contain_text("open: ['tea']")
    group.scroll_into_view_if_needed()
    expect(last).to_have_attribute("aria-label", re.compile(f"{whose}open"))
    row = "transactional id till-1: producer 0, epoch 0, 3 transactions"
    expect(label(group, row)).to_be_visible()
    photograph(group, "group")

    replicas.scroll_into_view_if_needed()
    expect(replicas).to_contain_text("LSO 4 · stable")
    expect(replicas).to_contain_text("HW 6 · committed")
    expect(replicas).to_contain_text("last stable offset: read_committed reads up to it")
    photograph(replicas, "replicas")

    segments.scroll_into_view_if_needed()
    for words in ("COMMIT marker of producer 0", "ABORT marker of producer 0"):
        expect(label(segments, words, "a control batch")).to_be_visible()
    expect(label(segments, "aborted by the marker at 3; read_committed skips it")).to_be_visible()
    expect(
        label(segments, "open transaction of producer 0", "read_committed waits")
    ).to_be_visible()
    photograph(segments, "segments")

    bytes_.scroll_into_view_if_needed()
    bytes_.get_by_role("button", name="last page").click()
    expect(bytes_).to_contain_text("ABORT marker of producer 0, epoch 0, a control batch")
    photograph(bytes_, "bytes")

    darken(page)
    for name, stage in (("group", group), ("replicas", replicas), ("segments", segments)):
        photograph(stage, f"{name}_dark")
