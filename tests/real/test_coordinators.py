"""One broker of each kind: whenever a coordinator dies, its successor is of the other kind.

Both kinds read what the other wrote to `__consumer_offsets` and `__transaction_state`. At protocol
2.6 a real coordinator writes its markers by WriteTxnMarkers 0, at 2.8 by version 1.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.cluster.kafka_process import KAFKA, OURS
from proof.chaos.cluster_reader import consumer, high_watermark
from proof.chaos.judge import unlike
from tests.cluster.test_faults_transactions import Copying, judge
from tests.cluster.truth import Truth
from tests.interop.crew import Writer, crew
from tests.interop.watch import until
from tests.limits import JVM_S
from tests.real.conftest import PARTITIONS, new_topic
from tests.real.kafka import MixedCluster

KINDS = {1: OURS, 2: KAFKA}
LAYOUTS = [(KINDS, "2.6"), (KINDS, "2.8")]
SETTINGS = {"min.insync.replicas": "1", "transaction.state.log.min.isr": "1"}
OFFSETS, TRANSACTIONS = "__consumer_offsets", "__transaction_state"


@contextmanager
def copied(cluster: MixedCluster, source: str, sink: str, logs: Path) -> Iterator[Copying]:
    """A processor copies a topic, each batch in a transaction with the offsets it has read. In the
    end the copy has each record of the original once, in order."""
    with Writer(cluster.bootstrap, source, PARTITIONS) as writer:
        copying = Copying("confluent", cluster, source, sink, logs)
        try:
            yield copying
            writer.stop()
            judge(cluster, copying)
        finally:
            copying.end()


def fail_over(cluster: MixedCluster, truth: Truth, internal: str) -> None:
    """The leader of the internal topic's one partition is killed, and the other kind takes over."""
    victim = truth.state(internal, 0).leader
    cluster.kill(victim)
    successor = truth.await_leader(internal, 0, other_than=victim).leader
    assert cluster.kind(successor) != cluster.kind(victim)


def test_a_group_goes_on_at_a_coordinator_of_the_other_kind(cluster, truth, topic, tmp_path):
    with crew(cluster.bootstrap, topic, PARTITIONS, tmp_path) as group:
        for client in ("ours", "confluent"):
            group.join(client, "range")
        group.settle(JVM_S)
        for _ in KINDS:
            fail_over(cluster, truth, OFFSETS)
            known = set(group.writer.acknowledged)
            until(lambda known=known: not known & group.unread(), JVM_S)
            cluster.restart(the_dead(cluster))
            truth.await_whole(OFFSETS)
            group.settle(JVM_S)
        group.judge()
    assert not differences(cluster, OFFSETS)


def test_transactions_go_on_at_a_coordinator_of_the_other_kind(cluster, truth, topic, tmp_path):
    """Each coordinator sends its markers to leaders of both kinds."""
    sink = new_topic(cluster, truth)
    with copied(cluster, topic, sink, tmp_path) as copying:
        copying.survives()
        for _ in KINDS:
            fail_over(cluster, truth, TRANSACTIONS)
            copying.survives()
            cluster.restart(the_dead(cluster))
            for each in (TRANSACTIONS, OFFSETS, topic, sink):
                truth.await_whole(each)
            for number in range(PARTITIONS):
                truth.elect_preferred(sink, number)
            assert {truth.state(sink, number).leader for number in range(PARTITIONS)} == {*KINDS}
            copying.survives()
    for each in (TRANSACTIONS, OFFSETS):
        assert not differences(cluster, each)


def the_dead(cluster: MixedCluster) -> int:
    """The one broker that is down."""
    (broker,) = (each for each in cluster.brokers if not cluster.child(each).alive)
    return broker


def differences(cluster: MixedCluster, topic: str) -> list[str]:
    """Where the logs of the two differ, byte for byte, up to the high watermark."""
    with consumer(cluster.bootstrap) as reader:
        high = high_watermark(reader, topic, 0, 1, JVM_S)
    paths = {broker: cluster.directory(broker) / f"{topic}-0" for broker in cluster.brokers}
    return [str(found) for found in unlike(0, paths, high)]
