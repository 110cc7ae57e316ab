"""A run that leaves a process fails, names it and ends it."""

from pathlib import Path

import psutil
import pytest

from tests.test_standstill import run

CONFTEST = """
import tests.leftovers
from tests.leftovers import LeftoversPlugin

tests.leftovers.CHANGE_S = 1

def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(LeftoversPlugin())

def pytest_unconfigure(config):
    print("ends with", int(config.pluginmanager.get_plugin("session").exitstatus))
"""
TEST = """
import subprocess

def test_it():
    process = subprocess.Popen(["sleep", "{seconds}"], start_new_session=True)
    process.returncode = 0  # or Python warns of it
    print("started", process.pid, flush=True)
"""
UNTIL_IT_IS_STOPPED = """
    import psutil
    while psutil.Process(process.pid).status() != psutil.STATUS_STOPPED:
        pass
"""
SECONDS = "86399"  # nobody else sleeps for so long


@pytest.mark.parametrize("options", [[], ["-p", "xdist", "-n", "1"]], ids=["alone", "xdist"])
def test_what_is_left_is_named_and_ended(options: list[str], tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text(TEST.format(seconds=SECONDS))
    said = run(tmp_path, *options)
    assert "1 passed" in said and "ends with 1" in said
    assert f"(sleeping) sleep {SECONDS}" in said
    now = psutil.process_iter(["cmdline"])  # a zombie has none
    assert not [each for each in now if SECONDS in (each.info["cmdline"] or [])]


def test_what_is_stopped_has_time_to_end_when_it_goes_on(tmp_path: Path) -> None:
    stopped = '["sh", "-c", "(sleep 3; kill -CONT $$) & kill -STOP $$"]'
    (tmp_path / "conftest.py").write_text(CONFTEST)
    test = TEST.replace('["sleep", "{seconds}"]', stopped) + UNTIL_IT_IS_STOPPED
    (tmp_path / "test_it.py").write_text(test)
    said = run(tmp_path)
    assert "1 passed" in said and "ends with 0" in said


def test_what_ends_by_itself_is_not_left(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text(TEST.format(seconds="0.5"))
    said = run(tmp_path)
    assert "1 passed" in said and "ends with 0" in said
