"""Estimates in lab 02: numbers by keyboard and by mouse, before and after the cells have run."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.jupyter import Lab, darken
from tests.browser.lesson import Lesson, part
from tests.interop.watch import until

ASK = "guess = questions.how_long()"
WIDTHS = (1366, 390)
IN_SIGHT = """async it => {  // and stays there: the page moves as long as JupyterLab lays it out
    it.scrollIntoView({ block: "center" });
    for (let frame = 0; frame < 20; frame++) await new Promise(requestAnimationFrame);
    const box = it.getBoundingClientRect();
    return it.isConnected && 0 <= box.top && box.bottom <= innerHeight;
}"""
FITS = """it => {  // the picture is laid out for the page, which may be narrower than it can be
    const wide = it.querySelector("svg").viewBox.baseVal.width;
    return wide === Math.min(Math.max(it.clientWidth, 280), 1100);
}"""


@pytest.fixture
def lesson(page: Page, lab: Lab) -> Lesson:
    lesson = Lesson(page, "02_replication")
    page.keyboard.press("Control+b")  # the file browser is folded, as `make lab` has it
    return lesson


def look(lesson: Lesson, name: str, card: Locator) -> None:
    """In both themes and widths: the whole line is on the page."""
    page = lesson.page
    for theme in ("light", "dark"):
        if theme == "dark":
            darken(page)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 768})
            line = part(card, "future")
            until(lambda line=line: line.evaluate(IN_SIGHT))
            expect(line).to_be_in_viewport()
            page.wait_for_function(FITS, arg=card.locator(".lab-frame").element_handle())
            lesson.photograph(f"estimate_{name}_{theme}_{width}")
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1280, "height": 1000})


@pytest.mark.timeout(300)
def test_a_number_is_chosen_by_arrows_by_the_mouse_and_by_typing_it(lesson: Lesson) -> None:
    page = lesson.page
    card = lesson.run(ASK).locator(".lab-stage")
    look(lesson, "asked", card)

    slider = card.get_by_role("slider")
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(card).to_contain_text("● 600 ms")
    page.keyboard.press("ArrowLeft")
    expect(card).to_contain_text("● 500 ms")
    page.keyboard.press("Enter")
    active = lesson.panel.locator(".jp-Cell.jp-mod-active")
    expect(active).to_contain_text("sim = Simulation")  # or Shift+Enter would ask again
    box = slider.bounding_box()
    assert box
    page.mouse.click(box["x"] + 2, box["y"] + box["height"] / 2)
    expect(card).to_contain_text("● 50 ms")
    page.mouse.click(box["x"] + 80, box["y"] + box["height"] / 2, button="right")
    page.keyboard.press("Escape")  # the menu of the browser or of JupyterLab

    card.get_by_role("button", name="a hint").click()
    expect(card).to_contain_text("Hint: There are only Fetch requests")
    expect(card).to_contain_text("● 50 ms")  # the kernel has heard of no other answer
    field = card.get_by_role("spinbutton", name="your answer, ms")
    field.fill("300")
    field.press("Enter")
    expect(card).to_contain_text("● 300 ms")
    expect(active).to_contain_text("sim = Simulation")
    lesson.photograph("estimate_chosen")

    lesson.run('sent = sim.send("orders", "two teas"')
    told = lesson.run("guess.outcome(sent.answered_ms)")
    expect(told).to_contain_text("You predicted: 300 ms. What happened: 50")
    expect(told).to_contain_text("Your number is 1.7 times too small.")
    expect(card.get_by_role("slider")).to_have_count(0)
    expect(card).to_contain_text("✗ 300 ms, 1.7 times too small")
    look(lesson, "told", card)
