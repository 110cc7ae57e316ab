"""The processes behind a GroupView: killed, frozen, thawed, told to leave; none stays behind."""

import os
import signal
import socket
import subprocess
import sys

import psutil
import pytest

from engine.errors import KafkaError
from tests.interop.watch import until
from widgets.group.crew import Crew


@pytest.fixture
def crew():
    """Its broker accepts nobody: what is done to a process does not depend on one."""
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        crew = Crew(f"127.0.0.1:{deaf.getsockname()[1]}", "g", {})
        crew.subscribe(["orders"])
        yield crew
        crew.close()


def waits(pid):
    """It is past its imports, so that a signal reaches its own handler."""
    status = psutil.Process(pid)
    return until(lambda: status.num_threads() > 1)


def test_consumers_are_processes_that_can_be_frozen_and_killed(crew):
    one = crew.add("range", set())
    process = psutil.Process(crew.pid(one))
    assert "widgets.group.member" in process.cmdline()
    assert "client.id=c1" in process.cmdline()
    crew.freeze(one)
    until(lambda: process.status() == psutil.STATUS_STOPPED)
    assert crew.statuses() == {"c1": "frozen"}
    crew.thaw(one)
    until(lambda: process.status() != psutil.STATUS_STOPPED)
    assert crew.statuses() == {"c1": "reading"}
    crew.kill(one)
    assert crew.statuses() == {"c1": "killed"}
    assert not process.is_running()


def test_a_name_is_used_once(crew):
    assert [crew.add("range", {"c1"}), crew.add("range", set())] == ["c2", "c3"]


def test_a_consumer_that_is_told_to_leave_ends_in_good_order(crew):
    crew.add("range", set())
    waits(crew.pid("c1"))
    crew.stop("c1")
    assert crew.statuses()["c1"] in ("leaving", "stopped")
    until(lambda: crew.statuses() == {"c1": "stopped"})
    assert crew.last_words("c1") == "exit code 0"


def test_a_consumer_that_gives_up_says_why(crew):
    crew.add("no-such-way", set())
    until(lambda: crew.statuses() == {"c1": "failed"})
    assert "Unknown partition.assignment.strategy: no-such-way" in crew.last_words("c1")


def test_only_those_that_run_can_be_disturbed(crew):
    with pytest.raises(KafkaError, match="c9 was not started here"):
        crew.kill("c9")
    crew.add("range", set())
    crew.kill("c1")
    with pytest.raises(KafkaError, match="c1 does not run any more"):
        crew.freeze("c1")


def test_nobody_outlives_the_crew(crew):
    names = [crew.add("range", set()) for _ in range(2)]
    family = [psutil.Process(crew.pid(name)) for name in names]
    crew.freeze("c1")
    crew.close()
    assert not any(process.is_running() for process in family)
    crew.close()  # twice is once


OWNER = """
import time
from widgets.group.crew import Crew
crew = Crew("127.0.0.1:1", "g", {})
crew.subscribe(["orders"])
print(crew.pid(crew.add("range", set())), crew._scratch.path, flush=True)
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
