"""A real JupyterLab and a real Chromium, for tests that look at the screen.

`lab` is JupyterLab started as `make lab` starts it, but with a home of its own and on a copy of the
repository, so that a test may click what it likes. `page` is a fresh page on it, with labs/ in its
file browser: it ends with a screenshot in build/screenshots/, and fails if the browser's console
held an error, a picture stopped, or a thread of the kernel ended in one. `notebook` is a new
notebook on that page, whose cells a test can run. What a test has `measured` is printed at the end
of the run.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from tests.browser.jupyter import ROOT, Lab, Notebook, running_lab
from tests.limits import START_S

SCREENSHOTS = ROOT / "build" / "screenshots"
BROWSERS = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
FLAGS = [
    "--no-sandbox",  # which root, as in CI, cannot have
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
TOLD = ".lab-trouble, [data-mime-type='application/vnd.jupyter.stderr']"  # a view, a thread
NOISE = "Could not restore the debugger state"  # JupyterLab, when a kernel ends as it is opened
STOPPED = re.compile("The picture stands still|Exception in thread")
expect.set_options(timeout=START_S * 1000)


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with running_lab(tmp_path_factory.mktemp("lab")) as lab:
        yield lab


def chromium() -> str:
    """Where it is. If it is nowhere, nothing is tested."""
    named = os.environ.get("BROWSER_PATH")
    path = next(filter(None, map(shutil.which, [named] if named else BROWSERS)), None)
    if path is None:
        pytest.exit(
            (f"BROWSER_PATH={named} is not a program. " if named else "No browser found. ")
            + "Install Chromium (Debian and Ubuntu: sudo apt install chromium) or Google Chrome, "
            "or say where one is: make browser BROWSER_PATH=/path/to/chrome",
            returncode=1,
        )
    return path


class ProcessBrowser:
    """One browser for all tests of a process, in whichever folder: Playwright starts once in it."""

    def __init__(self) -> None:
        self._users = 0
        self._started = ExitStack()
        self._browser: Browser | None = None

    @contextmanager
    def used(self) -> Iterator[Browser]:
        """Started for the first who uses it, closed after the last."""
        if self._browser is None:
            playwright = self._started.enter_context(sync_playwright())
            self._browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
            self._started.callback(self._browser.close)
        self._users += 1
        try:
            yield self._browser
        finally:
            self._users -= 1
            if not self._users:
                self._browser = None
                self._started.close()


process_browser = ProcessBrowser()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with process_browser.used() as browser:
        yield browser


@pytest.fixture
def page(lab: Lab, browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """JupyterLab as it is at first. An error in its console fails the test, at its end."""
    # What another test has chosen, saved and answered.
    for left in (lab.settings, lab.root / "labs" / "yours"):
        shutil.rmtree(left, ignore_errors=True)
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.set_default_timeout(START_S * 1000)
    errors: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        if message.type == "error" and not message.text.startswith(NOISE):
            errors.append(message.text)

    page.on("console", hear)
    page.on("pageerror", lambda error: errors.append(str(error)))
    try:
        page.goto(lab.page("labs"))
        expect(page.locator(".jp-DirListing")).to_be_visible()
        yield page
        errors += [text for text in page.locator(TOLD).all_inner_texts() if STOPPED.search(text)]
    finally:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SCREENSHOTS / f"{request.node.name}.png")
        context.close()
        lab.end_kernels()
    assert errors == []


@pytest.fixture
def notebook(page: Page) -> Notebook:
    return Notebook(page)


@pytest.fixture
def measured(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Tell a measurement, in words."""
    return lambda words: record_property("measured", words)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whole labs last: nbval runs their cells, too, and CI's time may be over before the end."""
    items.sort(key=lambda item: item.path.stem.endswith("_lab"))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Properties come home from other processes, too; what is printed there doesn't."""
    for report in terminalreporter.getreports("passed"):
        for name, words in report.user_properties:
            if report.when == "call" and name == "measured":
                terminalreporter.write_line(f"{report.nodeid}: {words}")
