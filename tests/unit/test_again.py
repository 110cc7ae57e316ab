"""CI runs a few failures again, alone; many, or none that is known, stay a failure."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests import again

BROKEN = "def test_it():\n    assert False\n"
SECOND_TIME = (
    "from pathlib import Path\n\n\ndef test_it():\n"
    "    tried = Path(__file__).with_suffix('.tried')\n"
    "    again = tried.exists()\n    tried.touch()\n    assert again\n"
)


IN_ORDER = """from pathlib import Path

STATE = Path(__file__).with_suffix(".state")


def test_works():
    said = STATE.read_text() if STATE.exists() else "broken"
    STATE.write_text("well")
    assert said == "well"


def test_passes():
    STATE.write_text("well")


def test_ends_it():
    said = STATE.read_text()
    STATE.write_text("ended")
    assert said == "again"
"""


def last_failed(folder: Path, monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    path = folder / "lastfailed"
    path.write_text(json.dumps(dict.fromkeys(names, True)))
    monkeypatch.setattr(again, "FAILED", path)
    monkeypatch.setattr(again, "ROOT", folder)


def test_the_cells_of_a_lab_are_run_in_their_mode_and_a_module_s_tests_together() -> None:
    lab, tests = "labs/01_storage.ipynb", ["tests/x.py::test_a[1-::]", "tests/x.py::test_b"]
    cells = [f"{lab}::Cell 3", f"{lab}::Cell 4"]
    kraft = f"{lab}@kraft::Cell 3"
    assert again.to_run([cells[0], kraft, tests[1], cells[1], tests[0]]) == {
        lab: cells,
        f"{lab}@kraft": [kraft],
        "tests/x.py": tests,
    }


@pytest.mark.parametrize("switch", ["", "@kraft"])
def test_a_lab_is_run_again_in_the_mode_in_which_it_failed(switch: str) -> None:
    lab = "labs/00_start.ipynb"
    command = [sys.executable, "-m", "pytest", "--collect-only", "--quiet"]
    made = subprocess.run(
        [*command, *again.arguments(lab + switch)],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    cells = [line for line in made.stdout.splitlines() if "::Cell " in line]
    assert cells
    assert {line.partition("::")[0] for line in cells} == {lab + switch}


def test_what_passes_alone_is_forgiven_and_what_fails_again_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "test_second.py").write_text(SECOND_TIME)
    (tmp_path / "test_broken.py").write_text(BROKEN)
    last_failed(tmp_path, monkeypatch, "test_second.py::test_it")
    assert again.main() == 1
    assert again.main() == 0
    assert "FAILED ONCE: test_second.py::test_it" in capfd.readouterr().out
    last_failed(tmp_path, monkeypatch, "test_broken.py::test_it", "test_second.py::test_it")
    assert again.main() == 1


def test_what_failed_is_run_again_in_its_module_s_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The names of tests are sorted otherwise, and a test that ends what the others use is last."""
    (tmp_path / "test_order.py").write_text(IN_ORDER)
    (tmp_path / "pytest.ini").write_text("[pytest]\ncache_dir = cache")
    monkeypatch.chdir(tmp_path)
    subprocess.run([sys.executable, "-m", "pytest"], check=False)
    monkeypatch.setattr(again, "FAILED", tmp_path / "cache" / "v" / "cache" / "lastfailed")
    monkeypatch.setattr(again, "ROOT", tmp_path)
    (tmp_path / "test_order.state").write_text("well")
    again.main()
    said = capfd.readouterr().out.partition("FAILED ONCE")[2]
    assert "test_order.py .F" in said


def test_many_failures_are_no_accident_and_neither_is_a_run_without_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(again.MOST + 1):
        (tmp_path / f"test_good_{number}.py").write_text("def test_it():\n    pass\n")
    names = [f"test_good_{number}.py::test_it" for number in range(again.MOST + 1)]
    last_failed(tmp_path, monkeypatch, *names)
    assert again.main() == 1
    last_failed(tmp_path, monkeypatch)
    assert again.main() == 1


def test_a_cell_of_a_notebook_has_as_long_as_the_first_time() -> None:
    makefile = (again.ROOT / "Makefile").read_text()
    assert " ".join(again.NOTEBOOK) in makefile
