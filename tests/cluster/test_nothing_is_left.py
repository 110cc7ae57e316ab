"""A run of tests ends, well or badly, and leaves nothing: no process, no directory."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest

from tests.interop.watch import until
from tests.leftovers import MARK, marked

ROOT = Path(__file__).resolve().parents[2]
TESTS = """\
import os
import signal

import pytest

from engine import Cluster


@pytest.fixture(scope="module")
def cluster():
    with Cluster(brokers=2) as cluster:
        yield cluster


def test_one(cluster):
    cluster.kill(2)


def test_another(cluster):
    {end}
"""
ENDS = {
    "well": ("assert cluster.child(1).alive", 0),
    "badly": ("assert cluster.child(2).alive", 1),
    "interrupted": ("os.kill(os.getpid(), signal.SIGINT)", 2),
    "killed": ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
}


# tests/interop/test_cluster_faults.py kills, and interrupts, a process that has a cluster.
@pytest.mark.long
@pytest.mark.parametrize("end", ENDS)
def test_a_run_of_tests_leaves_nothing(end: str, tmp_path: Path) -> None:
    last, code = ENDS[end]
    mark, scratch = uuid4().hex, tmp_path / "scratch"
    scratch.mkdir()
    (tmp_path / "test_it.py").write_text(TESTS.format(end=last))
    environment = {**os.environ, MARK: mark, "TMPDIR": str(scratch), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    run = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == code, run.stdout
    until(lambda: not marked(mark))
    until(lambda: not list(scratch.glob("brokerlab-*")))
