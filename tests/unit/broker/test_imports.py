"""What the process of a node loads: some hundred start in a test run, thirty in a classroom."""

import subprocess
import sys

from engine.broker.administration import handlers_of_administrators
from engine.broker.dispatch import ADMINISTRATION
from tests.unit.broker import alone

LOADED = """
import sys
import engine.broker.broker_server

print(*sorted({name.partition(".")[0] for name in sys.modules}))
import hypothesis.strategies
"""
HANDLERS = """
import sys
import engine.broker.broker_server

print(*(name.rpartition(".")[2] for name in sys.modules if ".broker.handlers." in name))
"""
CONTROLLER = """
import sys
import engine.cli.kraft.controller

print(*sys.modules)
"""


def run(program: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    return set(done.stdout.split())


def test_a_broker_loads_no_package_for_tests_or_notebooks() -> None:
    """kio would load Hypothesis. It is kept out, and can still be imported afterwards."""
    loaded = run(LOADED)
    assert {"engine", "kio", "kazoo"} <= loaded
    assert not loaded & {"hypothesis", "pytest", "pyspark", "pyarrow", "pandas", "IPython", "numpy"}


def test_a_controller_loads_neither_a_broker_nor_anything_of_zookeeper() -> None:
    loaded = run(CONTROLLER)
    assert "engine.quorum_server.controller_server" in loaded
    assert not loaded & {"kazoo", "engine.zookeeper", "engine.broker.broker_server"}


def test_handlers_for_administrators_are_loaded_when_the_first_request_comes() -> None:
    loaded = run(HANDLERS)
    assert {"produce", "fetch", "groups"} <= loaded
    assert not loaded & {"topics", "configs", "acls", "client_quotas", "elections", "log_dirs"}


def test_every_api_of_administrators_that_is_advertised_has_a_handler() -> None:
    handlers = handlers_of_administrators(alone.broker())
    assert handlers.keys() == set(ADMINISTRATION)
