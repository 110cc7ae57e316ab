"""Who opens a lab sees its questions, and an outcome only after the cell has run."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.jupyter import Lab, darken
from tests.browser.lesson import Lesson

QUESTION = "How many folders of this topic are there"


@pytest.fixture
def lesson(page: Page, lab: Lab) -> Lesson:
    lesson = Lesson(page, "01_storage")
    page.keyboard.press("Control+b")  # the file browser is folded, as `make lab` has it
    return lesson


def test_an_opened_lab_has_questions_and_no_outcome(lesson: Lesson) -> None:
    lesson.go_to("questions.folders()")
    panel = lesson.panel
    for theme in "light", "dark":
        if theme == "dark":
            darken(lesson.page)
        for width in (1366, 390):
            lesson.page.set_viewport_size({"width": width, "height": 768})
            expect(panel.get_by_text(QUESTION)).to_be_visible()
            expect(panel.locator(".jp-OutputArea-output")).not_to_have_count(0)
            expect(panel.locator(".jp-OutputArea-output:not(:has(ol))")).to_have_count(0)
            expect(panel).not_to_contain_text("What happened:")
            lesson.photograph(f"opened_{theme}_{width}")


def test_the_outcome_comes_when_the_cell_has_run(lesson: Lesson) -> None:
    asked = lesson.run("questions.folders()")
    expect(asked.locator("svg.lab-scene")).to_contain_text("folders of this topic")
    lesson.run("partitions=5")
    expect(lesson.run("known = {1")).to_contain_text(
        "What happened: Five. A partition is a folder, and one replica means one folder."
    )
    for width in (1366, 390):
        lesson.page.set_viewport_size({"width": width, "height": 768})
        lesson.photograph(f"outcome_{width}")
    darken(lesson.page)
    lesson.photograph("outcome_dark_390")


def test_who_asks_is_shown_what_came_out_of_a_cell_that_has_not_run(lesson: Lesson) -> None:
    lesson.go_to("partitions=5").locator(".cm-content").click()
    lesson.page.keyboard.press("Control+Home")
    lesson.page.keyboard.type("%%came_out\n")
    lesson.page.keyboard.press("Control+Enter")
    output = lesson.ended("partitions=5")
    expect(output.locator("img")).to_be_visible()
    expect(output.locator(".lab-stage")).to_have_count(0)
    lesson.photograph("came_out", output)
