"""The browser edition as `make lite` has built it, on a server of files alone."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext

from lite.sources import SITE
from tests.browser.conftest import browser

__all__ = ["SITE", "browser"]


class QuietHandler(SimpleHTTPRequestHandler):
    """Sends files, and prints nothing."""

    def log_message(self, *words: object) -> None:
        """An access log is of no use in a test."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a file server on this folder."""
    server = ThreadingHTTPServer(("localhost", 0), partial(QuietHandler, directory=folder))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://localhost:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="session")
def site() -> Iterator[str]:
    """The address of the browser edition."""
    if not (SITE / "lab" / "index.html").exists():
        pytest.exit("There is no build/lite/ yet: run make lite, or make lite-test", returncode=1)
    with served(SITE) as address:
        yield address


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser with empty storage, which all its pages share."""
    context = browser.new_context(viewport={"width": 1366, "height": 900})
    yield context
    context.close()
