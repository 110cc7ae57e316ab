"""`make test` when the machine stands still: what is run again, and what stays a failure.

Each test here runs a small folder of tests in a process of its own, and stops that process with
SIGSTOP for longer than a test bears.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from textwrap import dedent

import nbformat
import pytest

from tests.interop.watch import until
from tests.limits import BEARABLE_S
from tests.standstill import Sleeper, StandstillWatch, _descendants

ROOT = Path(__file__).resolve().parents[1]
CONFTEST = """
from tests.standstill import StandstillPlugin
from tests.summary import SummaryPlugin

def pytest_configure(config):
    config.pluginmanager.register(StandstillPlugin())
    config.pluginmanager.register(SummaryPlugin())
"""
STOP = f"""
import os, signal, subprocess, sys, time

CHILD = '''
import os, signal, time
os.kill(os.getppid(), signal.SIGSTOP)
time.sleep({BEARABLE_S + 0.5})
os.kill(os.getppid(), signal.SIGCONT)
'''

def stand_still():
    subprocess.run([sys.executable, "-c", CHILD], check=True)
"""

CELL = f"""
import os, signal, time
from pathlib import Path

if not Path("once").exists():
    Path("once").touch()
    os.kill(os.getppid(), signal.SIGSTOP)
    time.sleep({BEARABLE_S + 0.5})
    os.kill(os.getppid(), signal.SIGCONT)
    raise RuntimeError("the session is over")
assert made == [1, 2]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    return tmp_path


def run(folder: Path, *options: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, str(folder)],
        env={
            "PYTHONPATH": str(ROOT),
            "PATH": "/usr/bin:/bin",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def write(folder: Path, tests: str) -> None:
    (folder / "test_it.py").write_text(STOP + dedent(tests))


def test_a_test_that_lost_its_cluster_is_run_again_with_a_new_one(folder: Path) -> None:
    write(
        folder,
        """
        import pytest
        STARTED = []

        @pytest.fixture(scope="module")
        def cluster():
            STARTED.append("a cluster")
            return len(STARTED)

        def test_quiet(cluster):
            assert cluster == 1

        def test_lost(cluster):
            if cluster == 1:
                stand_still()
                raise AssertionError("the session is over")

        def test_unharmed(cluster):
            assert cluster == 2
        """,
    )
    told = run(folder)
    assert "3 passed, 1 rerun" in told
    assert "1 was run again, because something stood still" in told
    assert "test_it.py::test_lost" in told
    assert "the session is over" in told


def test_who_comes_after_a_standstill_may_have_lost_what_was_there_before(folder: Path) -> None:
    write(
        folder,
        """
        import pytest
        STARTED = []

        @pytest.fixture(scope="session")
        def cluster():
            STARTED.append("a cluster")
            return len(STARTED)

        def test_bore_it(cluster):
            stand_still()

        def test_lost(cluster):
            assert cluster == 2
        """,
    )
    told = run(folder)
    assert "2 passed, 1 rerun" in told
    assert "test_it.py::test_lost" in told


def test_a_standstill_is_no_excuse_after_a_test_that_passed(folder: Path) -> None:
    write(
        folder,
        """
        def test_bore_it():
            stand_still()

        def test_well():
            pass

        def test_wrong():
            assert False
        """,
    )
    told = run(folder)
    assert "1 failed, 2 passed" in told
    assert "rerun" not in told


def test_a_planted_failure_stays_one(folder: Path) -> None:
    write(
        folder,
        """
        def test_wrong():
            assert False

        def test_wrong_while_it_stood_still():
            stand_still()
            assert False
        """,
    )
    told = run(folder)
    assert "2 failed, 2 rerun" in told
    assert "test_wrong_while_it_stood_still (stood still for" in told
    assert "test_wrong (stood still" not in told


@pytest.mark.parametrize(("worked", "stood"), [(0.1, 5.0), (4.0, 0.0)])
def test_python_that_was_busy_did_not_stand_still(worked: float, stood: float) -> None:
    """A test may keep every other thread from running; its process works meanwhile."""
    clock, cpu = iter([0.0, 5.0]), iter([0.0, worked])
    watch = StandstillWatch(lambda: next(clock), lambda: next(cpu))
    assert watch.longest(since=1.0) == stood


def test_a_machine_that_stood_still_while_python_seemed_busy() -> None:
    """The kernel charges the time to the process that ran when the machine stopped."""
    clock, cpu = iter([0.0, 60.0]), iter([0.0, 60.0])
    watch = StandstillWatch(lambda: next(clock), lambda: next(cpu), sleeper := Sleeper())
    assert sleeper.new() == []  # it has started
    sleeper.process.send_signal(signal.SIGSTOP)
    time.sleep(2 * BEARABLE_S)
    sleeper.process.send_signal(signal.SIGCONT)
    assert BEARABLE_S < watch.longest(since=0) < 60
    watch.stop()
    assert sleeper.process.returncode == 0


def test_each_processor_is_slept_on_in_turn() -> None:
    """One of them may stand still alone."""
    processors = getattr(os, "sched_getaffinity", lambda pid: set[int]())  # Linux has them
    sleeper, met = Sleeper(), set[int]()
    until(lambda: met.update(processors(sleeper.process.pid)) or met == processors(0))
    until(lambda: len(processors(sleeper.process.pid)) in (0, 1))
    sleeper.stop()


def test_a_process_that_ends_while_it_is_looked_at_does_not_end_the_watch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def gone(path: str) -> list[str]:
        raise FileNotFoundError(path)

    monkeypatch.setattr(os, "listdir", gone)
    assert list(_descendants("self")) == []


def test_servers_that_stood_still_alone_count(folder: Path) -> None:
    write(
        folder,
        f"""
        def test_server():
            command = [sys.executable, "-c", "import time; time.sleep(60)", "engine"]
            with subprocess.Popen(command) as server:
                server.send_signal(signal.SIGSTOP)
                time.sleep({2 * BEARABLE_S + 0.5})
                server.kill()
            assert False
        """,
    )
    told = run(folder)
    assert ("1 failed, 2 rerun" in told) == sys.platform.startswith("linux")


def test_of_a_notebook_the_cells_before_are_run_again(folder: Path) -> None:
    cells = ["made = [1]", "made += [2]", CELL, "print(len(made))"]
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell, execution_count=1) for cell in cells]
    )
    notebook.cells[3].outputs = [nbformat.v4.new_output("stream", name="stdout", text="2\n")]
    nbformat.write(notebook, folder / "lab.ipynb")
    told = run(folder, "-p", "tests.lean", "-p", "nbval.plugin", "--nbval")
    assert "4 passed, 1 rerun" in told


@pytest.mark.parametrize("workers", [[], ["-p", "xdist", "-n", "1"]], ids=["alone", "xdist"])
def test_a_cell_that_fails_as_it_is_run_again_is_a_failure_of_the_cell_that_asked_for_it(
    folder: Path, workers: list[str]
) -> None:
    once = "made = [1, 2]; import pathlib; pathlib.Path('first').touch(exist_ok=False)"
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell, execution_count=1) for cell in (once, CELL)]
    )
    nbformat.write(notebook, folder / "lab.ipynb")
    told = run(folder, "-p", "tests.lean", "-p", "nbval.plugin", "--nbval", *workers)
    assert "FileExistsError" in told and "INTERNALERROR" not in told
    assert "FAILED lab.ipynb::Cell 1" in told and "FAILED lab.ipynb::Cell 0" not in told
