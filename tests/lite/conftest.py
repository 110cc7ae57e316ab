"""The browser edition as `make lite` has built it, on a server of files alone."""

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from lite.sources import SITE
from tests.browser.conftest import browser

__all__ = ["SITE", "browser"]


class QuietHandler(SimpleHTTPRequestHandler):
    """Sends files, and prints nothing."""

    def log_message(self, *words: object) -> None:
        """An access log is of no use in a test."""


@pytest.fixture(scope="session")
def site() -> Iterator[str]:
    """Its address."""
    if not (SITE / "lab" / "index.html").exists():
        pytest.exit("There is no build/lite/ yet: run make lite, or make lite-test", returncode=1)
    server = ThreadingHTTPServer(("localhost", 0), partial(QuietHandler, directory=SITE))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://localhost:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()
