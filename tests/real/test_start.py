"""A real broker starts where ours did, ours where Kafka did, and none outlives its parent."""

import os
import signal
import subprocess
import sys

import pytest

from engine.cluster.kafka_process import KAFKA, OURS
from engine.cluster.ports import port_taken
from tests.cluster.truth import ZookeeperTruth
from tests.interop.crew import ROOT
from tests.interop.watch import until
from tests.real.conftest import new_topic
from tests.real.kafka import MixedCluster

VALUES = [f"value-{number}" for number in range(20)]
PARENT = """
import sys
from engine.cluster.kafka_process import KAFKA
from tests.real.kafka import MixedCluster
cluster = MixedCluster({1: KAFKA}).start()
print(cluster.child(1).pid, cluster._processes[1].port, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize(("first", "second"), [(OURS, KAFKA), (KAFKA, OURS)])
def test_the_second_starts_in_the_zookeeper_that_the_first_set_up(first, second):
    """Ours once left a znode that Kafka cannot read: /latest_producer_id_block, with no null."""
    with MixedCluster({1: first}) as cluster, ZookeeperTruth(cluster.zookeeper) as truth:
        assert cluster.add_broker(second) == 2
        topic = new_topic(cluster, truth, [[2, 1], [1, 2]])
        for partition in (0, 1):
            how = {"acks": "all", "enable.idempotence": True}
            offsets = cluster.write(topic, VALUES, partition=partition, **how)
            assert offsets == list(range(len(VALUES)))
            assert cluster.read(topic, partition) == VALUES
        cluster.stop_broker(1)
        assert cluster.leader(topic, 1) == 2
        cluster.restart(1)
        truth.await_whole(topic)
        assert cluster.read(topic) == VALUES


def test_a_real_broker_ends_with_the_process_that_started_it():
    with subprocess.Popen(
        [sys.executable, "-c", PARENT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    ) as parent:
        assert parent.stdout is not None
        pid, port = map(int, parent.stdout.readline().split())
        assert port_taken(port)
        parent.send_signal(signal.SIGKILL)
    until(lambda: not port_taken(port))
    until(lambda: not os.path.exists(f"/proc/{pid}"))
