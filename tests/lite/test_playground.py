"""The playground in Chromium: a cluster that is broken by hand, and what may go wrong there."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.conftest import SCREENSHOTS
from tests.limits import JVM_S

READY_MS = JVM_S * 1000  # until Python has started in a busy browser
TICK_MS = 100  # between two states that the worker sends while its clock goes
STANDS = """() => {
    const [was, now] = [window.clockWas, document.querySelector('#clock').textContent];
    window.clockWas = now;
    return was === now;
}"""


class Visit(NamedTuple):
    context: BrowserContext
    page: Page
    foreign: list[str]  # requests for other addresses than the site's

    def open(self, address: str) -> None:
        self.page.goto(address)
        expect(self.page.locator("#progress")).to_have_text(re.compile(r"loaded: \d+ MB.* \d+ %$"))
        expect(self.page.locator("#picture svg").first).to_be_visible(timeout=READY_MS)

    def broker(self, number: int) -> str:
        """What the picture says of it to those who hear it."""
        shape = self.page.locator(f"#picture [aria-label^='broker {number}:']").first
        return shape.get_attribute("aria-label") or ""

    def act(self, number: int, act: str) -> None:
        self.page.locator(f"#picture [aria-label^='broker {number}:']").first.click()
        self.page.get_by_role("menuitem", name=act).first.click()


@pytest.fixture
def visit(browser: Browser, site: str, request: pytest.FixtureRequest) -> Iterator[Visit]:
    context = browser.new_context(viewport={"width": 1366, "height": 900})
    foreign: list[str] = []
    own = (site, "data:", "blob:")
    context.on("request", lambda it: it.url.startswith(own) or foreign.append(it.url))
    page = context.new_page()
    yield Visit(context, page, foreign)
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{request.node.name}.png", full_page=True)
    context.close()
    assert foreign == []


def test_a_broker_is_killed_and_another_one_leads(visit, site):
    visit.open(f"{site}/playground/")
    visit.act(2, "kill")
    expect(visit.page.locator("#picture")).to_contain_text("new leader", timeout=READY_MS)
    assert "killed" in visit.broker(2)
    expect(visit.page.locator("#verdict")).to_have_text(re.compile("All [0-9]+ hold"))


@pytest.mark.long
def test_the_second_visit_needs_no_network(visit, site):
    visit.open(f"{site}/playground/")
    visit.context.set_offline(True)
    visit.page.reload()
    expect(visit.page.locator("#picture svg").first).to_be_visible(timeout=READY_MS)


@pytest.mark.long
def test_a_quorum_on_a_dark_phone_steps_while_its_clock_stands(visit, site):
    visit.page.set_viewport_size({"width": 390, "height": 844})
    visit.page.emulate_media(color_scheme="dark")
    visit.open(f"{site}/playground/")
    visit.page.select_option("#mode", "kraft")
    expect(visit.page.locator("#picture")).to_contain_text("Controllers", timeout=READY_MS)
    visit.page.get_by_role("button", name="pause", exact=True).click()
    visit.page.wait_for_function(STANDS, polling=4 * TICK_MS)
    before = visit.page.locator("#clock").inner_text()
    visit.page.get_by_role("button", name="100 ms forward").click()
    expect(visit.page.locator("#clock")).not_to_have_text(before)
    now = visit.page.locator("#clock").inner_text()
    expect(visit.page.locator("#picture")).to_contain_text(now)  # its timeline says the same
    width = visit.page.evaluate("document.documentElement.scrollWidth")
    assert width <= 390


@pytest.mark.long
def test_from_a_moment_in_the_past_it_goes_on_as_another_run(visit, site):
    """A broker is killed. Half a second before, it is up again in a run with acks=1."""
    visit.open(f"{site}/playground/")
    button, past = visit.page.get_by_role, visit.page.locator("#past")
    button("button", name="pause", exact=True).click()
    visit.act(2, "kill")
    for _ in range(5):
        button("button", name="100 ms forward").click()
    for _ in range(6):
        button("button", name="100 ms back").click()
    expect(past).to_contain_text("You look at the past")
    shown = visit.page.locator("#clock").inner_text()
    visit.page.select_option("#acks", "1")
    button("button", name="go on from here").click()
    told = f"The same run up to {shown}, from there on with acks=1."
    expect(past).to_have_text(told, timeout=READY_MS)
    assert "killed" not in visit.broker(2)
    assert visit.page.locator("#acks").input_value() == "1"
    expect(visit.page.locator("#clock")).to_have_text(shown)


@pytest.mark.long
def test_without_webassembly_there_is_a_sentence(visit, site):
    visit.page.add_init_script("delete window.WebAssembly")
    visit.page.goto(f"{site}/playground/")
    expect(visit.page.locator("#progress")).to_contain_text("has no WebAssembly")


@pytest.mark.long
def test_where_storage_is_refused_the_cluster_runs_all_the_same(visit, site):
    visit.page.add_init_script(
        "navigator.serviceWorker.register = () => Promise.reject(new Error('refused'))"
    )
    visit.open(f"{site}/playground/")


@pytest.mark.long
def test_two_tabs_have_two_clusters(visit, site):
    visit.open(f"{site}/playground/")
    other = Visit(visit.context, visit.context.new_page(), visit.foreign)
    other.open(f"{site}/playground/")
    visit.act(1, "kill")
    expect(visit.page.locator("#picture")).to_contain_text("new leader", timeout=READY_MS)
    assert "killed" in visit.broker(1)
    assert "killed" not in other.broker(1)
