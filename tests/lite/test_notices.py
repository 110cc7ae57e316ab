"""What a tab says when the browser refuses something: one sentence each."""

import re

import pytest
from playwright.sync_api import expect

LAB = "lab/index.html?path=labs/00_start.ipynb"
NO_WEBASSEMBLY = "delete window.WebAssembly"
NO_WORKER = "window.Worker = class { constructor() { throw new Error('blocked by a policy') } }"
NO_STORAGE = "Object.defineProperty(window, 'indexedDB', { get() { throw new Error('refused') } })"


@pytest.mark.long
@pytest.mark.parametrize(
    ("refusal", "words"),
    [
        (NO_WEBASSEMBLY, "This browser has no WebAssembly"),
        (NO_WORKER, "does not start a worker, in which Python runs here: blocked by a policy"),
        (NO_STORAGE, "keeps nothing of this page"),
    ],
)
def test_what_a_lab_cannot_have_is_told_in_a_sentence(context, site, refusal, words):
    page = context.new_page()
    page.add_init_script(refusal)
    page.goto(f"{site}/{LAB}")
    expect(page.locator("#lite-notices p")).to_have_count(1)
    expect(page.locator("#lite-notices")).to_contain_text(words)


@pytest.mark.long
def test_a_worker_that_is_blocked_stops_the_playground_with_a_sentence(context, site):
    page = context.new_page()
    page.add_init_script(NO_WORKER)
    page.goto(f"{site}/playground/")
    expect(page.locator("#progress")).to_contain_text("does not start a worker")


@pytest.mark.long
def test_a_second_tab_says_that_there_is_another_one(context, site):
    """The first tab says nothing, and the notice of the second can be closed."""
    first, second = context.new_page(), context.new_page()
    first.goto(f"{site}/playground/")
    second.goto(f"{site}/playground/")
    notice = second.locator("#lite-notices p")
    expect(notice).to_have_text(re.compile("open in another tab, too"))
    expect(first.locator("#lite-notices p")).to_have_count(0)
    notice.get_by_role("button").click()
    expect(notice).to_have_count(0)
