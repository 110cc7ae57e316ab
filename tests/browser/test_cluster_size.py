"""A cluster grows on the page: more brokers, sixty partitions, a thousand; and its links fail.

How evenly it draws is printed, not asserted: the longest time between two frames while records
stream in, beside that of an empty page.
"""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.cluster_page import View
from tests.browser.jupyter import Notebook

SETUP = """from engine import Cluster
from widgets import ClusterView
quick = {"zookeeper.session.timeout.ms": "2000"}
cluster = Cluster(brokers=3, config=quick).start()
cluster.admin.create_topic("orders", partitions=60, replication=3)
producer = cluster.producer()
def send(count):
    for number in range(count):
        producer.produce("orders", b"pizza", partition=number % 60)
    producer.flush()
print("ready")"""
MOST = "'many', partitions=1000, replication=1"
FRAMES = """() => {
    window.gaps = [];
    let last = performance.now();
    window.measuring = true;
    const frame = (now) => {
        gaps.push(now - last);
        last = now;
        if (measuring) requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
}"""
GAPS = "() => { measuring = false; return gaps.slice(1); }"


@pytest.fixture
def view(page: Page, notebook: Notebook) -> Iterator[View]:
    expect(notebook.run(SETUP)).to_contain_text("ready")
    notebook.run("view = ClusterView(cluster)\nview")
    yield View(page, notebook)
    expect(notebook.run("view.close(); cluster.stop(); print('over')")).to_contain_text("over")


def frames(view: View, code: str) -> str:
    """Run a cell, and see how evenly the page draws meanwhile."""
    view.page.evaluate(FRAMES)
    expect(view.notebook.run(f"{code}; print('done')")).to_contain_text("done")
    gaps = sorted(view.page.evaluate(GAPS))
    assert gaps, "the page drew no frame"
    return f"{len(gaps)} frames, median {gaps[len(gaps) // 2]:.0f} ms, longest {gaps[-1]:.0f} ms"


def test_many_partitions_are_drawn_and_very_many_are_summed_up(
    view: View, measured: Callable[[str], None]
) -> None:
    view.stage.scroll_into_view_if_needed()
    expect(view.stage).to_contain_text("orders · 60 partitions")
    idle = frames(view, "import time; time.sleep(2)")
    busy = frames(view, "[send(600) for _ in range(20)]")
    measured(f"60 partitions at rest: {idle}; while records stream in: {busy}")
    expect(view.shape("producers")).to_have_attribute("aria-label", re.compile("12,000 records"))
    view.photograph("sixty")

    expect(view.notebook.run(f"cluster.admin.create_topic({MOST}); print('made')")).to_contain_text(
        "made"
    )
    view.stage.scroll_into_view_if_needed()
    expect(view.stage).to_contain_text("2 topics · 1,060 partitions")
    shapes = view.stage.locator("svg *").count()
    assert shapes < 2000, "a thousand partitions are summed up"
    measured(f"1,060 partitions: {frames(view, 'time.sleep(2)')}, {shapes} elements")
    view.photograph("thousand")

    view.by_mouse(view.broker(3), "kill")

    expect(view.broker(3)).to_have_attribute("aria-label", re.compile("killed"))
    expect(view.stage).to_contain_text("without a leader")
    view.photograph("thousand_one_killed")


def test_a_broker_is_added_and_links_are_slowed_cut_and_healed(view: View) -> None:
    view.press("add a broker")
    expect(view.broker(4)).to_have_attribute("aria-label", re.compile(": up"))
    view.photograph("four")

    link = view.shape("link 1-2")
    link.focus()
    link.press("Enter")
    view.choose("slow down by 300 ms")
    expect(link).to_have_attribute("aria-label", re.compile("300 ms"))
    other = view.shape("link 2-3")
    other.focus()
    other.press("Enter")
    view.choose("cut")
    expect(other).to_have_attribute("aria-label", re.compile("cut"))
    link.focus()
    link.press("Enter")  # there is one thing to do: heal this link
    expect(link).to_have_attribute("aria-label", re.compile("whole"))
    expect(other).to_have_attribute("aria-label", re.compile("cut"))
    other.press("Enter")
    expect(other).to_have_attribute("aria-label", re.compile("whole"))

    session = view.shape("session 2")
    session.focus()
    session.press("Enter")
    view.choose("cut")
    expect(session).to_have_attribute("aria-label", re.compile("cut"))
    expect(view.shape("zookeeper")).to_have_attribute("aria-label", re.compile("3 of 4 brokers"))
    view.photograph("without_zookeeper")
    session.press("Enter")
    expect(session).to_have_attribute("aria-label", re.compile("alive"))
    expect(view.shape("zookeeper")).to_have_attribute("aria-label", re.compile("4 of 4 brokers"))
