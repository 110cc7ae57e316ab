"""A learner's first five minutes, on the page: guessing and killing with the mouse."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import SCREENSHOTS
from tests.browser.jupyter import Lab, darken


class Lesson:
    """00_start, opened in JupyterLab."""

    def __init__(self, page: Page) -> None:
        self.page = page
        page.locator(".jp-DirListing-item", has_text="00_start.ipynb").dblclick()
        self.panel = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")
        expect(page.locator("#jp-main-statusbar")).to_contain_text("| Idle")

    def cell(self, words: str) -> Locator:
        """The code cell with these words in it."""
        return self.panel.locator(".jp-CodeCell").filter(
            has=self.page.locator(".jp-InputArea-editor", has_text=words)
        )

    def run(self, words: str) -> Locator:
        """Run a cell and see it end; what it shows."""
        cell = self.cell(words)
        cell.locator(".cm-content").click()
        self.page.keyboard.press("Control+Enter")
        return self.ended(cell)

    def ended(self, cell: Locator) -> Locator:
        expect(cell.locator(".jp-InputPrompt")).to_have_text(re.compile(r"\[\d+\]:"))
        return cell.locator(".jp-OutputArea").first

    def menu(self, *words: str) -> None:
        self.page.get_by_role("menuitem", name=words[0], exact=True).click()
        for each in words[1:]:
            self.page.locator(".lm-Menu-itemLabel", has_text=re.compile(f"^{each}$")).click()

    def photograph(self, name: str, what: Locator | None = None) -> None:
        """A part, or what is on the screen."""
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        (what or self.page).screenshot(path=SCREENSHOTS / f"start_{name}.png")


@pytest.fixture
def lesson(page: Page) -> Lesson:
    page.set_viewport_size({"width": 1280, "height": 1000})
    return Lesson(page)


def part(stage: Locator, key: str) -> Locator:
    return stage.locator(f'[data-key="{key}"]').first


def leader_on(view: Locator) -> int:
    """As the picture of the cluster has it."""
    for number in (1, 2, 3):
        replica = part(view, f"broker {number}").locator('[data-key="orders-0"]')
        if ": leader" in (replica.get_attribute("aria-label") or ""):
            return number
    pytest.fail("nobody leads on the page")


def test_the_lab_opens_on_it(page: Page, lab: Lab) -> None:
    page.goto(f"{lab.url}?token={lab.token}")
    expect(page.locator(".jp-NotebookPanel h1").first).to_contain_text("Five minutes")


def test_a_guess_a_kill_and_what_it_cost(lesson: Lesson) -> None:
    lesson.photograph("before")
    lesson.run("Cluster(brokers=3")
    view = lesson.run("ClusterView(cluster)").locator(".lab-stage")
    expect(view.locator("svg.lab-scene")).to_be_visible()
    expect(lesson.run("producer.flush")).to_have_text(re.compile("0$"))
    expect(lesson.run("SegmentView(cluster")).to_contain_text("offsets 0 to 1")
    expect(lesson.run("HexView(cluster")).to_contain_text("right ✓")

    guess = lesson.run("start.question()").locator(".lab-stage")
    lesson.photograph("asked", guess)
    part(guess, "ask").click()
    expect(guess).to_contain_text("Hint: Who had the record")
    part(guess, "answer 1").click()
    expect(part(guess, "answer 1")).to_contain_text("● your prediction")
    part(guess, "answer 3").focus()
    lesson.page.keyboard.press("Enter")
    expect(part(guess, "answer 3")).to_contain_text("● your prediction")
    expect(part(guess, "answer 1")).not_to_contain_text("prediction")
    lesson.photograph("guessed", guess)

    lesson.run("cluster.kill(leader)")
    expect(lesson.run("consumer.poll")).to_contain_text("two teas")
    expect(lesson.run("guess.outcome")).to_contain_text("As you predicted: It survives.")
    expect(part(guess, "answer 3")).to_contain_text("✓ so it was, as you said")
    lesson.photograph("told", guess)

    lesson.cell("ClusterView(cluster)").scroll_into_view_if_needed()
    view.scroll_into_view_if_needed()
    cost = re.compile("is the session time-out. Lost: nothing.")
    expect(part(view, "cost")).to_have_attribute("aria-label", cost)


def test_all_cells_at_once_and_then_the_exercise_with_the_mouse(lesson: Lesson) -> None:
    lesson.menu("Run", "Run All Cells")
    check = lesson.ended(lesson.cell("start.exercise(cluster)")).locator(".lab-stage")
    check.scroll_into_view_if_needed()
    expect(check).to_contain_text(re.compile(r"Not yet: broker \d does not answer."))
    view = lesson.panel.locator(".jp-CodeCell").filter(has_text=re.compile(r"^\s*\[\d+\]:\s*view"))
    view = view.locator(".lab-stage")
    view.scroll_into_view_if_needed()
    expect(view.locator('[aria-label*="killed"]').first).to_be_visible()
    victim = next(
        number
        for number in (1, 2, 3)
        if "killed" in (part(view, f"broker {number}").get_attribute("aria-label") or "")
    )
    lesson.photograph("cost")

    part(view, f"broker {victim}").locator("text.head").first.click()

    expect(part(view, f"broker {victim}")).to_have_attribute("aria-label", re.compile(": up"))
    check.scroll_into_view_if_needed()
    expect(check).to_contain_text("Done: the cluster says so.")
    lesson.photograph("passed", check)

    view.scroll_into_view_if_needed()
    leader = leader_on(view)
    part(view, f"broker {leader}").locator("text.head").first.click()
    view.get_by_role("menuitem", name="kill").click()

    expect(part(view, f"broker {leader}")).to_have_attribute("aria-label", re.compile("killed"))
    ended = re.compile("unavailable for .* Lost: nothing.")
    expect(part(view, "cost")).to_have_attribute("aria-label", ended)
    assert leader_on(view) != leader
    darken(lesson.page)
    lesson.photograph("dark")
    guess = lesson.ended(lesson.cell("start.question()")).locator(".lab-stage")
    guess.scroll_into_view_if_needed()
    expect(guess).to_contain_text("✓ so it was")
    lesson.photograph("told_dark", guess)
