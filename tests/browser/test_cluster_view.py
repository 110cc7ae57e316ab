"""A learner breaks a cluster on the page: with the mouse, by keyboard, and back in time."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.cluster_page import View
from tests.browser.jupyter import Notebook, darken
from tests.interop.watch import until

SETUP = """from engine import Cluster
from widgets import ClusterView
quick = {"zookeeper.session.timeout.ms": "2000"}
cluster = Cluster(brokers=3, config=quick).start()
cluster.admin.create_topic("orders", partitions=3, replication=3)
print("ready")"""


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


def test_a_leader_is_killed_with_the_mouse_and_another_takes_over(
    view: View, measured: Callable[[str], None]
) -> None:
    victim = leader_of(view, "orders-0")
    view.photograph("whole")
    view.note()

    view.by_mouse(view.broker(victim), "kill")

    expect(view.broker(victim)).to_have_attribute("aria-label", re.compile("killed"))
    expect(view.stage).to_contain_text("session waits")
    view.photograph("waiting")
    cost = re.compile("is the session time-out. Lost: nothing committed")
    expect(view.shape("cost")).to_have_attribute("aria-label", cost)
    leads = re.compile(": leader")
    expect(view.replica(victim, "orders-0")).not_to_have_attribute("aria-label", leads)
    successor = leader_of(view, "orders-0")
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
    measured(f"event to pixel: a kill {took} ms, a new leader {moved} ms")
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


def test_time_goes_back_and_comes_back(view: View) -> None:
    view.by_mouse(view.broker(1), "pause")
    expect(view.broker(1)).to_have_attribute("aria-label", re.compile("paused"))
    view.by_mouse(view.broker(1), "resume")
    expect(view.broker(1)).to_have_attribute("aria-label", re.compile(": up"))
    view.shape("timeline").scroll_into_view_if_needed()
    line = view.shape("timeline").bounding_box()
    assert line

    mouse, level = view.page.mouse, line["y"] + line["height"] / 2
    mouse.move(line["x"] + line["width"] - 2, level)  # where no mark can be
    mouse.down()
    mouse.move(line["x"] + 2, level, steps=4)
    mouse.up()

    expect(view.shape("clock")).to_have_text(re.compile(r"^0\.\d s$"))
    expect(view.stage.get_by_role("button", name="back to now")).to_have_attribute(
        "aria-pressed", "false"
    )
    assert view.broker(1).get_attribute("aria-haspopup") is None  # the past can't be changed
    paused = view.ask("[e.at for e in cluster.events() if e.kind == 'broker.paused'][-1]")
    while (before := view.ask("view.head")) < paused:
        view.press("a step forward")
        until(lambda before=before: view.ask("view.head") != before)
    expect(view.broker(1)).to_have_attribute("aria-label", re.compile("paused"))
    view.photograph("past")
    view.press("a step back")
    expect(view.broker(1)).to_have_attribute("aria-label", re.compile(": up"))
    view.press("slow motion")
    view.press("play")
    # An eighth as fast as it was: on a busy machine a state came after a second or two.
    expect(view.broker(1)).to_have_attribute("aria-label", re.compile("paused"), timeout=60_000)
    view.press("pause")

    view.press("back to now")

    expect(view.broker(1)).to_have_attribute("aria-label", re.compile(": up"))
    expect(view.broker(1)).to_have_attribute("aria-haspopup", "menu")


def test_it_lives_in_a_notebook_scrolled_out_and_in_light_or_dark(view: View, page: Page) -> None:
    tall = "from IPython.display import HTML; HTML('<div style=\"height:6000px\">far</div>')"
    view.notebook.run(tall)
    view.ask("cluster.kill(3)")
    expect(view.stage).not_to_be_in_viewport()
    gone = "lambda: '3' not in cluster.children('/brokers/ids')"
    view.ask(f"cluster.wait('the end of its session', {gone})")
    view.ask("cluster.restart(3)")
    view.ask("cluster.kill(2)")

    view.notebook.panel.locator(".jp-CodeCell").first.scroll_into_view_if_needed()

    expect(view.broker(2)).to_have_attribute("aria-label", re.compile("killed"))
    expect(view.broker(3)).to_have_attribute("aria-label", re.compile(": up"))
    at = view.ask("[e.at for e in cluster.events() if e.kind == 'broker.killed'][-2]")
    view.ask(f"view.goto({at})")
    expect(view.broker(3)).to_have_attribute("aria-label", re.compile("killed"))
    expect(view.broker(2)).to_have_attribute("aria-label", re.compile(": up"))
    assert 0 <= view.ask("view.head") - at < 2000  # not the next time that somebody looked
    view.press("back to now")

    darken(page)
    paper = view.stage.evaluate("element => getComputedStyle(element).backgroundColor")
    assert max(map(int, re.findall(r"\d+", paper)[:3])) < 80, paper
    view.photograph("dark")
