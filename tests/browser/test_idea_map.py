"""The map of ideas at the end of lab 00, with a mark on what was answered."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.jupyter import Lab, darken
from tests.browser.lesson import Lesson, part
from widgets.ideas.idea import ideas, lab_places
from widgets.progress.record import ProgressFile, TaskPlace

LAID_OUT = """it => {  // for the page; on a narrow one the map is wider, and scrolls
    const wide = it.querySelector("svg").viewBox.baseVal.width;
    return wide === Math.min(Math.max(it.clientWidth, 372), 1100);
}"""


@pytest.fixture
def lesson(page: Page, lab: Lab) -> Lesson:
    lesson = Lesson(page, "00_start")
    page.keyboard.press("Control+b")  # the file browser is folded, as `make lab` has it
    return lesson


def test_the_map_marks_what_was_answered(lesson: Lesson, lab: Lab) -> None:
    card = lesson.run("IdeaMap()").locator(".lab-stage")
    expect(part(card, "epoch")).to_contain_text("who came later")
    expect(part(card, "high watermark")).not_to_contain_text("✓")
    path = lab.root / "labs/yours/progress.json"
    place = TaskPlace(lab_places()[ideas()["high watermark"].cell].lab, "marks-predict")
    ProgressFile(path).estimated(place, "When?", "300 ms", "504 ms", "1.7 times", right=False)
    expect(part(card, "high watermark")).to_contain_text("✓")
    for theme in ("light", "dark"):
        if theme == "dark":
            darken(lesson.page)
        for width in (1366, 390):
            lesson.page.set_viewport_size({"width": width, "height": 900})
            card.scroll_into_view_if_needed()
            lesson.page.wait_for_function(LAID_OUT, arg=card.locator(".lab-frame").element_handle())
            expect(part(card, "log")).to_be_visible()
            lesson.photograph(f"map_{theme}_{width}", card)
    path.unlink()
