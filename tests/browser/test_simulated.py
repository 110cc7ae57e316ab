"""Time travel without a cluster: a simulator's run message by message, a recording's files."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.cluster_page import View
from tests.browser.conftest import SCREENSHOTS
from tests.browser.jupyter import Notebook, darken

SETUP = """from proof.storms.trace import Trace
from widgets import ClusterView
view = ClusterView(Trace.of(seed=7))
view"""
DIED = 4.0  # seconds after the start a broker loses its power, with that seed
RECORD = """import tempfile
from pathlib import Path
from engine import Cluster
from engine.cluster.recording import Recording
from widgets import HexView, SegmentView
folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "run.jsonl.gz"
with Cluster(brokers=1) as cluster:
    small = {"segment.bytes": "6000", "index.interval.bytes": "600"}
    cluster.admin.create_topic("orders", partitions=1, replication=1, config=small)
    with cluster.record(path, files=["orders-0"]):
        producer = cluster.producer({"linger.ms": "0", "batch.size": "300"})
        for number in range(200):
            producer.produce("orders", b"pizza " * 8, key=b"order-%d" % number)
            producer.flush()
recording = Recording.load(path)
print("recorded")"""


class SimulatedPage(View):
    """A ClusterView of a trace."""

    @property
    def time(self) -> float:
        """To the millisecond, in seconds."""
        words = self.shape("exactly").text_content() or ""
        return float(words.removeprefix("at ").removesuffix(" s"))

    def step(self, label: str) -> float:
        """Press, and see that the time has changed."""
        before = self.shape("exactly").text_content() or ""
        self.press(label)
        expect(self.shape("exactly")).not_to_have_text(before)
        return self.time

    def go_to_the_fault(self) -> None:
        self.shape(f"mark broker.died {1_700_000_000_000 + round(DIED * 1000)}").click()
        expect(self.shape("exactly")).to_have_text(f"at {DIED:.3f} s")

    def photograph(self, name: str) -> None:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.stage.screenshot(path=SCREENSHOTS / f"simulated_{name}.png")


@pytest.fixture
def view(page: Page, notebook: Notebook) -> Iterator[SimulatedPage]:
    notebook.run(SETUP)
    yield SimulatedPage(page, notebook)
    expect(notebook.run("view.close(); print('closed')")).to_contain_text("closed")


def test_one_goes_through_a_run_message_by_message(view: SimulatedPage) -> None:
    view.go_to_the_fault()
    expect(view.broker(1)).to_have_attribute("aria-label", re.compile("died"))

    times, dots = [view.time], view.stage.locator('[data-key^="message "]')
    while dots.count() < 2:  # until something is under way
        times.append(view.step("a step forward"))
        assert len(times) < 60
    assert times == sorted(set(times))
    rows = view.stage.locator('[data-key^="row message "]')
    expect(rows.first).to_be_visible()
    dots.first.hover()
    expect(view.stage.locator(".lab-tip")).to_contain_text("→")
    expect(rows.locator(".lit")).to_have_count(1)
    view.photograph("messages")

    for time in times[-2::-1]:
        assert view.step("a step back") == time

    view.press("slow motion")
    view.press("play")
    expect(view.shape("messages")).to_contain_text("Pause, or go on step by step")
    expect(view.stage.locator("circle.traffic").first).to_be_attached()
    expect(view.shape("clock")).to_have_text(re.compile(r"^4\.[1-9] s$"))
    view.press("pause")
    expect(view.shape("messages")).not_to_contain_text("Pause, or go on")
    assert DIED < view.time < DIED + 2


def keys(marks: Locator) -> set[str]:
    """In no order: what is near the head is drawn first. At one moment, not one by one."""
    return set(marks.evaluate_all("all => all.map(each => each.dataset.key)"))


def test_another_future_and_the_run_before(view: SimulatedPage) -> None:
    view.go_to_the_fault()
    marks = view.stage.locator('[data-key^="mark "]')
    before = keys(marks)

    view.press("another future, from here on")

    chosen = view.stage.locator("select")
    expect(chosen).to_have_value("1")
    expect(view.shape("run")).to_have_text("seed 8 from 4.00 s on")
    expect(view.shape("exactly")).to_have_text(f"at {DIED:.3f} s")
    view.press("to the end")
    expect(view.stage.locator('[data-key^="mark run.forked"]')).to_have_attribute(
        "aria-label", re.compile("another future from here on: seed 8")
    )
    assert keys(marks) != before
    view.photograph("forked")

    view.stage.locator('[data-key^="mark run.forked"]').click()
    expect(view.shape("exactly")).to_have_text(f"at {DIED:.3f} s")
    chosen.select_option("0")
    expect(view.shape("run")).to_have_text("seed 7")
    expect(view.stage.locator('[data-key^="mark run.forked"]')).to_have_count(0)
    expect(view.shape("exactly")).to_have_text(f"at {DIED:.3f} s")
    assert keys(marks) == before
    darken(view.page)
    view.press("a step forward")
    view.step("a step forward")
    view.photograph("dark")


def test_a_broken_promise_is_seen(view: SimulatedPage) -> None:
    defect = 'ClusterView(Trace.of(seed=1, defect="commit-unreplicated"))'
    view.notebook.run(f"other = {defect}\nother")
    other = view.page.locator(".lab-stage").nth(1)
    expect(other).to_contain_text("A promise is broken: what is committed is on every replica")
    expect(other.locator('[data-key^="promise.broken"]')).to_be_visible()
    other.screenshot(path=SCREENSHOTS / "simulated_broken.png")
    expect(view.notebook.run("other.close(); print('gone')")).to_contain_text("gone")


# -- the files of a recording ---------------------------------------------------------------------


class Log:
    """A SegmentView of a recording, and its HexView."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.log = page.locator(".lab-stage").first
        self.bytes = page.locator(".lab-stage").nth(1)
        expect(self.log.locator("svg.lab-scene")).to_be_visible()

    @property
    def slider(self) -> Locator:
        return self.log.get_by_label("moment", exact=True)


@pytest.fixture
def log(page: Page, notebook: Notebook) -> Iterator[Log]:
    expect(notebook.run(RECORD)).to_contain_text("recorded")
    notebook.run('view = SegmentView(recording, "orders", 0)\nview')
    yield Log(page)
    done = "view.close(); folder.cleanup(); print('closed')"
    expect(notebook.run(done)).to_contain_text("closed")


def test_the_files_of_a_log_are_looked_at_as_they_were(log: Log) -> None:
    expect(log.log).to_contain_text("offsets 0 to 200")
    segments = log.log.locator(".segment")
    many = segments.count()
    assert many > 2

    log.slider.focus()
    log.slider.press("Home")
    expect(log.log).to_contain_text(re.compile(r"at \d+\.\d\d s · 1 of \d+"))
    expect(log.log).not_to_contain_text("offsets 0 to 200")
    assert segments.count() < many
    log.slider.press("ArrowRight")
    expect(log.log).to_contain_text(re.compile(r"at \d+\.\d\d s · 2 of \d+"))
    log.slider.press("End")
    expect(log.log).to_contain_text("offsets 0 to 200")
    expect(log.slider).to_have_value(log.slider.get_attribute("max") or "")

    offset = log.log.get_by_label("offset", exact=True)
    offset.fill("150")
    offset.press("Enter")
    expect(log.log).to_contain_text("Offset 150 is in the batch at byte")
    log.log.get_by_role("button", name="open the batch that was found in hex").click()
    expect(log.bytes).to_contain_text("offset 150 · bytes")
    log.log.screenshot(path=SCREENSHOTS / "simulated_files.png")
    darken(log.page)
    log.slider.press("Home")
    expect(log.bytes.get_by_role("alert")).to_contain_text("At this moment there is no such file")
    log.slider.press("End")
    expect(log.bytes.locator(".lab-trouble")).to_be_empty()
    log.log.screenshot(path=SCREENSHOTS / "simulated_files_dark.png")
