"""From the front page of the site on: a lab, an exam, a challenge, and a reload in between."""

import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from lite.sources import ROOT
from tests.browser.conftest import SCREENSHOTS
from tests.browser.test_oracle_lab import NAIVE, RIGHT
from tests.limits import CELL_S
from tests.lite.conftest import SITE, served
from tests.lite.open_lab import OpenLab

QUESTIONS = 20
JUDGED_MS = CELL_S * 1000


@pytest.fixture
def front(tmp_path: Path) -> Iterator[str]:
    """The offer of the site's first page, and the browser edition where make site puts it."""
    offer = runpy.run_path(str(ROOT / "docs" / "site" / "build.py"))["OFFER"]
    (tmp_path / "index.html").write_text(offer, encoding="utf-8")
    (tmp_path / "lite").symlink_to(SITE)
    with served(tmp_path) as address:
        yield address


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport={"width": 1366, "height": 900})
    yield context
    context.close()


@pytest.mark.long
@pytest.mark.timeout(4 * CELL_S)
def test_from_the_front_page_through_six_sections_of_lab_02(context, front):
    """No cell of them shows an error, and nothing is asked of another address."""
    foreign: list[str] = []
    own = (front, "data:", "blob:")
    context.on("request", lambda it: it.url.startswith(own) or foreign.append(it.url))
    page = context.new_page()
    page.goto(front)
    page.get_by_role("link", name="the labs in this tab").click()
    lab = OpenLab(page, front, "02_replication")
    lab.ready()
    page.locator(".jp-DirListing-item", has_text="02_replication").dblclick()
    expect(page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) h1")).to_contain_text("Replication")
    lab.ready()
    assert lab.run_above("sync-text") == []
    page.screenshot(path=SCREENSHOTS / "lite_six_sections.png")
    assert foreign == []


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
    lab.page.reload()
    lab.ready()
    assert sum(total for _, total in lab.kept()["exam"]["ideas"].values()) >= QUESTIONS


@pytest.mark.long
@pytest.mark.timeout(4 * CELL_S)
def test_a_challenge_is_lost_and_won_and_the_board_knows_it_after_a_reload(context, site):
    lab = OpenLab(context.new_page(), site, "challenges")
    lab.open()
    for rule, told in ((NAIVE, "Broken: "), (RIGHT, "It holds.")):
        lab.write("compact-rule", rule)
        judged = lab.run("compact-chapter", "compact-rule").locator(".lab-stage")
        expect(judged).to_contain_text(told, timeout=JUDGED_MS)
    lab.page.screenshot(path=SCREENSHOTS / "lite_challenge.png")
    lab.page.reload()
    lab.ready()
    expect(lab.run("board").locator(".lab-stage")).to_contain_text("1 of 15 hold")
