"""What a broker's process loads: some hundred start in a test run, thirty in a classroom."""

import subprocess
import sys

LOADED = """
import sys
import engine.broker.broker_server

print(*sorted({name.partition(".")[0] for name in sys.modules}))
import hypothesis.strategies
"""


def test_a_broker_loads_no_package_for_tests_or_notebooks() -> None:
    """And Hypothesis, which kio would load, can still be imported afterwards."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED], capture_output=True, text=True, timeout=60, check=True
    )
    loaded = set(done.stdout.split())
    assert {"engine", "kio", "kazoo"} <= loaded
    assert not loaded & {"hypothesis", "pytest", "pyspark", "pyarrow", "pandas", "IPython", "numpy"}
