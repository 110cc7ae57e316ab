"""A run of tests ends, and nothing that it has started is there any more.

    pytest ── BROKERLAB_RUN=4f2a... ──> workers ──> JupyterLab ──> kernels ──> brokers ...

Each process inherits the mark of its run. The main process looks for it when all workers have
ended: what does not end by itself soon is told, ended, and makes the run a failed one.

A test that runs tests, or that wants to look by itself, has a mark of its own.
"""

import os
import time
from contextlib import suppress
from uuid import uuid4

import psutil
import pytest
from _pytest.terminal import TerminalReporter

from tests.limits import CHANGE_S

MARK = "BROKERLAB_RUN"
SEEN = ("environ", "cmdline", "status")  # what is read of each process, all at once
PAUSE_S = 0.2
STOPPED_S = 90  # longer than tests/stop_everything.py stops anything


def marked(value: str) -> list[psutil.Process]:
    """All other processes with this mark, as they were started with it. Zombies have none."""
    return [
        process
        for process in psutil.process_iter(SEEN)
        if process.pid != os.getpid() and (process.info["environ"] or {}).get(MARK) == value
    ]


def left(value: str, patience_s: float) -> list[psutil.Process]:
    """What has this mark still, after so long. While one of them is stopped no time passes, up to
    STOPPED_S: it cannot end before whoever stopped it lets it go on."""
    before = time.monotonic()
    deadline, last = before + patience_s, before + patience_s + STOPPED_S
    while (found := marked(value)) and (now := time.monotonic()) < min(deadline, last):
        if any(each.info["status"] == psutil.STATUS_STOPPED for each in found):
            deadline += now - before  # a look at all processes takes long on a busy machine
        before = now
        time.sleep(PAUSE_S)
    return found


def told(process: psutil.Process) -> str:
    return f"  {process.pid} ({process.info['status']}) {command(process)[:300]}"


def command(process: psutil.Process) -> str:
    return " ".join(process.info["cmdline"] or [])


class LeftoversPlugin:
    """Of the main process: workers have none."""

    def __init__(self) -> None:
        self._mark = os.environ[MARK] = uuid4().hex
        self._told = list[str]()

    @pytest.hookimpl(wrapper=True, trylast=True)  # after xdist, and before the summary
    def pytest_sessionfinish(self, session: pytest.Session) -> object:
        result = yield
        found = left(self._mark, CHANGE_S)
        self._told = [told(each) for each in found]
        for each in found:
            with suppress(psutil.Error):
                each.kill()
        if found and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        return result

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        if self._told:
            terminalreporter.section("left behind", sep="=", red=True)
            terminalreporter.write_line("These processes were there after the last test:")
            terminalreporter.write_line("\n".join(self._told))
