"""Runs what has failed once more, alone. `.ci/run` calls it after a part in which tests failed.

Thousands of tests start real processes on two cores that others use, too; now and then one of them
gets no time when it needs it, and a machine that stands still for twenty seconds ends the session
of every broker at once. Alone it passes, or it is broken. (Apache Kafka's CI does the same:
maxTestRetries=1, maxTestRetryFailures=10.) A cell of a lab needs those before it: its whole
notebook is run again.

More than MOST failures are no accident, and stay failures. What failed once is named in the
output, so that somebody finds the cause. `make test` itself forgives nothing.
"""

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FAILED = ROOT / "build" / "pytest" / "v" / "cache" / "lastfailed"
NOTEBOOK = ["-p", "nbval.plugin", "--nbval", "--nbval-cell-timeout", "120"]
MOST = 10


def to_run(failed: Iterable[str]) -> list[str]:
    """Tests by name; of a lab the file."""
    lab = ".ipynb::"
    return sorted({name.split("::")[0] if lab in name else name for name in failed})


def main() -> int:
    failed = to_run(json.loads(FAILED.read_text())) if FAILED.exists() else []
    if not 0 < len(failed) <= MOST:
        print(f"{len(failed)} failed: nothing is run again (only 1 to {MOST} are)")
        return 1
    for name in failed:
        print(f"FAILED ONCE: {name}")
        more = NOTEBOOK if name.endswith(".ipynb") else []
        command = [sys.executable, "-m", "pytest", *more, name]
        if subprocess.run(command, cwd=ROOT, check=False).returncode:
            return 1
        print(f"PASSED ALONE: {name}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
