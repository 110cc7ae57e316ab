"""A JupyterLab of one's own, and a notebook in it, as plain values."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple
from urllib.error import URLError
from urllib.request import Request, urlopen

import psutil
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.limits import START_S

ROOT = Path(__file__).resolve().parents[2]


class Lab(NamedTuple):
    """One running JupyterLab."""

    url: str  # ends in a slash
    token: str
    process: psutil.Process
    root: Path  # what it serves: a copy of the repository
    settings: Path  # what a user has chosen, the theme for instance

    def page(self, path: str = "") -> str:
        """Reset: without what another page has left open."""
        where = f"lab/tree/{path}" if path else "lab"
        return f"{self.url}{where}?reset&token={self.token}"

    def api(self, resource: str) -> str:
        return f"{self.url}api/{resource}?token={self.token}"

    def end_kernels(self) -> None:
        """And what the notebooks have started."""
        with urlopen(self.api("kernels"), timeout=START_S) as answer:
            kernels = json.load(answer)
        for kernel in kernels:
            request = Request(self.api(f"kernels/{kernel['id']}"), method="DELETE")
            urlopen(request, timeout=START_S).close()

    def kernels(self) -> list[psutil.Process]:
        found = []
        for process in self.process.children():
            with suppress(psutil.NoSuchProcess):  # JupyterLab has short-lived children too
                if "ipykernel_launcher" in process.cmdline():
                    found.append(process)
        return found


def environment(home: Path) -> dict[str, str]:
    """Of a JupyterLab that touches nothing outside of this folder."""
    private = {"HOME": home, "JUPYTER_CONFIG_DIR": home / "config"}
    private |= {"JUPYTER_RUNTIME_DIR": home / "runtime"}
    ours = {k: v for k, v in os.environ.items() if not k.startswith(("JUPYTER", "XDG_"))}
    return ours | {name: str(path) for name, path in private.items()}


@contextmanager
def running_lab(home: Path) -> Iterator[Lab]:
    """JupyterLab as `make lab` has it, on a free port; gone with all its kernels at the end."""
    root, runtime = home / "repository", home / "runtime"
    for name in ("labs", "docs", "engine", "oracle", "proof", "sparkstreams", "widgets"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    config = root / "labs" / ".jupyter" / "jupyter_lab_config.py"
    program = Path(sys.executable).with_name("jupyter")
    command = [str(program), "lab", "--config", str(config), "--no-browser", "--port=0"]
    with (home / "jupyter.log").open("wb") as log:
        child = subprocess.Popen(command, env=environment(home), stdout=log, stderr=log)
    server = psutil.Process(child.pid)
    family = [server]
    try:
        info = wait_until_it_answers(child, runtime / f"jpserver-{child.pid}.json", home)
        yield Lab(info["url"], info["token"], server, root, home / "config" / "lab")
    finally:
        family += server.children(recursive=True)
        child.send_signal(signal.SIGTERM)
        _, left = psutil.wait_procs(family, timeout=START_S)
        commands = [process.cmdline() for process in left if process.is_running()]
        for process in left:
            process.kill()
        child.wait(START_S)
    log = (home / "jupyter.log").read_text()
    assert not left, f"JupyterLab left these behind: {left} {commands}. Its log:\n{log[-3000:]}"


def wait_until_it_answers(child: subprocess.Popen[bytes], path: Path, home: Path) -> dict[str, str]:
    """What a Jupyter server writes about itself: its address and token. It listens a bit later."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and child.poll() is None:
        with suppress(FileNotFoundError, json.JSONDecodeError, URLError):  # not yet
            info: dict[str, str] = json.loads(path.read_text())
            urlopen(f"{info['url']}api?token={info['token']}", timeout=START_S).close()
            return info
        time.sleep(0.05)
    pytest.fail("JupyterLab did not start:\n" + (home / "jupyter.log").read_text()[-4000:])


def darken(page: Page) -> None:
    """The system goes dark, and JupyterLab with it. The next page begins with the light one."""
    page.emulate_media(color_scheme="dark")
    expect(page.locator("body")).to_have_attribute("data-jp-theme-light", "false")
    expect(page.locator("#jupyterlab-splash")).to_have_count(0)  # JupyterLab shows it meanwhile


class Notebook:
    """A new notebook, opened from the launcher, with a cell at its end to type into."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.panel = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")
        page.locator(".jp-LauncherCard[data-category='Notebook']").first.click()
        # The notebook's own indicator says idle too early, while no kernel is connected yet.
        expect(page.locator("#jp-main-statusbar")).to_contain_text("| Idle")

    def run(self, code: str) -> Locator:
        """Run one more cell; what it printed, shown or drew."""
        cell = self.panel.locator(".jp-CodeCell").last
        index = self.panel.locator(".jp-CodeCell").count() - 1
        editor = cell.locator(".cm-content")
        editor.fill(code)
        expect(editor).to_have_text(code.replace("\n", ""))
        editor.press("Shift+Enter")
        return self.panel.locator(".jp-CodeCell").nth(index).locator(".jp-OutputArea")
