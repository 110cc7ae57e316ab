"""A failed test's report has what its cluster did, and what the nodes said."""

from pathlib import Path

from tests.test_standstill import run

CONFTEST = """
from tests.last_words import LastWordsPlugin

def pytest_configure(config):
    config.pluginmanager.register(LastWordsPlugin())
"""
FAILS = """
import pytest
from engine import Cluster

KRAFT = {"metadata": "kraft", "controllers": 1}

@pytest.fixture(params=["running", "zookeeper", "stopped"])
def cluster(request):
    with Cluster(brokers=1, **({} if request.param == "zookeeper" else KRAFT)) as cluster:
        if request.param == "stopped":
            cluster.stop()
        yield cluster

def test_it(cluster):
    assert False, "for its own reason"
"""


def test_it_is_told_and_the_reason_stays(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text(FAILS)
    running, other = run(tmp_path).split("test_it[zookeeper]", 1)
    zookeeper, stopped = other.split("test_it[stopped]", 1)
    for report in (running, zookeeper, stopped):
        assert "for its own reason" in report
    for told in ("broker.registered 101", "the last lines of 1", "the last lines of controller-1"):
        assert told in running
    assert "the last lines of zookeeper" in zookeeper and "FileTxnLog" in zookeeper
    assert "3 failed" in stopped and "INTERNALERROR" not in stopped
