"""The processes behind a GroupView: killed, frozen, thawed, told to leave; none stays behind."""

import os
import signal
import socket
import subprocess
import sys

import psutil
import pytest

from engine.errors import ApiException
from tests.interop.watch import until
from widgets.group.consumer_processes import ConsumerProcesses


@pytest.fixture
def processes():
    """Its broker accepts nobody: what is done to a process does not depend on one."""
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        processes = ConsumerProcesses(f"127.0.0.1:{deaf.getsockname()[1]}", "g", {})
        processes.subscribe(["orders"])
        yield processes
        processes.close()


def waits(pid):
    """It is past its imports, so that a signal reaches its own handler."""
    status = psutil.Process(pid)
    return until(lambda: status.num_threads() > 1)


def test_consumers_are_processes_that_can_be_frozen_and_killed(processes):
    one = processes.add("range", set())
    process = psutil.Process(processes.pid(one))
    command = until(process.cmdline)  # it is empty while the program is loaded
    assert {"widgets.group.member", "client.id=c1"} <= {*command}
    processes.freeze(one)
    until(lambda: process.status() == psutil.STATUS_STOPPED)
    assert processes.statuses() == {"c1": "frozen"}
    processes.thaw(one)
    until(lambda: process.status() != psutil.STATUS_STOPPED)
    assert processes.statuses() == {"c1": "reading"}
    processes.kill(one)
    assert processes.statuses() == {"c1": "killed"}
    assert not process.is_running()


def test_a_name_is_used_once(processes):
    assert [processes.add("range", {"c1"}), processes.add("range", set())] == ["c2", "c3"]


def test_a_consumer_that_is_reported_to_leave_ends_in_good_order(processes):
    processes.add("range", set())
    waits(processes.pid("c1"))
    processes.stop("c1")
    assert processes.statuses()["c1"] in ("leaving", "stopped")
    until(lambda: processes.statuses() == {"c1": "stopped"})
    assert processes.end_reason("c1") == "exit code 0"


def test_a_consumer_that_gives_up_says_why(processes):
    processes.add("no-such-way", set())
    until(lambda: processes.statuses() == {"c1": "failed"})
    assert "Unknown partition.assignment.strategy: no-such-way" in processes.end_reason("c1")


def test_only_those_that_run_can_be_disturbed(processes):
    with pytest.raises(ApiException, match="c9 was not started here"):
        processes.kill("c9")
    processes.add("range", set())
    processes.kill("c1")
    with pytest.raises(ApiException, match="c1 does not run any more"):
        processes.freeze("c1")


def test_nobody_outlives_the_crew(processes):
    names = [processes.add("range", set()) for _ in range(2)]
    family = [psutil.Process(processes.pid(name)) for name in names]
    processes.freeze("c1")
    processes.close()
    assert not any(process.is_running() for process in family)
    processes.close()  # twice is once


OWNER = """
import time
from widgets.group.consumer_processes import ConsumerProcesses
processes = ConsumerProcesses("127.0.0.1:1", "g", {})
processes.subscribe(["orders"])
print(processes.pid(processes.add("range", set())), processes._scratch.path, flush=True)
time.sleep(600)
"""


def test_nobody_outlives_a_kernel_that_is_killed():
    owner = subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    pid, folder = owner.stdout.readline().split()
    child = psutil.Process(int(pid))
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    owner.stdout.close()
    until(lambda: not child.is_running())
    until(lambda: not os.path.exists(folder))
