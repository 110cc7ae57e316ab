"""JupyterLab as Binder starts it, asked over HTTP as a browser would ask.

BinderHub replaces the image's own command by this one; the browser then follows the address in the
badge, or is sent to the default one.
"""

import json
import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, build_opener

from tests.binder.image import Image
from tests.limits import JVM_S

BASE, TOKEN = "/user/visitor/", "rehearsed"
FIRST = "labs/00_start.ipynb"
OPENER = build_opener(ProxyHandler({}))  # loopback is behind no proxy
EXTENSIONS = {"anywidget", "@jupyter-widgets/jupyterlab-manager"}  # what the widgets need
SETTINGS = (
    ("@jupyterlab/notebook-extension:tracker", "windowingMode", "defer"),
    ("@jupyterlab/apputils-extension:themes", "adaptive-theme", True),
    ("@jupyterlab/apputils-extension:notification", "fetchNews", "false"),
)


class Server:
    """A JupyterLab that runs, at an address of this machine alone."""

    def __init__(self, port: int) -> None:
        self.root = f"http://127.0.0.1:{port}{BASE}"

    def get(self, path: str) -> tuple[str, str]:
        """Where one ends up, and what is there."""
        with OPENER.open(f"{self.root}{path}?token={TOKEN}", timeout=JVM_S) as answer:
            return answer.url, answer.read().decode()

    def wait(self) -> None:
        deadline = time.monotonic() + JVM_S
        while time.monotonic() < deadline:
            with suppress(URLError):
                self.get("api")
                return
            time.sleep(0.2)
        raise TimeoutError(f"JupyterLab did not answer within {JVM_S} seconds")


@contextmanager
def running(image: Image) -> Iterator[Server]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = {"base_url": BASE, "token": TOKEN, "trust_xheaders": "True"}
    command = ["jupyter-lab", "--ip=127.0.0.1", f"--port={port}", "--no-browser"]
    for app in ("NotebookApp", "ServerApp"):  # to old ones and new ones alike
        command += [f"--{app}.{key}={value}" for key, value in options.items()]
    child = image.cage.start(command, image.work, image.cage.folder / "server.log")
    try:
        server = Server(port)
        server.wait()
        yield server
    finally:
        child.terminate()
        child.wait(JVM_S)


def faults(server: Server) -> list[str]:
    """What a visitor would miss."""
    try:
        return [what for what, right in checks(server) if not right]
    except HTTPError as error:
        return [f"{error.url} says {error}"]


def checks(server: Server) -> Iterator[tuple[str, bool]]:
    where, _ = server.get("")
    yield (
        f"the first page is {FIRST}, not {where}",
        where.split("?")[0].endswith(f"lab/tree/{FIRST}"),
    )
    config = page_config(server.get(f"lab/tree/{FIRST}")[1])  # where the badge leads
    yield f"the badge opens {FIRST}", config["treePath"] == FIRST
    yield "the engine can be read", '"cluster.py"' in server.get("api/contents/engine/cluster")[1]
    cells = json.loads(server.get(f"api/contents/{FIRST}")[1])["content"]["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    yield "the notebook is trusted", all(cell["metadata"].get("trusted") for cell in code)
    for plugin, key, value in SETTINGS:
        schema = json.loads(server.get(f"lab/api/settings/{plugin}")[1])["schema"]
        yield f"{key} is {value}", schema["properties"][key]["default"] == value
    loaded = {it["name"]: it["load"] for it in config["federated_extensions"]}
    yield f"extensions {EXTENSIONS} are among {set(loaded)}", set(loaded) >= EXTENSIONS
    for name in sorted(EXTENSIONS & set(loaded)):
        yield f"{name} can be loaded", bool(server.get(f"lab/extensions/{name}/{loaded[name]}")[1])


def page_config(page: str) -> dict[str, Any]:
    """What JupyterLab's page tells its scripts."""
    found = re.search(r'id="jupyter-config-data"[^>]*>(.*?)</script>', page, re.S)
    assert found, "this is no page of JupyterLab"
    return dict(json.loads(found[1]))
