"""00 as a newcomer goes through it with Shift+Enter: the kill and the election are in sight.

Then the timeline is dragged, on a wide page and on a narrow one, light and dark. Each picture that
the page draws meanwhile is noted with its time, and is compared with what `cluster.events()` tells
about that time. At the end it is saved, its kernel ends, and all pictures are there again.
"""

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import nbformat
import pytest
from playwright.sync_api import Locator, Page, TimeoutError, expect

from tests.browser.conftest import SCREENSHOTS
from tests.browser.jupyter import ROOT, Lab, darken
from tests.browser.lesson import Lesson, part
from tests.interop.watch import until

LAB = "labs/00_start.ipynb"
YOURS = "labs/yours/00_start.ipynb"  # what a learner saves
CELLS = nbformat.read(ROOT / LAB, 4).cells  # type: ignore[no-untyped-call]
LATE = 1.5  # seconds from an event to the first picture of it, on a busy machine
ROUNDED = 0.1  # seconds, of the clock below the timeline
ATTEMPTS = 5  # to drag the head to a place
STEPS = 16  # places on the timeline
PICTURES = 10  # outputs with one
NARROW = (853, 480), (390, 844)  # px: 1280 x 720 at 150 %; a phone
SIZES = (1366, 768), *NARROW
TELL = """import json
told = [(it.kind, it.data, it.at - view.run_source.start) for it in cluster.events()]
print(json.dumps(told, default=list), "told")"""
NOTE = """(stage) => {
    const drawn = () => {
        const shape = (it, key) => it.querySelector(`[data-key="${key}"]`);
        const brokers = [1, 2, 3].map((number) => shape(stage, `broker ${number}`));
        return [parseFloat(shape(stage, "clock").textContent), brokers.map((it) => [
            it.getAttribute("aria-label").includes("killed"),
            // A broker that was just started has not told of its replica yet.
            Boolean(shape(it, "orders-0")?.getAttribute("aria-label").includes(": leader")),
        ])];
    };
    window.noted = [drawn()];
    window.noting = new MutationObserver(() => noted.push(drawn()));
    noting.observe(stage.querySelector(".lab-scene"), {
        subtree: true, childList: true, characterData: true, attributes: true,
        attributeFilter: ["aria-label", "cx"],
    });
}"""


class Truth(NamedTuple):
    """What the picture has to show."""

    killed: frozenset[int]
    leader: int


class Events:
    """The state at each time, by the events alone."""

    def __init__(self, told: list[Any]) -> None:
        self.known = [(-1e9, Truth(frozenset(), 0))]
        for kind, data, at in told:
            killed, leader = self.known[-1][1]
            if kind == "broker.killed":
                killed |= {data["broker"]}
            elif kind == "broker.started":
                killed -= {data["broker"]}
            elif kind == "leader.elected" and data["topic"] == "orders":
                leader = data["leader"]
            self.known.append((at / 1000, Truth(killed, leader)))

    def possible(self, time: float) -> list[Truth]:
        """The last state that is older than a picture may be late, and all later ones. Where the
        leader was the controller too, its successor first writes that nobody leads."""
        until = [known for known in self.known if known[0] <= time + ROUNDED]
        old = max(place for place, known in enumerate(until) if known[0] <= time - LATE)
        found = [truth for _, truth in until[old:]]
        return found + [it._replace(leader=-1) for it in found if it.leader in it.killed]


AT = """([head, x]) => {
    const box = head.getBoundingClientRect();
    return Math.abs(box.x + box.width / 2 - x) < 3;
}"""
APART = """([head, mark]) => {
    const [one, other] = [head.getBoundingClientRect(), mark.getBoundingClientRect()];
    return Math.abs(one.x + one.width / 2 - other.x - other.width / 2) > 20;
}"""


class Walk:
    def __init__(self, lesson: Lesson, lab: Lab) -> None:
        self.lesson, self.page, self.lab = lesson, lesson.page, lab
        self.place = 1  # the first cell with code

    def step(self) -> None:
        self.page.keyboard.press("Shift+Enter")

    def ended(self) -> None:
        expect(self.lesson.panel.locator(".jp-InputPrompt", has_text="[*]")).to_have_count(0)

    def until(self, name: str) -> None:
        """Shift+Enter, up to the cell with this id, which is active then."""
        names = [cell.id for cell in CELLS]
        for place in range(self.place, names.index(name)):
            self.step()
            if CELLS[place].cell_type == "code":
                self.ended()
        self.place = names.index(name)

    @property
    def view(self) -> Locator:
        """The picture of the cluster, in sight: wherever it is, also if it moves meanwhile."""
        docked = self.page.locator(".lab-dock .lab-stage")
        if docked.count():
            return docked
        in_cell = self.lesson.go_to("view = ClusterView").locator(".lab-stage")
        stage = docked.or_(in_cell).first
        stage.scroll_into_view_if_needed()
        expect(stage.locator("svg.lab-scene")).to_be_visible()
        return stage

    def events(self) -> Events:
        """In a cell of its own, at the end."""
        all_cells = self.lesson.panel.locator(".jp-CodeCell")
        cell = all_cells.nth(all_cells.count() - 1)  # not .last: running it adds another one
        cell.locator(".cm-content").fill(TELL)
        self.step()
        output = cell.locator(".jp-OutputArea")
        expect(output).to_contain_text("told")
        return Events(json.loads(output.inner_text().rpartition("told")[0]))

    def rests(self, head: Locator) -> bool:
        """Whether the head of the timeline, which glides to its place, has come to rest."""
        before = center(head)[0]
        self.page.wait_for_timeout(100)
        return abs(center(head)[0] - before) < 1

    def drag_head(self, view: Locator, to: tuple[float, float]) -> None:
        """Again if the mouse missed it: it moves by itself as long as it is at now."""
        head = part(view, "head")
        for _ in range(ATTEMPTS):
            self.page.mouse.move(*center(head))
            self.page.mouse.down()
            self.page.mouse.move(*to, steps=3)
            self.page.mouse.up()
            with suppress(TimeoutError):
                self.page.wait_for_function(
                    AT, arg=[head.element_handle(), to[0]], timeout=LATE * 2000
                )
                return
        pytest.fail(f"the head is at {center(head)}, and not at {to}")

    def drag(self, steps: int) -> list[tuple[float, Truth]]:
        """The head from left to right, then to each kill; what the page has drawn meanwhile."""
        view = self.view
        view.get_by_role("button", name="back to now").click()
        expect(view.locator('[data-key^="fold "]')).not_to_have_count(0)  # it grows no more
        until(lambda: self.rests(part(view, "head")))
        live = center(part(view, "head"))
        view.get_by_role("button", name="back to the beginning").click()
        expect(part(view, "clock")).to_have_text("0.0 s")
        until(lambda: self.rests(part(view, "head")))
        assert center(part(view, "head"))[0] < live[0] - 100
        view.evaluate(NOTE)
        first, y = center(part(view, "head"))
        reach = (live[0] - first) / 1.1  # "now" drifts to the left while its fold grows
        for place in range(1, steps):
            self.drag_head(view, (first + reach * place / steps, y))
        kills = view.locator('[data-key^="mark broker.killed"]')
        for key in kills.evaluate_all("all => all.map(each => each.dataset.key)"):
            mark = part(view, key)
            is_late = center(mark)[0] > (first + live[0]) / 2
            # Away from it first: what is near the head is below the area that is dragged.
            away = "back to the beginning" if is_late else "back to now"
            view.get_by_role("button", name=away).click()
            both = [part(view, "head").element_handle(), mark.element_handle()]
            self.page.wait_for_function(APART, arg=both)
            mark.click()
            expect(view.locator('[aria-label*="killed, leads"]').first).to_be_visible()
        noted = self.page.evaluate("noting.disconnect(), noted")
        assert len(noted) >= steps
        return [(time, truth(brokers)) for time, brokers in noted]


def truth(brokers: list[tuple[bool, bool]]) -> Truth:
    leaders = [number for number, (_, leads) in enumerate(brokers, 1) if leads]
    killed = frozenset(number for number, (is_killed, _) in enumerate(brokers, 1) if is_killed)
    return Truth(killed, leaders[0] if len(leaders) == 1 else -1)


def center(shape: Locator) -> tuple[float, float]:
    box = shape.bounding_box()
    assert box
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def lies(events: Events, drawn: list[tuple[float, Truth]]) -> list[str]:
    """Pictures that show another moment than theirs."""
    return [
        f"at {time} s: {shown}, and not one of {events.possible(time)}"
        for time, shown in drawn
        if shown not in events.possible(time)
    ]


@pytest.fixture
def walk(page: Page, lab: Lab) -> Iterator[Walk]:
    lesson = Lesson(page, "00_start")
    page.keyboard.press("Control+b")  # the file browser is folded, as `make lab` has it
    lesson.go_to("recorded.view").locator(".cm-content").click()
    yield Walk(lesson, lab)
    shutil.copy(ROOT / LAB, lab.root / LAB)  # what was saved is not the next test's


@pytest.mark.timeout(400)
def test_the_first_hour(walk: Walk) -> None:
    page, lesson = walk.page, walk.lesson
    page.set_viewport_size({"width": 1366, "height": 768})
    walk.until("kill")
    see_the_kill(walk, next(place for place in (1, 2, 3) if leads(walk.view, place)))
    walk.until("next-text")
    walk.step()
    known = walk.events().known
    assert len({truth for _, truth in known}) >= 5  # two kills, with an election each

    drawn = walk.drag(STEPS)
    assert {shown for _, shown in drawn} >= {truth for _, truth in known if truth.killed}
    for (width, height), theme in zip(SIZES, ("dark", "light", "dark"), strict=True):
        page.set_viewport_size({"width": width, "height": height})
        turn(page, theme)
        expect(page.locator(".lab-above")).to_have_count(int(width < 1366))
        drawn += walk.drag(4)
        lesson.photograph(f"walked_{width}_{theme}")
    page.set_viewport_size({"width": 1366, "height": 768})
    # Asked again: the cluster lives on, and "back to now" shows what it does meanwhile.
    assert lies(walk.events(), drawn) == []
    come_back(walk)


@pytest.mark.parametrize(("width", "height"), NARROW)
def test_on_a_narrow_page_the_kill_is_in_sight(walk: Walk, width: int, height: int) -> None:
    walk.page.set_viewport_size({"width": width, "height": height})
    walk.until("kill")
    expect(walk.page.locator(".lab-above")).to_have_count(1)
    see_the_kill(walk, next(place for place in (1, 2, 3) if leads(walk.view, place)))


def come_back(walk: Walk) -> None:
    """Saved, its kernel ended, opened again: each picture is there, as it was seen last."""
    page, pictures = walk.page, 0
    with page.expect_response(lambda it: it.request.method == "PUT" and LAB in it.url):
        page.keyboard.press("Control+s")
    for cell in nbformat.read(walk.lab.root / YOURS, 4).cells:  # type: ignore[no-untyped-call]
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            assert "application/vnd.jupyter.widget-view+json" not in data, cell.id
            pictures += "image/svg+xml" in data
    assert pictures == PICTURES
    walk.lab.end_kernels()
    page.set_viewport_size({"width": 1366, "height": 768})
    for theme in ("dark", "light"):
        turn(page, theme)
        page.goto(walk.lab.page(LAB))
        expect(page.locator("#jp-main-statusbar")).to_contain_text("| Idle")
        expect(walk.lesson.panel.locator(".jp-RenderedSVG img")).to_have_count(PICTURES)
        expect(walk.lesson.panel).not_to_contain_text("model not found")
        walk.lesson.panel.locator(".jp-RenderedSVG img").last.scroll_into_view_if_needed()
        walk.lesson.photograph(f"opened_again_{theme}")


def turn(page: Page, theme: str) -> None:
    if theme == "dark":
        return darken(page)
    page.emulate_media(color_scheme="light")
    expect(page.locator("body")).to_have_attribute("data-jp-theme-light", "true")


def leads(view: Locator, broker: int) -> bool:
    replica = part(view, f"broker {broker}").locator('[data-key="orders-0"]')
    return ": leader" in (replica.get_attribute("aria-label") or "")


def see_the_kill(walk: Walk, leader: int) -> None:
    """Without a scroll: who runs the cell sees the broker die, and another one lead."""
    dock = walk.page.locator(".lab-dock")
    died = part(dock, f"broker {leader}")
    walk.step()
    expect(died).to_have_attribute("aria-label", re.compile("killed"))
    for shape in (died, part(dock, "timeline")):
        expect(shape).to_be_in_viewport(ratio=0.99)
    elected = dock.get_by_text(f"new leader: orders-0 {leader} →").first
    expect(elected).to_be_in_viewport(ratio=0.99)
    walk.place += 1
    walk.ended()
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    size = walk.page.viewport_size
    assert size
    walk.lesson.photograph(f"killed_in_sight_{size['width']}")
