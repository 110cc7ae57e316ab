"""New topics, more partitions, and ISRs that leaders have changed."""

from engine.model import TopicPartition
from engine.wire.messages.leader_and_isr import LeaderAndIsrRequest
from engine.wire.messages.update_metadata import UpdateMetadataRequest
from engine.zookeeper import znodes
from engine.zookeeper.requests import Create, Multi, Set
from engine.zookeeper.znodes import ReplicaAssignment, Topic
from tests.unit.controller.cluster import ID, NEW_ID, Cluster

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def test_the_first_live_replica_leads_and_the_live_ones_are_in_sync():
    cluster = Cluster(1, 2, 3)
    cluster.create("t", [[9, 3, 1], [2, 3, 1]])
    assert cluster.lead() == {T0: (3, (3, 1)), T1: (2, (2, 3, 1))}
    assert cluster.state(T0) == znodes.LeaderAndIsr(3, 0, (3, 1), 1)
    cluster.check()
    assert cluster.happened("topic.created") == [{"topic": "t"}]
    assert cluster.happened("leader.elected")[0] == {
        "topic": "t",
        "partition": 0,
        "leader": 3,
        "was": -1,
        "leader_epoch": 0,
        "isr": [3, 1],
        "reason": "new",
        "clean": True,
    }


def test_each_replica_hears_once_and_everybody_else_hears_of_it():
    cluster = Cluster(1, 2, 3)
    cluster.create("t", [[2, 3], [3, 2]])
    assert cluster.told(LeaderAndIsrRequest, to=1) == []
    (request,) = cluster.told(LeaderAndIsrRequest, to=2)
    (topic,) = request.topic_states
    assert (topic.topic_name, topic.topic_id) == ("t", ID)
    assert [(each.leader, each.is_new) for each in topic.partition_states] == [(2, True), (3, True)]
    assert [each.zk_version for each in topic.partition_states] == [0, 0]
    leaders = {each.broker_id: each.port for each in request.live_leaders}
    assert leaders == {2: 9002, 3: 9003}
    news = [each for each in cluster.told(UpdateMetadataRequest, to=1) if each.topic_states]
    assert len(news) == 1


def test_within_a_step_leaders_lead_before_clients_hear_of_it():
    cluster = Cluster(1, 2, 3)
    before = len(cluster.sent)
    cluster.create("t", [[2, 3]])
    kinds = [type(request.message) for request in cluster.sent[before:]]
    assert kinds == [LeaderAndIsrRequest] * 2 + [UpdateMetadataRequest] * 3


def test_a_partition_without_a_live_replica_waits_for_one():
    cluster = Cluster(1, 2)
    cluster.create("t", [[7, 8]])
    assert cluster.lead() == {T0: None}
    cluster.start(8)
    cluster.run()
    assert cluster.lead() == {T0: (8, (8,))}
    cluster.check()


def test_partitions_that_are_added():
    cluster = Cluster(1, 2)
    cluster.create("t", [[1, 2]])
    grown = Topic(ID, {0: ReplicaAssignment((1, 2)), 1: ReplicaAssignment((2, 1))})
    cluster.put(Set(znodes.topic_path("t"), grown.encode()))
    cluster.run()
    assert cluster.lead() == {T0: (1, (1, 2)), T1: (2, (2, 1))}
    assert cluster.happened("topic.created") == [{"topic": "t"}]
    cluster.check()


def test_a_state_that_is_there_already_is_taken_for_what_it_is():
    """As after a write whose answer was lost."""
    cluster = Cluster(1, 2)
    state = znodes.LeaderAndIsr(2, 4, (2,), 1)
    cluster.put(Create(znodes.state_path(T0), state.encode(), parents=True))
    cluster.put(Create(znodes.partition_path(T1), parents=True))  # and this one got half as far
    topic = Topic(ID, {0: ReplicaAssignment((1, 2)), 1: ReplicaAssignment((1, 2))})
    cluster.put(Set(znodes.topic_path("t"), topic.encode()))
    cluster.run()
    assert cluster.state(T0) == state._replace(leader_epoch=5)
    assert cluster.lead()[T1] == (1, (1, 2))
    cluster.check()


def test_an_isr_that_its_leader_has_changed_is_told_to_everybody():
    cluster = Cluster(1, 2, 3)
    cluster.create("t", [[1, 2, 3]])
    before = len(cluster.sent)
    cluster.change_isr(T0, 1, 3)
    assert {type(request.message) for request in cluster.sent[before:]} == {UpdateMetadataRequest}
    assert {request.broker for request in cluster.sent[before:]} == {1, 2, 3}
    assert cluster.machines[2].metadata[T0].isr == (1, 3)
    assert not [path for path in cluster.zookeeper.tree if "isr_change_0" in path]
    cluster.check()


def test_a_note_that_nobody_can_read_is_cleared_away():
    cluster = Cluster(1)
    cluster.put(Create(znodes.ISR_CHANGE, b"what?", sequence=True))
    cluster.run()
    assert not [path for path in cluster.zookeeper.tree if "isr_change_0" in path]


def test_topics_that_somebody_took_away_by_hand_are_forgotten():
    cluster = Cluster(1, 2)
    cluster.create("t", [[1, 2]])
    cluster.forget_tree(znodes.topic_path("t"))
    cluster.run()
    assert cluster.controller.snapshot()["partitions"] == []
    cluster.kill(2)
    cluster.run()
    assert cluster.controller.active


def test_how_often_zookeeper_is_asked_does_not_grow_with_the_partitions():
    def asked(partitions):
        cluster = Cluster(1, 2, 3)
        cluster.create("t", [[2, 3, 1]] * partitions)
        before = len(cluster.rounds)
        cluster.kill(2)
        cluster.run()
        assert {leader for leader, _ in cluster.lead().values()} == {3}
        rounds = cluster.rounds[before:]
        return len(rounds), sum(rounds)

    (few, little), (many, much) = asked(2), asked(40)
    assert few == many
    assert much <= little * 20


def nameless(cluster, topic, replicas):
    """Create a topic without an id, as `kafka-topics.sh --zookeeper` of an older Kafka does."""
    cluster.put(Create(znodes.topic_path(topic), Topic(None, replicas).encode()))
    cluster.run()


def id_of(cluster, topic):
    return Topic.decode(cluster.get(znodes.topic_path(topic))).topic_id


def test_a_topic_that_was_made_without_an_id_gets_one():
    cluster = Cluster(1, 2, inter_broker_protocol_version="2.8")
    nameless(cluster, "t", {0: ReplicaAssignment((2, 1))})
    assert id_of(cluster, "t") == NEW_ID
    for broker in (1, 2):
        roles = [
            topic
            for each in cluster.told(LeaderAndIsrRequest, to=broker)
            for topic in each.topic_states
        ]
        assert {topic.topic_id for topic in roles} == {NEW_ID}
    cluster.check()


def test_before_protocol_2_8_it_gets_none():
    cluster = Cluster(1, 2)
    nameless(cluster, "t", {0: ReplicaAssignment((2, 1))})
    assert id_of(cluster, "t") is None
    assert cluster.lead() == {T0: (2, (2, 1))}


def test_a_controller_gives_ids_to_the_topics_that_it_finds():
    cluster = Cluster(1, 2)
    nameless(cluster, "t", {0: ReplicaAssignment((2, 1))})
    cluster.settings["inter_broker_protocol_version"] = "2.8"
    cluster.bounce(2)
    cluster.bounce(1)
    cluster.run()
    assert id_of(cluster, "t") == NEW_ID
    cluster.check()


def test_partitions_that_are_added_at_the_same_time_are_not_lost():
    cluster = Cluster(1, 2, inter_broker_protocol_version="2.8")
    both = {0: ReplicaAssignment((2, 1)), 1: ReplicaAssignment((1, 2))}

    def grow(broker, ask):
        if isinstance(ask, Multi) and any(getattr(it, "path", "") == path for it in ask.writes):
            cluster.before = lambda broker, ask: None
            cluster.put(Set(path, Topic(None, both).encode()))

    path, cluster.before = znodes.topic_path("t"), grow
    nameless(cluster, "t", {0: both[0]})
    assert Topic.decode(cluster.get(path)) == Topic(NEW_ID, both)
    assert cluster.lead() == {T0: (2, (2, 1)), T1: (1, (1, 2))}


def test_a_topic_keeps_its_id_when_an_old_program_adds_partitions():
    cluster = Cluster(1, 2, inter_broker_protocol_version="2.8")
    both = {0: ReplicaAssignment((2, 1)), 1: ReplicaAssignment((1, 2))}
    cluster.create("t", [[2, 1]])
    cluster.put(Set(znodes.topic_path("t"), Topic(None, both).encode()))
    cluster.run()
    request = cluster.told(LeaderAndIsrRequest, to=1)[-1]
    assert [(topic.topic_name, topic.topic_id) for topic in request.topic_states] == [("t", ID)]
