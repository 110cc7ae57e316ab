"""Stories of those who come back: with what others have not, without what they had, or too late.

The high watermark is never written down while a broker runs. So a leader that was killed knows of
none when it returns, and all that it can go by is the leader epochs in its log.
"""

import pytest
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
)

from engine.cluster.cluster import Cluster
from engine.errors import ErrorCode
from engine.model import TopicPartition
from proof.chaos.cluster_reader import QUICK, create
from proof.chaos.judge import ChaosFinding, batches, unlike
from tests.cluster.probe import Probe
from tests.cluster.truth import Truth
from tests.interop.watch import until

CONFIG = {
    "replica.lag.time.max.ms": "60000",  # who leaves the ISR here is dead
    "replica.high.watermark.checkpoint.interval.ms": "3600000",
    "log.retention.check.interval.ms": "200",
    "log.segment.delete.delay.ms": "100",
}
FAR = 1000  # an offset beyond any here


@pytest.fixture
def admin(cluster: Cluster) -> AdminClient:
    patient = {"socket.timeout.ms": 30_000}  # until there is a controller, too
    return AdminClient(QUICK | patient | {"bootstrap.servers": cluster.bootstrap})


def placed(cluster: Cluster, truth: Truth, name: str, *replicas: int, **config: str) -> None:
    """A topic with one partition, of which one replica in sync is enough."""
    config = {"min.insync.replicas": "1", **config}
    create(cluster.bootstrap, NewTopic(name, 1, replica_assignment=[list(replicas)], config=config))
    truth.await_whole(name)


def append(cluster: Cluster, broker: int, topic: str, *values: bytes) -> None:
    """To its leader, who may have to hear of it first; each is acknowledged by all in sync."""
    with Probe(cluster, broker) as leader:
        for value in values:
            until(lambda value=value: leader.append(topic, 0, value) is ErrorCode.none)


def everywhere(cluster: Cluster, topic: str, count: int) -> dict[int, list[bytes | None]]:
    """What each replica would tell a consumer, once they are sure of so many."""
    partition, told = TopicPartition(topic, 0), {}
    for number in cluster.state().partitions[partition].assignment:
        with Probe(cluster, number) as replica:
            until(lambda replica=replica: len(replica.values(topic, 0)) >= count)
            told[number] = replica.values(topic, 0)
    return told


def differences(cluster: Cluster, topic: str) -> list[ChaosFinding]:
    def ends() -> dict[int, int]:
        replicas = cluster.state().partitions[TopicPartition(topic, 0)].replicas
        return {number: each.log_end for number, each in replicas.items()}

    until(lambda: len(set(ends().values())) == 1)  # what is seen of a broker may be a little older
    directories = {number: cluster.directory(number) / f"{topic}-0" for number in ends()}
    return unlike(0, directories, max(ends().values()))


def cuts(cluster: Cluster, topic: str, after: int) -> list[tuple[int | None, int, int]]:
    """Who cut its log to which offset, and where it ended before."""
    return [
        (each.broker, each.data["end_offset"], each.data["was"])
        for each in cluster.events(after)
        if each.kind == "log.truncated" and each.data["topic"] == topic
    ]


# -- two stories that were others before there were leader epochs ------------------------------


def returns_with_a_tail(cluster: Cluster, truth: Truth, topic: str) -> int:
    """A leader dies with two records that nobody else has, and two that all have. Who was it?"""
    victim = truth.state(topic, 0).leader
    append(cluster, victim, topic, b"a", b"b")
    for other in set(cluster.brokers) - {victim}:
        cluster.cut(victim, other)
    with Probe(cluster, victim) as leader:
        for offset, value in enumerate((b"x", b"y"), 2):
            assert leader.append_without_waiting(topic, 0, value) == offset
    cluster.kill(victim)
    cluster.heal()
    successor = truth.await_leader(topic, 0, other_than=victim).leader
    append(cluster, successor, topic, b"c")
    cluster.restart(victim)
    truth.await_whole(topic)
    return victim


def returns_with_what_was_lost(cluster: Cluster, truth: Truth, topic: str) -> tuple[int, int]:
    """One stops in order, with a committed record that the other loses, and writes over."""
    first, second = [each for each in cluster.brokers if each != truth.await_controller()][:2]
    placed(cluster, truth, topic, first, second)
    append(cluster, first, topic, b"a", b"b")
    cluster.stop_broker(first)
    truth.await_isr(topic, 0, {second})
    cluster.kill(second)
    forget_the_last(cluster, second, topic)
    cluster.restart(second)
    append(cluster, second, topic, b"c", b"d")
    cluster.restart(first)
    truth.await_whole(topic)
    return first, second


def forget_the_last(cluster: Cluster, broker: int, topic: str) -> None:
    """As if the power had failed before the last batch was on the disk."""
    *_, last = batches(cluster.directory(broker) / f"{topic}-0", FAR)
    with last.path.open("r+b") as log:
        log.truncate(last.position)


def test_a_tail_that_nobody_else_has_is_cut_off_where_the_epoch_ended(cluster, truth, topic):
    """Two records, and not more: what everybody had stays."""
    before = cluster.events()[-1].number
    victim = returns_with_a_tail(cluster, truth, topic)
    assert cuts(cluster, topic, before) == [(victim, 2, 4)]
    assert everywhere(cluster, topic, 3) == {
        broker: [b"a", b"b", b"c"] for broker in cluster.brokers
    }
    assert differences(cluster, topic) == []


@pytest.mark.long  # labs/02_replication.ipynb shows it
def test_who_returns_with_what_was_lost_gives_it_up(cluster, truth):
    before = cluster.events()[-1].number
    first, second = returns_with_what_was_lost(cluster, truth, "forgotten")
    expected = [b"a", b"c", b"d"]
    assert everywhere(cluster, "forgotten", 3) == {first: expected, second: expected}
    assert (first, 1, 2) in cuts(cluster, "forgotten", before)
    assert differences(cluster, "forgotten") == []


# -- unclean elections -----------------------------------------------------------------------


def last_leader_dies(cluster: Cluster, truth: Truth, topic: str, **config: str) -> tuple[int, int]:
    """It alone has x and y, which were acknowledged; who is back is the other one."""
    leader, other = [each for each in cluster.brokers if each != truth.await_controller()][:2]
    placed(cluster, truth, topic, leader, other, **config)
    append(cluster, leader, topic, b"a", b"b")
    cluster.kill(other)
    truth.await_isr(topic, 0, {leader})
    append(cluster, leader, topic, b"x", b"y")
    cluster.kill(leader)
    until(lambda: truth.state(topic, 0).leader == -1)
    cluster.restart(other)
    return leader, other


def test_nobody_leads_who_is_not_in_sync(cluster, truth):
    """The one that has everything is waited for, and nothing is lost."""
    leader, other = last_leader_dies(cluster, truth, "clean")
    before = truth.state("clean", 0)
    placed(cluster, truth, "afterwards", other)  # the controller has dealt with all before it
    assert truth.state("clean", 0) == before
    assert (before.leader, before.isr) == (-1, (leader,))
    with Probe(cluster, other) as probe:
        until(lambda: probe.leaders("clean") == {0: -1})  # it has heard of it a moment later
        assert probe.append("clean", 0, b"p") is ErrorCode.not_leader_or_follower

    cluster.restart(leader)
    truth.await_whole("clean")
    expected = [b"a", b"b", b"x", b"y"]
    assert everywhere(cluster, "clean", 4) == {leader: expected, other: expected}


def test_an_unclean_election_loses_what_was_written_alone(cluster, truth, admin):
    """Exactly x and y: both were acknowledged, and the one that had them cuts them off itself."""
    leader, other = last_leader_dies(cluster, truth, "unclean")
    before = cluster.events()[-1].number
    allow_unclean(admin, "unclean")
    truth.await_leader("unclean", 0, other_than=leader)
    assert truth.state("unclean", 0).isr == (other,)
    append(cluster, other, "unclean", b"p")

    cluster.restart(leader)
    truth.await_whole("unclean")
    expected = [b"a", b"b", b"p"]
    assert everywhere(cluster, "unclean", 3) == {leader: expected, other: expected}
    assert cuts(cluster, "unclean", before) == [(leader, 2, 4)]
    assert differences(cluster, "unclean") == []
    elections = [each.data for each in cluster.events(before) if each.kind == "leader.elected"]
    assert [each["clean"] for each in elections if each["topic"] == "unclean"] == [False]


def allow_unclean(admin: AdminClient, topic: str) -> None:
    entry = ConfigEntry(
        "unclean.leader.election.enable",
        "true",
        incremental_operation=AlterConfigOpType.SET,
    )
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
    (answer,) = admin.incremental_alter_configs([resource]).values()
    answer.result()
