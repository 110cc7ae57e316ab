"""A learner's first ten minutes in a tab: a guess, a kill by a click, a reload, a second tab."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import SCREENSHOTS
from tests.browser.lesson import part
from tests.limits import CELL_S
from tests.lite.open_lab import OpenLab


@pytest.mark.long
@pytest.mark.timeout(2 * CELL_S)
def test_the_second_visit_needs_no_network(context, site):
    """A tab that is opened again without network starts its kernel, and runs a cell."""
    lab = OpenLab(context.new_page(), site)
    lab.open()
    expect(lab.page.locator("html[data-kept]")).to_have_count(1, timeout=CELL_S * 1000)
    context.set_offline(True)
    lab.page.reload()
    lab.open()
    expect(lab.run("cluster")).to_contain_text("'orders'")


@pytest.mark.long
@pytest.mark.timeout(2 * CELL_S)
def test_a_guess_a_kill_by_a_click_and_a_reload_that_loses_nothing(context, site):
    """The guess is kept with what happened. After a reload it is still there, and in a second tab
    too."""
    lab = OpenLab(context.new_page(), site)
    lab.open()
    lab.run("cluster", "view", "record")
    guess = lab.run("predict").locator(".lab-stage")
    part(guess, "answer 3").click()
    expect(part(guess, "answer 3")).to_contain_text("● your prediction")
    expect(lab.run("kill")).to_contain_text(re.compile(r"[2-9]\.\d"))
    expect(lab.run("read", "outcome")).to_contain_text("As you predicted: It survives.")
    assert lab.kept()["predict"]["predicted"] == "It survives"
    lab.run("exercise")
    view = lab.page.locator(".lab-dock .lab-stage")
    killed = view.locator("[aria-label^='broker'][aria-label*='killed']").first
    dead = str(killed.get_attribute("aria-label")).removeprefix("broker ")[0]
    part(view, f"broker {dead}").get_by_text("broker").click()
    expect(part(view, f"broker {dead}")).to_have_attribute("aria-label", re.compile(": up"))
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    lab.page.screenshot(path=SCREENSHOTS / "lite_first_lab.png")

    lab.page.reload()
    lab.open()
    assert list(lab.kept()) == ["predict"]
    other = OpenLab(context.new_page(), site)
    other.open()
    assert list(other.kept()) == ["predict"]
