"""Brokers that die, return, do both at once, move house, or lose a disk."""

from uuid import UUID

from engine.controller.events import Answered, ControlledShutdown, UncleanAllowed
from engine.errors import ErrorCode
from engine.model import TopicPartition
from engine.wire.messages.leader_and_isr import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
)
from engine.wire.messages.stop_replica import StopReplicaRequest
from engine.wire.messages.update_metadata import UpdateMetadataRequest
from engine.zookeeper import znodes
from engine.zookeeper.requests import Create, Set
from tests.unit.controller.cluster import ID, Cluster, configured, registration

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))


def ring(**settings):
    """Controller 1 holds nothing; 2, 3 and 4 hold a replica of each of three partitions."""
    cluster = Cluster(1, 2, 3, 4, **settings)
    cluster.create("t", [[2, 3, 4], [3, 4, 2], [4, 2, 3]])
    return cluster


def test_a_dead_leader_is_replaced_and_a_dead_follower_leaves_the_isr():
    cluster = ring()
    cluster.kill(2)
    cluster.run()
    assert cluster.lead() == {T0: (3, (3, 4)), T1: (3, (3, 4)), T2: (4, (4, 3))}
    assert [cluster.state(each).leader_epoch for each in (T0, T1, T2)] == [1, 1, 1]
    assert cluster.happened("broker.down") == [{"broker": 2}]
    assert cluster.happened("leader.elected")[-1]["was"] == 2
    assert cluster.machines[1].metadata[T0].offline_replicas == (2,)
    cluster.check()


def test_the_leader_is_chosen_by_assignment_not_by_the_isr():
    cluster = Cluster(1, 2, 3)
    cluster.create("t", [[1, 2, 3]])
    cluster.change_isr(T0, 1, 3, 2)
    cluster.kill(1)
    cluster.run()
    assert cluster.lead() == {T0: (2, (3, 2))}


def test_the_last_in_sync_replica_is_waited_for():
    cluster = ring()
    cluster.change_isr(T0, 2)
    cluster.kill(2)
    cluster.run()
    assert cluster.lead()[T0] == (-1, (2,))
    assert cluster.controller.snapshot()["partitions"][0]["state"] == "offline"
    cluster.kill(3)
    cluster.start(3)
    cluster.run()
    assert cluster.lead()[T0] == (-1, (2,))
    cluster.start(2)
    cluster.run()
    assert cluster.lead()[T0] == (2, (2,))
    cluster.check()


def test_an_isr_that_nobody_has_told_of_yet_counts():
    """What the controller remembers may be old: it elects from what it reads."""
    cluster = ring()
    cluster.change_isr(T0, 2)
    path = znodes.state_path(T0)
    cluster.put(Set(path, cluster.state(T0)._replace(isr=(2, 4)).encode()))  # the note is late
    cluster.kill(2)
    cluster.run()
    assert cluster.lead()[T0] == (4, (4,))


def test_a_leader_that_writes_at_the_same_time_makes_us_choose_again():
    cluster = ring()
    raced = []

    def race(broker, ask):
        if not raced and f"{T0.topic}/partitions/0/state" in str(ask) and "writes" in str(ask):
            raced.append(ask)
            path = znodes.state_path(T0)
            cluster.put(Set(path, cluster.state(T0)._replace(isr=(2, 4)).encode()))

    cluster.before = race
    cluster.kill(2)
    cluster.run()
    assert raced
    assert cluster.lead()[T0] == (4, (4,))
    cluster.check()


def test_unclean_only_where_the_topic_says_so():
    cluster = Cluster(1, 2, 3)
    cluster.create("safe", [[2, 3]])
    cluster.create("quick", [[2, 3]], unclean_leader_election_enable="true")
    cluster.create("odd", [[2, 3]], unclean_leader_election_enable="perhaps")
    for topic in ("safe", "quick", "odd"):
        cluster.change_isr(TopicPartition(topic, 0), 2)
    cluster.kill(2)
    cluster.run()
    assert cluster.lead() == {
        TopicPartition("odd", 0): (-1, (2,)),
        TopicPartition("quick", 0): (3, (3,)),
        TopicPartition("safe", 0): (-1, (2,)),
    }
    (unclean,) = [each for each in cluster.happened("leader.elected") if not each["clean"]]
    assert (unclean["topic"], unclean["leader"], unclean["isr"]) == ("quick", 3, [3])


def test_unclean_where_the_brokers_say_so_and_the_topic_says_nothing():
    cluster = Cluster(1, 2, 3, unclean_leader_election_enable="true")
    cluster.create("quick", [[2, 3]])
    cluster.create("safe", [[2, 3]], unclean_leader_election_enable="false")
    for topic in ("safe", "quick"):
        cluster.change_isr(TopicPartition(topic, 0), 2)
    cluster.kill(2)
    cluster.run()
    assert cluster.lead()[TopicPartition("quick", 0)] == (3, (3,))
    assert cluster.lead()[TopicPartition("safe", 0)] == (-1, (2,))


def test_unclean_elections_may_be_allowed_afterwards():
    cluster = ring()
    cluster.change_isr(T0, 2)
    cluster.kill(2)
    cluster.run()
    overrides = znodes.encode_config({"unclean.leader.election.enable": "true"})
    cluster.put(Set(znodes.config_path("topics", "t"), overrides))
    cluster.ask(UncleanAllowed("u"))
    assert cluster.lead()[T0] == (-1, (2,))
    cluster.ask(UncleanAllowed("t"))
    assert cluster.lead()[T0] == (3, (3,))


def test_a_default_that_changes_while_the_controller_is_in_office():
    cluster = ring()
    cluster.change_isr(T0, 2)
    cluster.kill(2)
    cluster.run()
    changed = configured(broker_id=1, unclean_leader_election_enable="true")
    cluster.controller.configure(changed)
    cluster.ask(UncleanAllowed(None))
    assert cluster.lead()[T0] == (3, (3,))


def test_who_returns_hears_everything_and_gets_its_roles():
    cluster = ring()
    cluster.kill(2)
    cluster.run()
    cluster.start(2)
    cluster.run()
    assert cluster.machines[2].metadata.keys() == {T0, T1, T2}
    assert cluster.machines[2].roles.keys() == {T0, T1, T2}
    assert cluster.lead()[T0] == (3, (3, 4))  # its leadership does not come back by itself
    first, *_ = cluster.machines[2].heard
    assert isinstance(first, UpdateMetadataRequest)
    assert len(first.topic_states[0].partition_states) == 3
    assert cluster.happened("broker.up")[-1] == {"broker": 2}
    cluster.check()


def test_dead_and_back_before_anybody_looked():
    cluster = ring()
    life = cluster.epochs[2]
    cluster.bounce(2)
    cluster.run()
    assert cluster.epochs[2] > life
    assert cluster.lead() == {T0: (3, (3, 4)), T1: (3, (3, 4)), T2: (4, (4, 3))}
    assert cluster.happened("broker.down") == [{"broker": 2}]
    assert {request.broker_epoch for request in cluster.sent[-20:] if request.broker == 2} == {
        cluster.epochs[2]
    }
    cluster.check()


def test_what_was_meant_for_an_earlier_life_is_not_for_this_one():
    cluster = ring()
    cluster.losing = {2}
    cluster.change_isr(T0, 2, 3)
    cluster.bounce(2)
    cluster.losing = set()
    cluster.run()
    cluster.deliver_late()  # which checks the epochs, as a broker does
    cluster.check()


def test_all_brokers_of_a_partition_at_once():
    cluster = ring()
    cluster.kill(2, 3, 4)
    cluster.run()
    for leader, isr in cluster.lead().values():
        assert leader == -1 and len(isr) == 1
    for broker in (2, 3, 4):
        cluster.start(broker)
    cluster.run()
    assert all(leader == isr[0] for leader, isr in cluster.lead().values())
    cluster.check()


def test_a_broker_that_moves_house():
    cluster = Cluster(1, 2)
    cluster.put(Set(znodes.broker_path(2), registration(2, port=7777)))
    cluster.run()
    for broker in (1, 2):
        assert cluster.machines[broker].live[2].endpoints[0].port == 7777
    assert cluster.happened("broker.down") == []


# -- controlled shutdown ---------------------------------------------------------------------


def test_a_broker_that_wants_to_stop_leads_nothing_any_more():
    cluster = ring()
    assert cluster.ask(ControlledShutdown(2, cluster.epochs[2])) == set()
    assert cluster.lead() == {T0: (3, (3, 4)), T1: (3, (3, 4)), T2: (4, (4, 3))}
    assert cluster.machines[2].roles.keys() == {T0}  # as a follower of 3, which leads now
    assert cluster.machines[2].logs == {T0, T1, T2}
    assert cluster.happened("leader.elected")[-1]["reason"] == "shutdown"
    first_to_2 = [type(each) for each in cluster.machines[2].heard[-4:]]
    assert first_to_2.index(StopReplicaRequest) < 3
    cluster.kill(2)
    cluster.run()
    cluster.check()


def test_what_nobody_else_can_lead_it_still_leads():
    cluster = ring()
    cluster.change_isr(T0, 2)
    cluster.create("single", [[2]])
    assert cluster.ask(ControlledShutdown(2, cluster.epochs[2])) == {T0}
    assert cluster.lead()[T0] == (2, (2,))


def test_who_is_stopping_is_elected_for_nothing():
    cluster = ring()
    cluster.ask(ControlledShutdown(3, cluster.epochs[3]))
    cluster.kill(2)
    cluster.run()
    assert cluster.lead()[T0] == (4, (4,))
    cluster.create("new", [[3, 4]])
    assert cluster.lead()[TopicPartition("new", 0)] == (4, (4,))


def test_shutdown_of_an_earlier_life_or_of_nobody():
    cluster = ring()
    late = cluster.ask(ControlledShutdown(2, cluster.epochs[2] - 1))
    assert late.code is ErrorCode.stale_broker_epoch
    nobody = cluster.ask(ControlledShutdown(9, 1))
    assert nobody.code is ErrorCode.broker_not_available
    assert cluster.lead()[T0] == (2, (2, 3, 4))


# -- disks -----------------------------------------------------------------------------------


def fail_disk(cluster, broker, *partitions):
    cluster.machines[broker].storage_errors |= set(partitions)
    note = b'{"version":1,"broker":%d,"event":1}' % broker
    cluster.put(Create(znodes.LOG_DIR_EVENT, note, sequence=True))
    cluster.run()


def test_replicas_on_a_failed_disk_are_offline_though_their_broker_lives():
    cluster = ring()
    fail_disk(cluster, 2, T0)
    assert cluster.lead()[T0] == (3, (3, 4))
    assert cluster.lead()[T1] == (3, (3, 4, 2))
    assert cluster.machines[1].metadata[T0].offline_replicas == (2,)
    assert not [path for path in cluster.zookeeper.tree if "dir_event_0" in path]


def test_a_new_life_has_new_disks():
    cluster = ring()
    fail_disk(cluster, 2, T0)
    cluster.machines[2].storage_errors.clear()
    cluster.bounce(2)
    cluster.run()
    cluster.catch_up()
    assert cluster.lead()[T0] == (3, (3, 4, 2))
    cluster.check()


def test_an_answer_about_what_was_not_asked_does_not_count():
    cluster = ring()
    cluster.create("s", [[2, 3]])
    request = next(
        each
        for each in reversed(cluster.sent)
        if each.broker == 2 and isinstance(each.message, LeaderAndIsrRequest)
    )
    code = ErrorCode.kafka_storage_error
    errors = tuple(
        LeaderAndIsrPartitionError(partition_index=index, error_code=code)
        for index in (-1, 7, 2**31 - 1)
    )
    for topic_id in (ID, None, UUID(int=99)):
        topic = LeaderAndIsrTopicError(topic_id=topic_id, partition_errors=errors)
        response = LeaderAndIsrResponse(topics=(topic, topic))
        cluster.ask(Answered(2, request.broker_epoch, request.message, response))
    cluster.ask(Answered(2, request.broker_epoch, request.message, LeaderAndIsrResponse(topics=())))
    assert cluster.lead()[T0] == (2, (2, 3, 4))
    cluster.check()


def test_an_answer_from_an_earlier_life_does_not_count():
    cluster = ring()
    cluster.machines[2].storage_errors.add(T0)
    request, *_ = (
        each
        for each in cluster.sent
        if each.broker == 2 and isinstance(each.message, LeaderAndIsrRequest)
    )
    response = cluster.machines[2].leader_and_isr(request.message)
    cluster.ask(Answered(2, request.broker_epoch - 1, request.message, response))
    assert cluster.lead()[T0] == (2, (2, 3, 4))
    cluster.ask(Answered(2, request.broker_epoch, request.message, response))
    assert cluster.lead()[T0] == (3, (3, 4))
