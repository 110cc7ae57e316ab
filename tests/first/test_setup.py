"""`make setup` where it cannot go well: what it says to whoever has no index to install from."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PIP = """#!/bin/sh
echo "ERROR: No matching distribution found for pip==26.3" >&2
exit 1
"""


@pytest.fixture
def no_index(tmp_path: Path) -> Path:
    """An environment whose pip finds nothing."""
    python = tmp_path / "bin/python"
    python.parent.mkdir()
    python.write_text(PIP)
    python.chmod(0o755)
    return tmp_path


def test_without_an_index_it_says_how_to_name_one(no_index: Path) -> None:
    make = shutil.which("make")
    assert make, "make is needed here, as it is for everything else"
    told = subprocess.run(
        [make, "setup", f"VENV={no_index}"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert told.returncode != 0
    assert "No matching distribution" in told.stderr
    assert "PIP_INDEX_URL=https://" in told.stderr
    assert "HTTPS_PROXY=" in told.stderr
    assert not (no_index / ".ready").exists()
