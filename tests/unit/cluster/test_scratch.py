"""The temporary directory goes with the last who works in it, whatever has ended the first."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine.cluster.child import Child
from engine.cluster.scratch import Scratch
from tests.interop.watch import until

ROOT = Path(__file__).resolve().parents[3]
PARENT = """
import os, signal, sys
from engine.cluster.child import Child
from engine.cluster.scratch import Scratch
scratch = Scratch()
command = ["sh", "-c", "while :; do echo busy > $$; done"]  # to the end there is a new file
child = Child(command, scratch.path / "log", cwd=scratch.path, keep=[scratch.end])
if "goes on" in sys.argv:
    signal.signal(signal.SIGINT, lambda number, frame: os.write(1, b"interrupted\\n"))
if "forks" in sys.argv:
    os.fork()
print(scratch.path, child.pid, flush=True)
os.read(0, 1)
"""


@contextmanager
def parent(*how: str) -> Iterator[tuple["subprocess.Popen[str]", Path, int]]:
    """A process with a directory and a child in it; a copy that it forked ends with the block."""
    command = [sys.executable, "-c", PARENT, *how]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT, process_group=0
    ) as process:
        assert process.stdout is not None
        path, pid = process.stdout.readline().split()
        yield process, Path(path), int(pid)


def alive(pid: int) -> bool:
    """Nobody may have asked yet how it ended: then it is a zombie, which is not alive."""
    command = ["ps", "-o", "stat=", "-p", str(pid)]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    return told.stdout.strip()[:1] not in ("", "Z")


def test_it_is_there_and_then_it_is_not():
    scratch = Scratch()
    (scratch.path / "deep" / "inside").mkdir(parents=True)
    scratch.remove()
    assert not scratch.path.exists()
    scratch.remove()


def test_a_child_in_it_keeps_it(tmp_path):
    scratch = Scratch()
    with Child(["sleep", "600"], tmp_path / "log", keep=[scratch.end]) as child:
        os.close(scratch.end)  # as the system does when the parent dies
        scratch.end = -1
        assert scratch.path.exists()
        child.kill()
        until(lambda: not scratch.path.exists())
    scratch.remove()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_it_goes_when_the_parent_is_killed_and_its_child_has_gone(number):
    with parent() as (process, scratch, child):
        until(lambda: list(scratch.glob("[0-9]*")))
        process.send_signal(number)
        process.wait()
        until(lambda: not scratch.exists())
        until(lambda: not alive(child))  # the system closes its files a moment earlier


def test_a_forked_copy_of_the_parent_does_not_keep_it():
    with parent("forks") as (process, scratch, child):
        process.kill()
        process.wait()
        until(lambda: not scratch.exists())
        until(lambda: not alive(child))  # the system closes its files a moment earlier


def test_an_interrupted_process_group_keeps_its_directory_until_it_ends():
    """A kernel lives on after an interrupt; so must what clears up after it."""
    with parent("goes on") as (process, scratch, child):
        os.killpg(process.pid, signal.SIGINT)
        assert process.stdout is not None
        assert process.stdout.readline() == "interrupted\n"
        assert alive(child) and scratch.exists()
        process.kill()
        process.wait()
        until(lambda: not scratch.exists())
        until(lambda: not alive(child))  # the system closes its files a moment earlier
