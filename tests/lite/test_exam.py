"""An exam of the oracle in a tab, and a reload after it."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import SCREENSHOTS
from tests.interop.watch import until
from tests.limits import CELL_S
from tests.lite.open_lab import OpenLab

QUESTIONS = 20


@pytest.mark.long
@pytest.mark.timeout(4 * CELL_S)
def test_an_exam_is_taken_and_its_score_is_there_after_a_reload(context, site):
    lab = OpenLab(context.new_page(), site, "oracle")
    lab.open()
    exam = lab.run("exam").locator(".lab-stage")
    for question in range(1, QUESTIONS + 1):
        expect(exam).to_contain_text(f"{question} of {QUESTIONS}")
        exam.locator("svg.lab-scene [data-key^='answer']").first.click()
        expect(exam).to_contain_text("so it was")  # the kernel has judged it
        if question < QUESTIONS:
            exam.get_by_role("button", name="next question").click()
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    lab.page.emulate_media(color_scheme="dark")
    lab.page.screenshot(path=SCREENSHOTS / "lite_exam.png")
    until(lambda: answered(lab) == QUESTIONS)  # it is written a moment after it is shown
    lab.page.reload()
    lab.ready()
    assert answered(lab) == QUESTIONS


def answered(lab: OpenLab) -> int:
    """How many answers of the exam are kept."""
    ideas = lab.kept().get("exam", {}).get("ideas", {})
    return sum(total for _, total in ideas.values())
