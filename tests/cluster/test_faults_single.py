"""One broker that dies and comes back loses nothing; and the judge sees it when it does."""

import re

import pytest

from proof.chaos.judge import FindingKind
from proof.chaos.workload import ChaosWriter
from tests.cluster.python_writer import PythonWriter

BROKERS = 1
CONFIG = {"min.insync.replicas": "1"}


CLIENTS = {"confluent": (ChaosWriter, ChaosWriter), "kafka-python": (PythonWriter,)}


@pytest.mark.long  # the same in tests/interop: test_crash.py, test_reconnecting.py
@pytest.mark.parametrize("client", CLIENTS)
def test_it_dies_three_times(cluster, start, client):
    work = start(writers=CLIENTS[client])
    for _ in range(3):
        work.advance()
        cluster.kill(1)
        cluster.restart(1)
    work.advance()
    verdict = work.verdict()
    assert verdict.good, verdict


def test_the_end_of_a_log_is_cut_off(cluster, work):
    """The last replica standing comes back without its tail: nobody can heal it."""
    work.advance(count=500)
    work.stop()
    cluster.kill(1)
    *_, last = sorted((cluster.directory(1) / f"{work.topic}-2").glob("*.log"))
    with last.open("r+b") as log:
        log.truncate(last.stat().st_size - 3000)
    cluster.restart(1)

    verdict = work.verdict(patience=1)

    assert verdict.kinds == {FindingKind.LOST, FindingKind.UNSTABLE}, verdict
    lost = [finding for finding in verdict.findings if finding.kind is FindingKind.LOST]
    newest = work.writers[0].sent()[2]
    assert [finding.partition for finding in lost] == [2] * len(lost)
    found = [re.search(r"#(\d+) in .* at offset (\d+)", finding.text) for finding in lost]
    numbers = [(int(it[1]), int(it[2])) for it in found]  # of the message, and its offset
    assert numbers == [(each, each) for each in range(newest - len(lost), newest)]
    assert 3000 / 200 < len(lost) < 3000 / 100 + 50  # a record has more than a hundred bytes
