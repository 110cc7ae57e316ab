"""00_start, as it is run: cold, twice, and by whoever skips and goes back."""

import os
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest

from engine.cluster.state import Status
from tests.interop.watch import until
from tests.labs.reader import LABS, Reader
from tests.leftovers import MARK, marked
from tests.limits import CELL_S

ROOT = Path(__file__).resolve().parents[2]
LAB = LABS / "00_start.ipynb"


@pytest.mark.long  # test_order.py asks the same of every cell
def test_cells_may_run_again_and_out_of_order(reader: Reader) -> None:
    for cell in reader.cells:
        reader.run(cell)
    cluster, victim = reader.names["cluster"], reader.names["leader"]
    assert cluster.state().brokers[victim].status is Status.DOWN
    first = reader.names["guess"]

    for name in ("outcome", "exercise", "read", "log", "bytes", "cost", "view", "record", "read"):
        reader.run(reader.cell(name))
    assert reader.run(reader.cell("read"))[1] == b"two teas"

    reader.run(reader.cell("predict"))
    asked_again = reader.names["guess"]
    assert asked_again is not first
    asked_again.choose("1 It is lost")
    assert reader.run(reader.cell("outcome"))[1].right is False

    for name in ("cluster", "record", "read"):  # a fresh start beside the old one
        *_, value = reader.run(reader.cell(name))
    assert value == b"two teas"
    assert reader.names["cluster"] is not cluster


@pytest.mark.long  # tests/browser/test_start.py does it by clicks
def test_the_leader_is_killed_and_the_exercise_is_done_by_hand(reader: Reader) -> None:
    for name in ("cluster", "view", "record", "predict", "kill"):
        reader.run(reader.cell(name))
    view, guess, cluster = (reader.names[name] for name in ("view", "guess", "cluster"))
    guess.choose("1 It survives")  # late, but nothing is told yet
    assert reader.run(reader.cell("read"))[1] == b"two teas"
    assert reader.run(reader.cell("outcome"))[1].right is True
    _, exercise = reader.run(reader.cell("exercise"))
    assert not exercise.passed
    victim = reader.names["leader"]
    assert exercise.missing == f"broker {victim} does not answer"
    view.poll()
    assert "Lost: nothing committed" in view.picture["cost"].label

    view.do("restart", str(victim))

    until(lambda: exercise.check() or exercise.missing.startswith("kill broker"))
    assert not exercise.passed
    assert view.trouble == ""
    reader.run(reader.cell("kill"))
    until(exercise.check)
    assert cluster.state().brokers[reader.names["leader"]].status is Status.DOWN


def visible(folder: Path) -> set[Path]:
    """What a learner sees of it; a kernel leaves caches."""
    return {path for path in folder.iterdir() if path.name[0] not in "._"}


@pytest.mark.long  # the lab runs in `make test`; what a kernel leaves, test_order.py asks
def test_a_cold_run_passes_and_leaves_nothing(tmp_path: Path) -> None:
    mark, scratch = uuid4().hex, tmp_path / "scratch"
    scratch.mkdir()
    before = visible(LAB.parent)
    environment = {**os.environ, MARK: mark, "TMPDIR": str(scratch), "PYTHONPATH": str(ROOT)}
    options = ["-p", "nbval.plugin", "--nbval", "--nbval-cell-timeout", f"{CELL_S:.0f}"]
    options += ["-o", f"cache_dir={tmp_path / 'cache'}"]
    command = [sys.executable, "-m", "pytest", "-q", *options, str(LAB)]

    run = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )

    assert run.returncode == 0, run.stdout
    until(lambda: not marked(mark))
    until(lambda: not list(scratch.glob("brokerlab-*")))
    assert visible(LAB.parent) == before
