"""`simulate`, `chaos` and `challenge`: what is refused before a run begins, and a run's end."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine.cli.main import INTERRUPTED, USAGE, main
from proof.challenges.table import CHALLENGES
from tests.limits import ANSWER_S
from tests.unit.cli.pretend import complaint

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--seeds 1 --jobs 0", "argument --jobs: '0' is not a number from 1 on"),
        ("--seeds -1", "argument --seeds: '-1' is not a number from 1 on"),
        ("--seeds 0", "argument --seeds: '0' is not a number from 1 on"),
        ("--seed 1 --seconds 0", "argument --seconds: '0' is not a number above 0"),
        ("--seed 1 --seconds -5", "argument --seconds: '-5' is not a number above 0"),
        ("--seed 1 --seconds inf", "argument --seconds: 'inf' is not a number above 0"),
        ("--seed 1 --seconds soon", "argument --seconds: 'soon' is not a number above 0"),
        ("--minutes 0", "argument --minutes: '0' is not a number above 0"),
    ],
)
def test_a_number_that_makes_no_sense_is_refused(
    words: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", *words.split()]) == USAGE
    assert told in complaint(capsys)


def test_control_c_ends_many_runs_with_the_summary_so_far() -> None:
    """A terminal sends it to every process of the command; only the first one says something."""
    words = ["simulate", "--quorum", "--defect", "votes-twice", "--minutes", "5", "--jobs", "2"]
    simulation = subprocess.Popen(
        [sys.executable, "-m", "engine", *words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert simulation.stdout is not None
        assert "a_voter_votes_once does not hold" in simulation.stdout.readline()
        os.killpg(simulation.pid, signal.SIGINT)
        out, err = simulation.communicate(timeout=ANSWER_S)
    finally:
        simulation.kill()
    assert err == ""
    assert " broke an invariant; " in out.splitlines()[-1]
    assert simulation.returncode == INTERRUPTED


# -- chaos -------------------------------------------------------------------------------------


def began(*_: Any, **__: Any) -> None:
    raise AssertionError("the run has begun")


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("missing/history.edn", "No such file or directory"),
        (".", "Is a directory"),
        ("file/history.edn", "Not a directory"),
    ],
)
def test_a_history_that_cannot_be_written_is_told_before_the_run(
    place: str,
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Afterwards its verdict would be lost."""
    monkeypatch.setattr("proof.chaos.run.run", began)
    (tmp_path / "file").write_text("")
    path = tmp_path / place
    assert main(["chaos", "--transactions", "--history", str(path)]) == USAGE
    assert complaint(capsys) == (
        f"--history {path} cannot be written: {why}; name a file in a directory that is there"
    )


# -- challenge ---------------------------------------------------------------------------------


@pytest.fixture
def rule(tmp_path: Path) -> str:
    file = tmp_path / "my_rule.py"
    file.write_text(CHALLENGES["truncate"].naive)
    return str(file)


def test_a_challenge_without_the_stock_client_says_what_to_install(
    rule: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "proof.chaos.run", raising=False)
    monkeypatch.delattr("proof.chaos.run", raising=False)
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    monkeypatch.setitem(sys.modules, "confluent_kafka.cimpl", None)
    assert main(["challenge", "truncate", rule, "--chaos"]) == USAGE
    told = "chaos needs a stock client, which is not installed: pip install confluent-kafka"
    assert complaint(capsys) == told


@pytest.mark.parametrize("seconds", ["0", "-1", "nan"])
def test_a_challenge_in_chaos_takes_some_seconds(
    seconds: str, rule: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("proof.chaos.run.run", began)
    words = ["challenge", "truncate", rule, "--chaos", "--seconds", seconds]
    assert main(words) == USAGE
    assert f"argument --seconds: {seconds!r} is not a number above 0" in complaint(capsys)
