"""A newcomer walks through 00 at 1366 by 768, and does only what the page says, in its order.

Shift+Enter, an answer by the mouse, then Shift+Enter again; and what "Your turn" asks for is done
in the picture where the lab has put it: beside the cells.
"""

import json
import re
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.jupyter import ROOT, Lab
from tests.browser.lesson import Lesson, part

CELLS = nbformat.read(ROOT / "labs" / "00_start.ipynb", 4).cells  # type: ignore[no-untyped-call]
SEEN = """([cell, outer]) => {  // as much of it as has room
    const [at, within] = [cell.getBoundingClientRect(), outer.getBoundingClientRect()];
    const seen = Math.min(at.bottom, within.bottom) - Math.max(at.top, within.top);
    return seen >= Math.min(at.height, within.height / 2) - 1;
}"""
LEGEND = "leader", "in sync", "out of sync", "high watermark"


class Newcomer:
    def __init__(self, page: Page, lab: Lab) -> None:
        self.lesson = Lesson(page, "00_start")
        page.set_viewport_size({"width": 1366, "height": 768})
        self.page, self.panel, self.lab = page, self.lesson.panel, lab
        page.keyboard.press("Control+b")  # the file browser is folded, as `make lab` has it
        self.panel.locator(".jp-CodeCell .cm-content").first.click()

    @property
    def active(self) -> Locator:
        return self.panel.locator(".jp-Cell.jp-mod-active")

    @property
    def dock(self) -> Locator:
        return self.page.locator(".lab-dock")

    @property
    def place(self) -> int:
        """The number of the active cell among all cells."""
        return int(self.active.evaluate("it => [...it.parentNode.children].indexOf(it)"))

    def run(self) -> Locator:
        """Shift+Enter, once; the cell that has run."""
        cell = self.panel.locator(".jp-Cell").nth(self.place)
        self.page.keyboard.press("Shift+Enter")
        expect(self.panel.locator(".jp-InputPrompt", has_text="[*]")).to_have_count(0)
        return cell

    def run_until(self, name: str) -> None:
        """Shift+Enter again and again, until this cell is the active one. Beside a docked picture
        each is in sight."""
        wanted = next(place for place, cell in enumerate(CELLS) if cell.id == name)
        while self.place < wanted:
            before = self.place
            self.run()
            assert self.place == before + 1, CELLS[before].id
            if self.dock.count():
                self.sees_the_active_cell()

    def sees_the_active_cell(self) -> None:
        outer = self.panel.locator(".jp-WindowedPanel-outer").element_handle()
        self.page.wait_for_function(SEEN, arg=[self.active.element_handle(), outer])

    def answers(self, name: str, words: str) -> None:
        """Run the cell of a question, and click an answer."""
        self.run_until(name)
        card = self.run().locator(".lab-stage")
        answer = card.locator(f'[data-key^="answer "][aria-label*="{words}"]')
        answer.click()
        expect(answer).to_contain_text("● your prediction")

    def estimates(self, name: str, number: str) -> None:
        """Run the cell of a question, and type a number: Enter leads on to the next cell."""
        self.run_until(name)
        card = self.run().locator(".lab-stage")
        card.get_by_role("spinbutton", name="your answer").click()
        self.page.keyboard.type(number)
        self.page.keyboard.press("Enter")
        expect(card).to_contain_text(f"● {number}")

    def broker(self, word: str) -> Locator:
        """The card of the broker of which the docked picture says so."""
        return self.dock.locator(f'[data-key^="broker "][aria-label*="{word}"]')


@pytest.fixture
def newcomer(page: Page, lab: Lab) -> Newcomer:
    return Newcomer(page, lab)


@pytest.mark.timeout(400)
def test_a_newcomer_does_what_the_page_says(newcomer: Newcomer) -> None:
    lesson, dock = newcomer.lesson, newcomer.dock
    newcomer.run_until("record-text")
    sees_what_the_text_says(newcomer)
    lesson.photograph("newcomer_docked")

    newcomer.run_until("log")
    log = newcomer.run().locator(".lab-stage")
    log.get_by_role("spinbutton", name="offset").click()  # "Type an offset to see how it is found"
    newcomer.page.keyboard.type("0")
    newcomer.page.keyboard.press("Enter")
    newcomer.answers("predict", "It survives")
    newcomer.estimates("seconds-predict", "4.5")
    newcomer.run_until("kill")
    newcomer.run()
    expect(newcomer.broker("killed")).to_have_count(1)
    expect(dock.get_by_text("new leader: orders-0").first).to_be_in_viewport(ratio=0.99)
    newcomer.run_until("outcome")
    expect(newcomer.run().locator(".jp-OutputArea")).to_contain_text("As you predicted")
    newcomer.answers("careless-predict", "and the coffee")
    newcomer.run_until("exercise-text")
    for told in ("cut ", "killed", "new leader"):  # what led to the loss is still listed
        listed = dock.locator("svg.lab-scene").get_by_text(told)
        expect(listed.last).to_be_in_viewport(ratio=0.99)
    lesson.photograph("newcomer_lost")

    newcomer.run_until("exercise")
    check = newcomer.run().locator(".lab-stage")
    expect(check).to_contain_text("Not yet:")
    does_the_exercise(newcomer)
    expect(check).to_contain_text("Done: the cluster says so.")
    lesson.photograph("newcomer_done")
    is_written_down(newcomer.lab.root / "labs/yours/progress.json")


def sees_what_the_text_says(newcomer: Newcomer) -> None:
    """One replica leads (blue, and named L); the crown marks the controller."""
    newcomer.sees_the_active_cell()
    chips = newcomer.dock.locator('[data-key^="broker "] [data-key="role"] text')
    expect(chips).to_have_count(3)
    assert sorted(chips.all_text_contents()) == ["F", "F", "L"]
    for sign in LEGEND:
        legend = newcomer.dock.locator('[data-key="legend"]').get_by_text(sign, exact=True)
        expect(legend).to_be_in_viewport(ratio=0.99)
    expect(newcomer.dock.get_by_text("click", exact=True)).to_have_count(0)
    expect(newcomer.dock.get_by_text("♛").first).to_be_in_viewport()


def is_written_down(progress: Path) -> None:
    kept = json.loads(progress.read_text(encoding="utf-8"))
    tasks = kept["labs"]["00_start"]
    assert list(tasks) == ["predict", "seconds-predict", "careless-predict", "exercise"]
    assert tasks["predict"]["predicted"] == tasks["predict"]["happened"] == "It survives"
    assert tasks["seconds-predict"]["predicted"] == "4.5 s"
    assert kept["broken"]["kill"] >= 1


def does_the_exercise(newcomer: Newcomer) -> None:
    """By the mouse, in the dock: the dead broker first, then the one that leads."""
    dead = newcomer.broker("killed")
    expect(dead).to_have_count(1)
    number = dead.get_attribute("data-key")
    dead.locator("text", has_text="broker").click()
    again = part(newcomer.dock, str(number))
    in_sync = again.locator('[data-key="orders-0"][aria-label*="in sync"]')
    expect(in_sync).to_be_visible()

    leader = newcomer.broker("up, leads 1")
    expect(leader).to_have_count(1)
    number = leader.get_attribute("data-key")
    leader.locator("text", has_text="broker").click()
    kill = newcomer.dock.get_by_role("menuitem", name="kill")
    expect(kill).to_be_focused()  # the menu stays open
    newcomer.lesson.photograph("newcomer_menu")
    kill.click()
    expect(part(newcomer.dock, str(number))).to_have_attribute("aria-label", re.compile("killed"))
    ended = re.compile("unavailable for .* Lost: nothing")
    expect(part(newcomer.dock, "cost")).to_have_attribute("aria-label", ended)
