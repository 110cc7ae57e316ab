"""The same seed makes the same run in a browser's Python and in this one, byte for byte.

The runs are made by Pyodide in Node, from the very wheels that a browser loads.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lite.sources import ROOT
from tests.lite.conftest import SITE

HERE = Path(__file__).parent
FEW = [(7, False), (7, True)]
TWENTY = [(seed, kraft) for seed in range(1, 21) for kraft in (False, True)]
RUNS_TIMEOUT_S = 540


def printed(*command: object) -> list[str]:
    words = [str(it) for it in command]
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=RUNS_TIMEOUT_S, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: list[str] = json.loads(done.stdout)
    return found


def both(runs: list[tuple[int, bool]]) -> tuple[list[str], list[str]]:
    file, wanted = HERE / "digests.py", json.dumps(runs)
    pyodide = SITE / "static" / "pyodide"
    there = printed("node", ROOT / "lite" / "pyodide.mjs", pyodide, file, wanted)
    return printed(sys.executable, file, wanted), there


def test_a_run_in_each_mode_is_the_same_there(site):
    here, there = both(FEW)
    assert there == here
    assert here[0] != here[1]


@pytest.mark.long
@pytest.mark.timeout(2 * RUNS_TIMEOUT_S)
def test_twenty_seeds_in_each_mode_are_the_same_there(site):
    here, there = both(TWENTY)
    assert there == here
    assert len(set(here)) == len(TWENTY)
