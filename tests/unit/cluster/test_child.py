"""A child obeys its parent, and is gone when the parent is, whatever ended it.

How a test knows that all are gone, without asking over and over: parent, child and watcher
inherit one pipe, and its reader sees the end of file when the last of them has let go.
"""

import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar

import pytest

from engine.cluster.child import Child, end_all

ROOT = Path(__file__).resolve().parents[3]
SLEEP = ["sleep", "600"]
STUBBORN = ["sh", "-c", "trap '' TERM; echo ready; exec sleep 600"]
POLITE = ["sh", "-c", "trap 'exit 3' TERM; echo ready; while :; do sleep 0.05; done"]

PARENT = """
import os, sys
from pathlib import Path
from engine.cluster.child import Child, end_all
pipe, log, paused, *command = sys.argv[1:]
child = Child(command, Path(log), keep=[int(pipe)])
if paused == "paused":
    child.pause()
print(child.pid, flush=True)
os.read(0, 1)
"""


class Witness:
    """Knows whether a process that inherited `end` is still there."""

    def __init__(self) -> None:
        self.reader, self.end = os.pipe()

    def let_go(self) -> None:
        os.close(self.end)

    def all_gone(self, within: float) -> bool:
        """A pipe that nobody writes to is readable only at its end."""
        ready, _, _ = select.select([self.reader], [], [], within)
        return bool(ready) and os.read(self.reader, 1) == b""


@pytest.fixture
def witness() -> Iterator[Witness]:
    witness = Witness()
    yield witness
    os.close(witness.reader)


def wait_for_output(child: Child, text: str) -> None:
    """Follow the log until the child has said it; the test's time-out is the limit."""
    with child.log.open() as log:
        seen = ""
        while text not in seen:
            seen += log.read()


def state(pid: int) -> str:
    told = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], check=True, capture_output=True, text=True
    )
    return told.stdout[:1]


def test_the_log_has_its_output_and_the_exit_code_is_its_own(tmp_path):
    log = tmp_path / "log"
    log.write_text("an earlier life\n")
    child = Child(["sh", "-c", "echo out; echo err >&2; exit 7"], log)
    assert child.wait() == 7
    assert not child.alive
    assert log.read_text() == "an earlier life\nout\nerr\n"
    assert child.output() == "out\nerr\n"


def test_the_process_is_the_command_itself_in_a_session_of_its_own(tmp_path):
    with Child(["sh", "-c", "echo $$; exec sleep 600"], tmp_path / "log") as child:
        wait_for_output(child, f"{child.pid}\n")
        assert os.getsid(child.pid) == os.getpgid(child.pid) == child.pid != os.getsid(0)


def test_arguments_arrive_as_they_are(tmp_path):
    odd = ["", "a b", "$HOME", "'", '"', "*", "é", "-n"]
    child = Child([sys.executable, "-c", "import sys; print(sys.argv[1:])", *odd], tmp_path / "log")
    assert child.wait() == 0
    assert child.output() == f"{odd}\n"


def test_it_inherits_what_it_is_given_and_reads_nothing(tmp_path):
    script = "import os, sys; print(os.environ['GIVEN'], os.getcwd(), sys.stdin.read() == '')"
    command = [sys.executable, "-c", script]
    child = Child(command, tmp_path / "log", cwd=tmp_path, env={"GIVEN": "this"})
    assert child.wait() == 0
    assert child.output() == f"this {tmp_path.resolve()} True\n"


@pytest.mark.parametrize("number", [3, 4, 9])
def test_it_inherits_a_descriptor_whatever_its_number(tmp_path, number):
    """In an interpreter of its own, where the low numbers are free; shells like to use them."""
    script = (
        "import os, sys; from pathlib import Path; from engine.cluster.child import Child\n"
        "number, told, log = int(sys.argv[1]), sys.argv[2], Path(sys.argv[3])\n"
        "os.dup2(os.open(told, os.O_WRONLY | os.O_CREAT), number)\n"
        "command = ['sh', '-c', f'echo here >&{number}']\n"
        "sys.exit(Child(command, log, keep=[number]).wait())\n"
    )
    told = tmp_path / "told"
    arguments = [str(number), str(told), str(tmp_path / "log")]
    subprocess.run([sys.executable, "-c", script, *arguments], cwd=ROOT, check=True)
    assert told.read_text() == "here\n"


def test_a_command_that_is_not_there_ends_with_127_and_says_so(tmp_path):
    child = Child(["no-such-command"], tmp_path / "log")
    assert child.wait() == 127
    assert "no-such-command" in child.output()


def test_kill_is_sigkill_and_leaves_no_watcher_behind(tmp_path, witness):
    child = Child(STUBBORN, tmp_path / "log", keep=[witness.end])
    witness.let_go()
    child.kill()
    assert child.exit_code == -signal.SIGKILL
    assert witness.all_gone(within=5)


class Slow(socket.socket):
    """A lifeline that takes its time, and counts what is said on it."""

    said: ClassVar[list[bytes]] = []

    def sendall(self, words: bytes) -> None:
        self.said.append(words)
        time.sleep(0.1)
        super().sendall(words)


def test_who_kills_it_and_who_looks_may_find_it_over_at_the_same_time(tmp_path):
    """As a notebook's picture does, ten times a second, beside the click that kills."""
    child = Child(SLEEP, tmp_path / "log")
    child._lifeline = Slow(fileno=child._lifeline.detach())
    with ThreadPoolExecutor(5) as threads:
        killed = threads.submit(child.kill)
        looks = [threads.submit(child.wait) for _ in range(4)]
        assert [look.result() for look in looks] == [-signal.SIGKILL] * 4
        killed.result()
    assert Slow.said == [b"released\n"]


def test_a_paused_child_stands_still_and_is_alive(tmp_path):
    with Child(SLEEP, tmp_path / "log") as child:
        child.pause()
        os.waitpid(child.pid, os.WUNTRACED)  # returns once it has stopped
        assert state(child.pid) == "T"
        assert child.alive
        assert child.paused
        child.resume()
        os.waitpid(child.pid, os.WCONTINUED)
        assert state(child.pid) != "T"
        assert not child.paused


def test_terminate_asks_first(tmp_path):
    child = Child(POLITE, tmp_path / "log")
    wait_for_output(child, "ready")
    assert child.terminate() == 3


def test_terminate_wakes_a_paused_child_to_ask_it(tmp_path):
    child = Child(POLITE, tmp_path / "log")
    wait_for_output(child, "ready")
    child.pause()
    assert child.terminate() == 3


def test_terminate_does_not_ask_for_ever(tmp_path):
    child = Child(STUBBORN, tmp_path / "log")
    wait_for_output(child, "ready")
    assert child.terminate(timeout=0.1) == -signal.SIGKILL


def test_what_is_over_can_be_ended_again(tmp_path):
    child = Child(["true"], tmp_path / "log")
    assert child.wait() == 0
    child.kill()
    child.pause()
    assert child.terminate() == 0


@pytest.mark.parametrize("how", ["running", "paused"])
@pytest.mark.parametrize("command", [SLEEP, STUBBORN, POLITE], ids=["plain", "stubborn", "polite"])
def test_a_child_goes_when_its_parent_is_killed(tmp_path, witness, command, how):
    arguments = [str(witness.end), str(tmp_path / "log"), how, *command]
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=[witness.end],
        cwd=ROOT,
    )
    witness.let_go()
    with parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert os.getsid(child) == child
        parent.kill()
        assert witness.all_gone(within=5)


def test_siblings_do_not_hold_each_others_lifelines(tmp_path):
    with Child(SLEEP, tmp_path / "log") as older, Child(SLEEP, tmp_path / "log") as younger:
        cut(older)
        assert older.wait(timeout=30) == -signal.SIGTERM
        assert younger.alive


def test_a_forked_copy_of_the_parent_does_not_hold_them_either(tmp_path):
    with Child(SLEEP, tmp_path / "log") as child:
        release, hold = os.pipe()
        copy = os.fork()
        if copy == 0:
            os.close(hold)
            os.read(release, 1)  # until the test is over
            os._exit(0)
        try:
            cut(child)
            assert child.wait(timeout=30) == -signal.SIGTERM
        finally:
            os.close(hold)
            os.close(release)
            os.waitpid(copy, 0)


def cut(child: Child) -> None:
    """As the system does when the parent dies."""
    child._lifeline.close()


def test_many_are_ended_at_once_and_the_stubborn_are_killed(tmp_path):
    children = [Child(command, tmp_path / str(n)) for n, command in enumerate([POLITE, STUBBORN])]
    for child in children:
        wait_for_output(child, "ready")
    children[0].pause()
    end_all(children, 0.5)
    assert [child.exit_code for child in children] == [3, -signal.SIGKILL]
    end_all(children, 0.5)
