"""Runs what has failed once more, alone. `.ci/run` calls it after a part in which tests failed.

Thousands of tests start real processes on two cores that others use, too; now and then one of them
gets no time when it needs it, and a machine that stands still for twenty seconds ends the session
of every broker at once. Alone it passes, or it is broken. (Apache Kafka's CI does the same:
maxTestRetries=1, maxTestRetryFailures=10.) The tests of a module often share a cluster, so that one
cause fails several of them: they are run again together. A cell of a lab needs those before it: its
whole notebook is run again, in the mode in which it failed.

Failures in more than MOST modules are no accident, and stay failures. What failed once is named in
the output, so that somebody finds the cause. `make test` itself forgives nothing.
"""

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from tests.limits import CELL_S

ROOT = Path(__file__).resolve().parents[1]
FAILED = ROOT / "build" / "pytest" / "v" / "cache" / "lastfailed"
CELL = f"{CELL_S:.0f}"  # as in the Makefile
NOTEBOOK = ["-p", "tests.lean", "-p", "nbval.plugin", "--nbval", "--nbval-cell-timeout", CELL]
MOST = 10


def to_run(failed: Iterable[str]) -> dict[str, list[str]]:
    """For each module, or notebook in one mode (NN_lab.ipynb@kraft), what failed."""
    modules: dict[str, list[str]] = {}
    for name in sorted(failed):
        modules.setdefault(name.partition("::")[0], []).append(name)
    return modules


def arguments(module: str) -> list[str]:
    """What pytest is given to run it again: of a module what failed, of a notebook all cells."""
    notebook, switch, _ = module.partition("@")
    if notebook.endswith(".ipynb"):
        other = f"{notebook}::" if switch else f"{notebook}@"
        return [*NOTEBOOK, "--deselect", other, notebook]
    # In the module's order, which is not that of the names: the last test may stop the broker.
    return ["--last-failed", module]


def main() -> int:
    modules = to_run(json.loads(FAILED.read_text())) if FAILED.exists() else {}
    if not 0 < len(modules) <= MOST:
        print(f"tests in {len(modules)} modules failed: nothing is run again (1 to {MOST} are)")
        return 1
    for module, names in modules.items():
        print("\n".join(f"FAILED ONCE: {name}" for name in names))
        command = [sys.executable, "-m", "pytest", *arguments(module)]
        if subprocess.run(command, cwd=ROOT, check=False).returncode:
            return 1
        print(f"PASSED ALONE: {module}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
