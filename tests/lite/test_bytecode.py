"""Python comes compiled: a visit does not compile again what each visit imports."""

import json
import subprocess
from pathlib import Path

from lite.sources import ROOT
from tests.limits import START_S
from tests.lite.conftest import SITE

STARTS = Path(__file__).with_name("starts.py")


def test_a_start_compiles_nothing_and_a_module_that_is_edited_is_compiled(site):
    command = ["node", ROOT / "lite/pyodide.mjs", SITE / "static/pyodide", STARTS]
    told = subprocess.run(command, capture_output=True, text=True, timeout=START_S, check=True)
    assert json.loads(told.stdout) == {"compiled": [], "edited": True}
