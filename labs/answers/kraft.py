"""Answers to the exercises of 10_kraft. Try first; there is more than one way."""

from collections.abc import Mapping, Sequence

from engine import Cluster
from engine.client.admin.values import AlterConfigOpType, ConfigEntry, ConfigResource
from engine.cluster.state import now
from engine.metadata.meta_properties import read_meta_properties
from engine.raft.bootstrap import format_directory
from proof.quorum.simulated_quorum import SimulatedQuorum

LogEnd = tuple[int, int]  # offset, epoch


def up_to_date(candidate: LogEnd, own: LogEnd) -> bool:
    """The epoch counts first: a longer log of an older epoch may lack what is committed."""
    (offset, epoch), (own_offset, own_epoch) = candidate, own
    return (epoch, offset) >= (own_epoch, own_offset)


def committed(ends: Sequence[int], epoch_start: int) -> int:
    on_a_majority = sorted(ends, reverse=True)[len(ends) // 2]
    return on_a_majority if on_a_majority > epoch_start else 0


def resigned(quorum: SimulatedQuorum) -> None:
    """Cut the leader off: nobody fetches from it any more."""
    assert quorum.leader is not None
    quorum.isolate(quorum.leader)
    quorum.run(1)


def taken_back(cluster: Cluster, topic: str) -> None:
    """The error that a producer hears belongs to one setting: delete it, and the default holds."""
    blamed = {
        "INVALID_RECORD": "cleanup.policy",  # a compacted topic takes no record without a key
        "MSG_SIZE_TOO_LARGE": "max.message.bytes",
        "NOT_ENOUGH_REPLICAS": "min.insync.replicas",
    }
    errors = list[str]()
    producer = cluster.producer({"acks": "all", "retries": 0})
    producer.produce(topic, "x" * 200, on_delivery=lambda error, _: errors.append(error.name()))
    producer.flush()
    setting = ConfigEntry(blamed[errors[0]], "", incremental_operation=AlterConfigOpType.DELETE)
    resource = ConfigResource("topic", topic, incremental_configs=[setting])
    cluster.admin.incremental_alter_configs([resource])[resource].result()


def timeouts(slowest: int, wait: int) -> Mapping[str, int]:
    """A fetch takes the way there, the leader's wait and the way back; a vote both ways. Something
    more than that, as clocks differ."""
    return {
        "controller.quorum.fetch.timeout.ms": (2 * slowest + wait) * 6 // 5,
        "controller.quorum.election.timeout.ms": 2 * slowest * 6 // 5,
        "controller.quorum.election.backoff.max.ms": slowest,
    }


def disk_lost(cluster: Cluster) -> None:
    """Only while the two others live: they are a majority, and have all that is committed."""
    known = read_meta_properties(cluster.data / "controller-1")
    assert known is not None
    format_directory(cluster.data / "controller-3", 103, known.cluster_id, now())
    cluster.restart("controller-3")
