"""`python -m engine simulate`: one run told in detail, or many in short."""

import pytest

from engine.cli.main import FAILED, USAGE, main
from proof.storms.defects import DEFECTS
from proof.storms.invariants import Violation
from proof.storms.run import Run


@pytest.fixture(scope="module")
def failing():
    """A seed that fails, quickly."""
    for seed in range(10):
        try:
            Run(seed, 5, defect=DEFECTS["commit-unreplicated"]).go()
        except Violation as violation:
            return seed, violation
    raise AssertionError("none of them fails")


def simulate(*words):
    return main(["simulate", *map(str, words)])


def test_one_run(capsys):
    assert simulate("--seed", 1, "--seconds", 3) == 0
    assert "all is well, after" in capsys.readouterr().out


def test_a_run_that_fails_tells_its_story(capsys, failing):
    seed, violation = failing
    words = "--seed", seed, "--seconds", 5, "--defect", "commit-unreplicated", "--rows", 30
    assert simulate(*words) == FAILED
    head, *rows, last = capsys.readouterr().out.splitlines()
    assert last == str(violation)
    assert "zookeeper" in head and len(rows) == 30


def test_many_runs_and_how_to_see_one_of_them_again(capsys, failing):
    seed, violation = failing
    words = "--seeds", seed + 1, "--seconds", 5, "--defect", "commit-unreplicated", "--jobs", 2
    assert simulate(*words) == FAILED
    out = capsys.readouterr().out
    assert f"seed {seed}: {violation}\n  python -m engine simulate --seed {seed} " in out
    assert f"{seed + 1} runs, " in out


def test_as_many_as_there_is_time_for(capsys):
    assert simulate("--minutes", 0.001, "--seconds", 1, "--first", 700) == 0
    assert "0 of them broke an invariant" in capsys.readouterr().out


def test_seeds_with_a_step_between_them(capsys, failing):
    seed, _ = failing
    words = "--step", 7, "--seconds", 5, "--defect", "commit-unreplicated"
    assert simulate("--first", seed, "--seeds", 1, *words) == FAILED
    assert simulate("--first", seed - 7, "--seeds", 2, *words) == FAILED
    assert f"seed {seed}: " in capsys.readouterr().out.split("1 runs, ")[1]


def test_a_fork_and_a_recording(capsys, tmp_path):
    path = tmp_path / "run.jsonl"
    assert simulate("--seed", 1, "--seconds", 3, "--fork", "2.5:9", "--save", path) == 0
    assert path.stat().st_size > 1000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "say which run: --seed N"),
        (("--seed", 1, "--defect", "bad-luck"), "there is no defect bad-luck; there are abort-f"),
        (("--seed", 1, "--fork", "here"), "'here' is not SECONDS:SEED"),
        (("--seeds", 1, "--step", 0), "'0' is not a number from 1 on"),
        (("--seed", 1, "--controllers", 0), "--controllers 0, 1, 3 ... is for --kraft"),
    ],
)
def test_what_makes_no_sense_is_told(capsys, words, said):
    assert simulate(*words) == USAGE
    assert said in capsys.readouterr().err
