"""Stories in which nobody dies: what is committed and who may see it, and partitions that move.

Each broker stands in a rack of its own. Sessions and the lag limit are so long that nothing here
goes on because one of them is over: a broker that is paused stays in sync.
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import ElectionType
from confluent_kafka.admin import AdminClient, NewTopic

from engine.cluster.cluster import Cluster
from engine.cluster.state import ClusterState, PartitionState
from engine.config.broker import RACK_AWARE
from engine.errors import ErrorCode
from engine.model import TopicPartition
from engine.wire import codec
from engine.wire.apis import Api
from engine.wire.messages.leader_and_isr import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from engine.wire.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
)
from engine.wire.messages.update_metadata import (
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from proof.chaos.cluster_reader import QUICK, consumer, create
from proof.chaos.run import settings
from proof.chaos.workload import ChaosWorkload
from tests.cluster.probe import Probe
from tests.interop.raw import fetch, unpacked
from tests.interop.watch import until
from tests.limits import ENDLESS_SESSION_MS

CONFIG = settings(3) | {
    "zookeeper.session.timeout.ms": ENDLESS_SESSION_MS,
    "replica.lag.time.max.ms": "60000",
    "replica.selector.class": RACK_AWARE,
    "log.segment.delete.delay.ms": "100",
}
LEADER, FOLLOWER, SLOW = 1, 2, 3  # of partition 0 of `topic`


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    cluster = Cluster(3, config=CONFIG)
    for broker in cluster.brokers:  # a cluster's config is every broker's, and a rack is not
        node = cluster._processes[broker]
        node._settings = {**node._settings, "broker.rack": f"rack-{broker}"}
    with cluster:
        yield cluster


@pytest.fixture
def admin(cluster: Cluster) -> AdminClient:
    patient = {"socket.timeout.ms": 30_000}  # until there is a controller, too
    return AdminClient(QUICK | patient | {"bootstrap.servers": cluster.bootstrap})


@pytest.fixture
def now(cluster: Cluster, topic: str) -> Callable[[], PartitionState]:
    """Partition 0, as it is at this moment, once each broker has told of its replica."""
    place = TopicPartition(topic, 0)

    def known() -> bool:
        seen = cluster.state().partitions.get(place)
        return seen is not None and seen.replicas.keys() == {LEADER, FOLLOWER, SLOW}

    until(known)
    return lambda: cluster.state().partitions[place]


@pytest.fixture
def leader(cluster: Cluster, topic: str) -> Iterator[Probe]:
    """A talk with the leader of partition 0, where everybody has the record `a` already."""
    with Probe(cluster, LEADER) as leader:
        assert leader.append(topic, 0, b"a") is ErrorCode.none
        yield leader


def values(data: Any) -> list[bytes | None]:
    return [record.value for record in unpacked(data)]


def ends(seen: PartitionState) -> dict[int, int]:
    """The log end of each replica, as the leader knows it."""
    followers = {number: each.log_end for number, each in seen.followers.items()}
    return followers | {seen.leader: seen.replicas[seen.leader].log_end}


def committed(seen: PartitionState) -> int:
    return seen.replicas[seen.leader].high_watermark


# -- the high watermark ----------------------------------------------------------------------


def test_a_follower_that_is_paused_holds_back_the_high_watermark(cluster, topic, leader, now):
    """Consumers see what everybody in sync has; a follower may copy all that there is."""
    cluster.pause(SLOW)
    assert leader.append_without_waiting(topic, 0, b"b") == 1
    until(lambda: now().followers[FOLLOWER].log_end == 2)

    seen = now()
    assert seen.isr == (LEADER, FOLLOWER, SLOW)
    assert ends(seen) == {LEADER: 2, FOLLOWER: 2, SLOW: 1}
    assert committed(seen) == 1
    for replica, expected in ((-1, []), (SLOW, [b"b"])):
        asked = fetch(topic, 1)
        asked.replica_id = replica
        with Probe(cluster, LEADER) as reader:
            answer = reader.ask(Api.FETCH, asked).responses[0].partitions[0]
        assert (values(answer.records), answer.high_watermark) == (expected, 1)

    cluster.resume(SLOW)
    until(lambda: committed(now()) == 2)
    assert leader.values(topic, 0) == [b"a", b"b"]


def test_a_consumer_waits_until_the_last_follower_has_it(cluster, topic, leader, now):
    cluster.pause(FOLLOWER)
    cluster.pause(SLOW)
    with Probe(cluster, LEADER) as reader:
        asked = reader.post(Api.FETCH, fetch(topic, 1, max_wait=60_000))
        assert leader.append_without_waiting(topic, 0, b"b") == 1
        assert leader.values(topic, 0) == [b"a"]
        assert reader.is_silent()

        cluster.resume(FOLLOWER)
        until(lambda: now().followers[FOLLOWER].log_end == 2)
        assert leader.values(topic, 0) == [b"a"]
        assert reader.is_silent()

        cluster.resume(SLOW)
        answer: Any = codec.decode_response(asked, reader.frame())
    assert values(answer.responses[0].partitions[0].records) == [b"b"]


def test_the_high_watermark_is_where_the_slowest_ends_at_every_step(cluster, topic, leader, now):
    cluster.slow(LEADER, SLOW, 1000)
    leader.append_without_waiting(topic, 0, b"b")
    steps = [now()]
    until(lambda: steps.append(now()) or committed(steps[-1]) == 2)
    assert [committed(seen) for seen in steps] == [min(ends(seen).values()) for seen in steps]
    assert {LEADER: 2, FOLLOWER: 2, SLOW: 1} in [ends(seen) for seen in steps]


# -- reading from a follower -----------------------------------------------------------------


def test_a_follower_gives_what_it_knows_to_be_committed(cluster, topic, leader, now):
    """Since Fetch 11; whoever speaks an older version wants the leader."""
    until(lambda: now().replicas[FOLLOWER].high_watermark == 1)
    cluster.pause(SLOW)
    leader.append_without_waiting(topic, 0, b"b")
    until(lambda: now().replicas[FOLLOWER].log_end == 2)
    with Probe(cluster, FOLLOWER) as follower:
        answers = {
            version: follower.ask(Api.FETCH, fetch(topic, 0), version).responses[0].partitions[0]
            for version in (10, 11)
        }
        assert answers[10].error_code == ErrorCode.not_leader_or_follower
        assert answers[11].error_code == ErrorCode.none
        assert values(answers[11].records) == [b"a"]
        assert answers[11].high_watermark == 1

        cluster.resume(SLOW)
        until(lambda: follower.values(topic, 0) == [b"a", b"b"])


def test_a_consumer_reads_in_its_own_rack(cluster, topic, leader, now):
    """The leader sends it on before it has given it anything."""
    until(lambda: now().replicas[FOLLOWER].high_watermark == 1)
    before = cluster.events()[-1].number
    cluster.trace()
    near = {"client.rack": f"rack-{FOLLOWER}", "client.id": "near"}
    with consumer(cluster.bootstrap, **near) as reader:
        reader.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
        message = until(lambda: reader.poll(0.1))
        assert (message.error(), message.value()) == (None, b"a")
    until(lambda: given(cluster, before, FOLLOWER))
    assert given(cluster, before, LEADER) == 0
    cluster.trace(False)


def given(cluster: Cluster, after: int, broker: int) -> int:
    """Bytes that the consumer got from a broker, which must have heard from it."""
    fetches = [
        happened.data
        for happened in cluster.events(after)
        if (happened.kind, happened.broker) == ("request", broker)
        and (happened.data["api"], happened.data["client"]) == ("FETCH", "near")
    ]
    assert fetches or broker != LEADER
    return sum(row.get("bytes", 0) for each in fetches for row in each["partitions"])


# -- a controller's word ---------------------------------------------------------------------


def orders(state: ClusterState, topic: str, controller_epoch: int, broker_epoch: int) -> list[Any]:
    """Of a controller who wants broker 3 to lead partition 0, and everybody else to be gone."""
    sender = {
        "controller_id": state.controller,
        "controller_epoch": controller_epoch,
        "broker_epoch": broker_epoch,
    }
    wanted: dict[str, Any] = {
        "partition_index": 0,
        "controller_epoch": controller_epoch,
        "leader": 3,
        "leader_epoch": 100,
        "isr": (3,),
        "zk_version": 100,
        "replicas": (1, 2, 3),
    }
    told = LeaderAndIsrPartitionState(**wanted)
    shown = UpdateMetadataPartitionState(**wanted)
    gone = StopReplicaPartitionState(partition_index=0, leader_epoch=100, delete_partition=True)
    roles = LeaderAndIsrTopicState(topic_name=topic, partition_states=(told,))
    facts = UpdateMetadataTopicState(topic_name=topic, partition_states=(shown,))
    stops = StopReplicaTopicState(topic_name=topic, partition_states=(gone,))
    return [
        LeaderAndIsrRequest(**sender, topic_states=(roles,)),
        UpdateMetadataRequest(**sender, topic_states=(facts,), live_brokers=()),
        StopReplicaRequest(**sender, topic_states=(stops,)),
    ]


ASKED = (Api.LEADER_AND_ISR, Api.UPDATE_METADATA, Api.STOP_REPLICA)


def test_an_order_that_is_out_of_date_is_refused(cluster, truth, topic, leader, now):
    """From a controller that has been superseded, or for an earlier life of the broker."""
    state = cluster.state()
    victim = next(broker for broker in cluster.brokers if broker != state.controller)
    epoch, earlier = truth.controller_epoch(), state.brokers[victim].epoch
    cluster.restart(victim)
    until(lambda: set(now().isr) == set(cluster.brokers))
    life, before = cluster.state().brokers[victim].epoch, now()
    assert life > earlier

    cases = (
        (epoch - 1, life, ErrorCode.stale_controller_epoch),
        (epoch, earlier, ErrorCode.stale_broker_epoch),
    )
    with Probe(cluster, victim) as probe:
        known = probe.leaders(topic), len(probe.brokers())
        for controller_epoch, broker_epoch, refused in cases:
            for api, order in zip(
                ASKED, orders(state, topic, controller_epoch, broker_epoch), strict=True
            ):
                assert probe.ask(api, order).error_code == refused
        assert (probe.leaders(topic), len(probe.brokers())) == known
        after = now()
        assert (after.leader, after.leader_epoch) == (before.leader, before.leader_epoch)
        assert after.replicas[victim].leader_epoch == before.leader_epoch

        sender = {"controller_id": state.controller, "controller_epoch": epoch}
        order = LeaderAndIsrRequest(**sender, broker_epoch=life, topic_states=())
        assert probe.ask(Api.LEADER_AND_ISR, order).error_code == ErrorCode.none


# -- partitions, records and leaders on the move ---------------------------------------------


def test_records_are_gone_from_every_live_replica_before_the_answer(
    cluster, admin, topic, leader, now
):
    """A replica that is down does not hold it up, and lets them go when it is back."""
    for value in (b"b", b"c", b"d"):
        assert leader.append(topic, 0, value) is ErrorCode.none
    cluster.stop_broker(SLOW)
    (answer,) = admin.delete_records([confluent_kafka.TopicPartition(topic, 0, 2)]).values()
    assert answer.result().low_watermark == 2
    starts = {n: each.log_start for n, each in now().replicas.items() if each.answers}
    assert starts == {LEADER: 2, FOLLOWER: 2}
    assert leader.fetch(topic, 0).error_code == ErrorCode.offset_out_of_range
    assert [record.value for record in leader.read(topic, 2)] == [b"c", b"d"]

    cluster.restart(SLOW)
    until(lambda: now().replicas[SLOW].log_start == 2)


def test_partitions_move_while_clients_are_at_work(cluster, truth, admin):
    """Each to the broker that has had nothing of it: nothing is lost, and nothing stays behind."""
    name = "on-the-move"
    create(cluster.bootstrap, NewTopic(name, 3, replica_assignment=[[1, 2], [2, 3], [3, 1]]))
    truth.await_whole(name)
    moves = {0: (3, 2), 1: (1, 3), 2: (2, 1)}
    left = [cluster.directory(number + 1) / f"{name}-{number}" for number in moves]
    with ChaosWorkload(cluster, name, partial(truth.await_whole, name)) as work:
        work.advance()
        assert all(each.is_dir() for each in left)
        truth.reassign({TopicPartition(name, n): replicas for n, replicas in moves.items()})
        until(lambda: {n: each.replicas for n, each in truth.replicas(name).items()} == moves)
        truth.await_whole(name)
        work.advance()
        assert {n: each.leader for n, each in truth.states(name).items()} == {0: 3, 1: 1, 2: 2}
        verdict = work.verdict()
    assert verdict.good, verdict
    until(lambda: not [found for each in left for found in each.parent.glob(f"{each.name}*")])


def test_a_topic_is_deleted_while_a_broker_is_down(cluster, truth, admin, topic, leader):
    """Gone for clients at once; but its name is free only when the last replica is gone."""
    gone = ErrorCode.unknown_topic_or_partition
    away, *present = sorted(cluster.brokers, key=lambda each: each == truth.controller())
    cluster.stop_broker(away)
    (answer,) = admin.delete_topics([topic], operation_timeout=20).values()
    answer.result()
    for broker in present:
        with Probe(cluster, broker) as probe:
            # the broker that did not serve the request hears of it a little later
            until(lambda probe=probe: [it.error_code for it in probe.topics(topic)] == [gone])
            until(lambda broker=broker: not leftovers(cluster, broker, topic))
            assert probe.append(topic, 0, b"b") is gone
    assert leftovers(cluster, away, topic)
    assert truth.deletions() == {topic}
    assert created(admin, topic) == ErrorCode.topic_already_exists

    cluster.restart(away)
    until(lambda: topic not in truth.topics() and not truth.deletions())
    until(lambda: not leftovers(cluster, away, topic))
    assert created(admin, topic) == ErrorCode.none
    truth.await_whole(topic)
    with Probe(cluster, truth.state(topic, 0).leader) as probe:
        until(lambda: probe.append(topic, 0, b"b") is ErrorCode.none)
        assert probe.values(topic, 0) == [b"b"]


def leftovers(cluster: Cluster, broker: int, topic: str) -> list[Path]:
    """A topic's directories; those, too, that are only waiting to be removed."""
    return list(cluster.directory(broker).glob(f"{topic}-*"))


def created(admin: AdminClient, topic: str) -> int:
    (answer,) = admin.create_topics([NewTopic(topic, 1, 2)], operation_timeout=20).values()
    try:
        answer.result()
    except confluent_kafka.KafkaException as refused:
        return int(refused.args[0].code())
    return ErrorCode.none


def test_the_preferred_leader_is_asked_back(cluster, truth, admin, topic, leader):
    before = truth.state(topic, 0)
    assert before.leader == LEADER
    cluster.stop_broker(LEADER)
    assert truth.state(topic, 0).leader == FOLLOWER
    assert elected(admin, topic) == ErrorCode.preferred_leader_not_available
    cluster.restart(LEADER)
    truth.await_whole(topic)
    assert truth.state(topic, 0).leader == FOLLOWER

    assert elected(admin, topic) == ErrorCode.none
    after = truth.state(topic, 0)
    assert after.leader == LEADER
    assert after.epoch > before.epoch
    assert elected(admin, topic) == ErrorCode.election_not_needed
    with Probe(cluster, LEADER) as probe:
        until(lambda: probe.append(topic, 0, b"b") is ErrorCode.none)
        assert probe.values(topic, 0) == [b"a", b"b"]


def elected(admin: AdminClient, topic: str) -> int:
    """What the controller has to say about it."""
    partition = confluent_kafka.TopicPartition(topic, 0)
    (refused,) = admin.elect_leaders(ElectionType.PREFERRED, [partition]).result().values()
    return ErrorCode.none if refused is None else refused.code()
