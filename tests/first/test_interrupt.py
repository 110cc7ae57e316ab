"""Ctrl-C in the terminal of `make lab`, while cells run: it ends, and prints no traceback."""

import json
import os
import pty
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from jupyter_client import BlockingKernelClient

from tests.browser.jupyter import ROOT, environment, wait_until_it_answers
from tests.interop.watch import until
from tests.limits import START_S

RUNS = "import pathlib, time; pathlib.Path({!r}).touch()\nwhile True: time.sleep(1)"
QUEUED = "print('never')"


class Terminal:
    """JupyterLab in a terminal of its own, and a kernel of it."""

    def __init__(self, home: Path) -> None:
        os.makedirs(home / "runtime")
        self.home, self.kernel = home, BlockingKernelClient()
        self.ours, theirs = pty.openpty()
        config = ROOT / "labs" / ".jupyter" / "jupyter_lab_config.py"
        command = [str(Path(sys.executable).with_name("jupyter")), "lab", "--config", str(config)]
        command += ["--no-browser", "--port=0", f"--LabApp.workspaces_dir={home}"]
        # A leader of its session takes the first terminal that it opens.
        shell = ["sh", "-c", f'exec "$@" <{os.ttyname(theirs)}', "sh", *command]
        self.process = subprocess.Popen(
            shell, env=environment(home), stdout=theirs, stderr=theirs, start_new_session=True
        )
        os.close(theirs)
        self._bytes = b""
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def start_a_kernel(self) -> None:
        (self.home / "jupyter.log").touch()
        runtime = self.home / "runtime"
        info = wait_until_it_answers(
            self.process, runtime / f"jpserver-{self.process.pid}.json", self.home
        )
        kernels = Request(f"{info['url']}api/kernels?token={info['token']}", b"{}", method="POST")
        with urlopen(kernels, timeout=START_S) as answer:
            name = json.load(answer)["id"]
        self.kernel.load_connection_file(str(runtime / f"kernel-{name}.json"))
        self.kernel.start_channels()

    def _read(self) -> None:
        try:
            while more := os.read(self.ours, 65536):
                self._bytes += more
        except OSError:  # so a terminal ends, on Linux
            return

    @property
    def printed(self) -> str:
        return self._bytes.decode()

    def control_c(self) -> None:
        os.write(self.ours, b"\x03")

    def close(self) -> None:
        self.kernel.stop_channels()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(START_S)
        finally:
            self.process.kill()
            self.reader.join(START_S)
            os.close(self.ours)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path)
    try:
        terminal.start_a_kernel()
        yield terminal
    finally:  # also if it has not answered in time
        terminal.close()


def test_ctrl_c_in_mid_cell_prints_no_traceback(terminal: Terminal, tmp_path: Path) -> None:
    kernel, running = terminal.kernel, tmp_path / "running"
    for code in (RUNS.format(str(running)), QUEUED, QUEUED):
        kernel.execute(code)
    until(running.exists, START_S)

    terminal.control_c()
    until(lambda: "Shut down this Jupyter server" in terminal.printed, START_S)
    terminal.control_c()

    terminal.process.wait(START_S)
    terminal.reader.join(START_S)  # until the kernel has closed the terminal, too
    assert "Kernel shutdown" in terminal.printed
    assert "Traceback" not in terminal.printed
    assert "Error" not in terminal.printed
