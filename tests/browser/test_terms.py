"""Two pictures of one recording below a text: terms and figures light each other up, by pointer and
by key, and there is one clock."""

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import SCREENSHOTS
from tests.browser.jupyter import ROOT, Lab, darken
from widgets.ideas.idea import ideas

TERMS = {
    "high-watermark": (".watermark", ".trail.high"),
    "in-sync-replica": (".chip rect.follower", ".dots.sync"),
    "leader": (".chip rect.leader", ".trail.lead"),
    "log-end-offset": ("text[data-key='end']", ".trail.sync"),
    "controller": (".crown", ""),
    "epoch": ("", "[data-key^='epoch '] text"),
}
LIT = """it => {
    const style = getComputedStyle(it);
    return style.filter !== 'none' || style.textDecorationLine === 'underline';
}"""


@pytest.fixture
def notebook(page: Page, lab: Lab) -> Iterator[Page]:
    path = lab.root / "labs" / "terms.ipynb"
    shutil.copy(ROOT / "tests" / "browser" / "terms.ipynb", path)
    page.set_viewport_size({"width": 1366, "height": 1700})
    page.goto(lab.page("labs/terms.ipynb"))
    expect(page.locator("#jp-main-statusbar")).to_contain_text("| Idle")
    told = ideas()["high watermark"].words  # also where nothing has run
    expect(term(page, "high-watermark")).to_have_attribute("title", told)
    page.locator(".jp-CodeCell .cm-content").first.click()
    page.keyboard.press("Shift+Enter")
    expect(page.locator(".lab-scene")).to_have_count(1)
    page.keyboard.press("Shift+Enter")
    expect(page.locator(".lab-scene")).to_have_count(2)
    yield page
    path.unlink()


def term(page: Page, name: str) -> Locator:
    return page.locator(f".jp-MarkdownCell a[href*='/docs/glossary.md'][href$='#{name}']")


def clock(page: Page, number: int) -> Locator:
    return page.locator(".lab-scene").nth(number).locator("[data-key='clock']")


@pytest.mark.timeout(300)
def test_terms_and_figures_light_each_other_up_and_there_is_one_clock(notebook: Page) -> None:
    page = notebook
    for theme in ("light", "dark"):
        if theme == "dark":
            darken(page)
        for name, shapes in TERMS.items():
            term(page, name).hover()
            for number, selector in enumerate(shapes):
                scene = page.locator(".lab-scene").nth(number)
                if not selector:
                    continue
                expect(scene).to_have_attribute("data-term", name)
                assert scene.locator(selector).first.evaluate(LIT), (name, number)
            if name in ("high-watermark", "in-sync-replica"):
                page.screenshot(path=SCREENSHOTS / f"terms_{name}_{theme}.png")
            page.mouse.move(2, 2)
            expect(page.locator(".lab-scene[data-term]")).to_have_count(0)

    term(page, "quota").hover()  # where no picture has it nothing happens
    expect(page.locator(".lab-scene[data-term]")).to_have_count(0)

    term(page, "high-watermark").focus()  # by keyboard
    expect(page.locator(".lab-scene[data-term='high-watermark']")).to_have_count(2)
    page.keyboard.press("Tab")
    expect(term(page, "in-sync-replica")).to_be_focused()
    expect(page.locator(".lab-scene[data-term='in-sync-replica']")).to_have_count(2)

    scene = page.locator(".lab-scene").first  # and the other way round
    scene.locator(".watermark").first.hover(force=True)
    expect(page.locator(".jp-MarkdownCell a.lab-lit")).to_have_text(["high watermark"])
    scene.locator("[data-key^='leader.elected']").last.focus()
    expect(page.locator(".jp-MarkdownCell a.lab-lit")).to_have_text(["epoch"])
    page.mouse.move(2, 2)

    end = clock(page, 0).text_content() or ""
    stage = page.locator(".lab-stage")
    stage.nth(1).get_by_role("button", name="back to the beginning").click()
    expect(clock(page, 1)).to_have_text("0.0 s")
    expect(clock(page, 0)).to_have_text("0.0 s")
    stage.nth(0).get_by_role("button", name="to the end").click()
    for number in (0, 1):
        expect(clock(page, number)).to_have_text(end)
