"""A lab is opened, run, saved and closed: the repository's own file stays as it came."""

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.jupyter import ROOT, Lab

LAB = Path("labs/01_storage.ipynb")
CHANGED = re.compile("jp-mod-dirty")


def open_lab(page: Page, lab: Lab) -> None:
    page.goto(lab.page(str(LAB)))
    expect(page.locator("#jp-main-statusbar")).to_contain_text("| Idle")


def test_a_lab_that_was_only_opened_closes_without_a_question(page: Page, lab: Lab) -> None:
    open_lab(page, lab)
    tab = page.get_by_role("tab", name=LAB.name)
    expect(tab).not_to_have_class(CHANGED)
    tab.locator(".lm-TabBar-tabCloseIcon").click()
    expect(tab).to_have_count(0)
    assert not (lab.root / "labs/yours" / LAB.name).exists()


def test_a_lab_that_was_saved_is_opened_as_it_was_left(page: Page, lab: Lab) -> None:
    open_lab(page, lab)
    editor = page.locator(".jp-CodeCell .cm-content").first
    editor.click()
    page.keyboard.press("Control+Home")
    page.keyboard.type("# mine\n")
    expect(page.get_by_role("tab", name=LAB.name)).to_have_class(CHANGED)
    with page.expect_response(lambda it: it.request.method == "PUT" and LAB.name in it.url):
        page.keyboard.press("Control+s")
    expect(page.get_by_role("tab", name=LAB.name)).not_to_have_class(CHANGED)
    assert (lab.root / LAB).read_bytes() == (ROOT / LAB).read_bytes()

    open_lab(page, lab)
    expect(page.locator(".jp-CodeCell .cm-content").first).to_contain_text("# mine")
