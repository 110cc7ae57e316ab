"""Topics, ISRs, elections and moves: what is decided, and what is refused."""

from uuid import UUID

import pytest

from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.quorum_controller import settings_control
from engine.quorum_controller.partition_change import PartitionElection
from engine.quorum_controller.replication_control import ALL_BROKERS, UNCLEAN_KEY
from tests.unit.quorum_controller.controlled import (
    BALANCE_MS,
    P0,
    SESSION_MS,
    Controlled,
    refused,
)

UNCLEAN_MS = 300_000  # unclean.leader.election.interval.ms


@pytest.fixture
def it():
    made = Controlled([1, 2, 3])
    made.create(1, 2, 3)
    return made


def state(it):
    known = it.partition
    return known.leader, known.isr, known.leader_epoch, known.version


def test_a_topic_has_its_configuration_and_leaders_at_once(it):
    again = it.controller.replication.create_topic
    assert refused(again, "orders", UUID(int=9), {0: [1]}, {}) is ErrorCode.topic_already_exists
    it.do(again("clicks", UUID(int=9), {1: [2, 1], 0: [1, 2]}, {"retention.ms": "5"}))
    assert it.image.configs[("topics", "clicks")] == {"retention.ms": "5"}
    kinds = [type(record).__name__ for record in it.records[-4:]]
    assert kinds == ["TopicRecord", "ConfigRecord", "PartitionRecord", "PartitionRecord"]
    assert it.image.partition(TopicPartition("clicks", 1)).leader == 2


def test_no_topic_has_the_name_of_the_metadata_log(it):
    """Its directory would be that of the log, `__cluster_metadata-0`."""
    create = it.controller.replication.create_topic
    asked = "__cluster_metadata", UUID(int=9), {0: [1]}, {}
    assert refused(create, *asked) is ErrorCode.invalid_request


def test_a_name_that_differs_only_by_a_dot_from_that_of_an_uncommitted_topic_is_refused(it):
    """Two requests overlap: each is validated by the committed metadata, which has neither topic.
    The names of their metrics would be the same."""
    create = it.controller.replication.create_topic
    it.do(create("a.b", UUID(int=9), {0: [1]}, {}))
    with pytest.raises(ApiException, match=r"'a_b' collides with existing topic: a\.b") as error:
        create("a_b", UUID(int=10), {0: [1]}, {})
    assert error.value.code is ErrorCode.invalid_topic_exception
    assert refused(create, "a.b", UUID(int=11), {0: [1]}, {}) is ErrorCode.topic_already_exists
    assert create("a-b", UUID(int=12), {0: [1]}, {}).records


def test_no_more_than_10_000_partitions_are_added_at_once(it):
    """An assignment by hand is refused, too: each partition is a record of one batch."""
    replication, many = it.controller.replication, {number: [1] for number in range(1, 10_002)}
    create = replication.create_topic
    assert refused(create, "wide", UUID(int=9), many, {}) is ErrorCode.policy_violation
    assert refused(replication.create_partitions, "orders", many) is ErrorCode.policy_violation


def test_new_replicas_are_in_sync_if_their_brokers_are_active(it):
    it.register(4)
    it.do(it.controller.replication.create_partitions("orders", {1: [4, 3]}))
    found = it.image.partition(TopicPartition("orders", 1))
    assert (found.leader, found.isr, found.replicas) == (3, (3,), (4, 3))
    grow = it.controller.replication.create_partitions
    assert refused(grow, "orders", {2: [4]}) is ErrorCode.invalid_replica_assignment
    assert refused(grow, "orders", {1: [1]}) is ErrorCode.invalid_partitions
    assert refused(grow, "unknown", {1: [1]}) is ErrorCode.unknown_topic_or_partition


def test_a_replica_of_a_fenced_broker_joins_the_isr_when_the_broker_is_back():
    it = Controlled([1])
    it.register(2)
    it.create(2, 1)
    assert state(it)[:2] == (1, (1,))
    assert it.alter_isr(1, 2).code is ErrorCode.ineligible_replica
    it.beat(2)
    it.alter_isr(1, 2)
    assert state(it)[:2] == (1, (1, 2))


def test_a_deleted_topic_is_gone_by_one_record(it):
    it.do(it.controller.replication.delete_topic("orders"))
    assert it.image.topics == {}
    gone = it.controller.replication.delete_topic
    assert refused(gone, "orders") is ErrorCode.unknown_topic_or_partition


def test_below_level_12_a_smaller_isr_begins_a_leader_epoch_and_a_larger_one_does_not(it):
    assert it.alter_isr(1, 2).leader_epoch == 1
    assert state(it) == (1, (1, 2), 1, 1)
    it.alter_isr(1, 2, 3)
    assert state(it) == (1, (1, 2, 3), 1, 2)


def test_an_isr_that_is_there_already_writes_nothing(it):
    before = it.image.offset
    assert it.alter_isr(1, 2, 3).version == 0 and it.image.offset == before


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"topic_id": UUID(int=5)}, ErrorCode.unknown_topic_id),
        ({"partition": 5}, ErrorCode.unknown_topic_or_partition),
        ({"leader_epoch": 9}, ErrorCode.not_controller),
        ({"partition_epoch": 9}, ErrorCode.not_controller),
        ({"leader_epoch": -1}, ErrorCode.fenced_leader_epoch),
        ({"broker": 2}, ErrorCode.invalid_request),
        ({"partition_epoch": -1}, ErrorCode.invalid_update_version),
        ({"isr": (1, 1)}, ErrorCode.invalid_request),
        ({"isr": (1, 9)}, ErrorCode.invalid_request),
        ({"isr": ()}, ErrorCode.invalid_request),
        ({"isr": (2, 3)}, ErrorCode.invalid_request),
        ({"isr": (1,), "recovery": 1}, ErrorCode.invalid_request),
        ({"recovery": 5}, ErrorCode.invalid_request),  # a real node could not read its record
        ({"recovery": -1}, ErrorCode.invalid_request),
    ],
    ids=str,
)
def test_a_change_of_an_isr_is_refused(it, change, code):
    before = it.image.copy()
    assert it.alter_isr(1, 2, **change).code is code
    assert it.image == before


def test_a_fenced_broker_and_one_that_stops_join_no_isr(it):
    it.alter_isr(1)
    it.beat(3, fence=True)
    assert it.alter_isr(1, 3).code is ErrorCode.ineligible_replica
    it.beat(2)
    it.do(it.controller.replication.create_topic("own", UUID(int=7), {0: [2, 1]}, {}))
    it.beat(2, shutdown=True)
    assert it.alter_isr(1, 2).code is ErrorCode.ineligible_replica


def test_an_unknown_epoch_of_the_broker_refuses_all(it):
    alter = it.controller.replication.alter_partitions
    assert refused(alter, 1, 999, []) is ErrorCode.stale_broker_epoch


# -- elections -------------------------------------------------------------------------------


def elect(it, election, *partitions):
    asked = partitions or None
    return it.do(it.controller.elections.elect(asked, election))


def test_a_preferred_leader_is_elected_when_it_is_in_sync(it):
    assert elect(it, PartitionElection.PREFERRED)[P0].code is ErrorCode.election_not_needed
    it.beat(1, fence=True)
    it.beat(1)
    code = elect(it, PartitionElection.PREFERRED)[P0].code
    assert code is ErrorCode.preferred_leader_not_available
    it.alter_isr(2, 3, 1)
    assert elect(it, PartitionElection.PREFERRED)[P0] is None
    assert it.partition.leader == 1


def test_an_unclean_election_loses_records_only_when_it_is_asked_for(it):
    it.alter_isr(1)
    it.beat(1, fence=True)
    assert state(it)[:2] == (-1, (1,))
    unknown = TopicPartition("orders", 9)
    outcomes = elect(it, PartitionElection.UNCLEAN, P0, unknown)
    assert outcomes[P0] is None
    assert outcomes[unknown].code is ErrorCode.unknown_topic_or_partition
    assert state(it)[:2] == (2, (2,)) and it.partition.leader_recovery_state == 1
    assert it.alter_isr(2, 3, recovery=1).code is ErrorCode.invalid_request
    it.alter_isr(2)
    assert it.partition.leader_recovery_state == 0
    assert elect(it, PartitionElection.UNCLEAN)[P0].code is ErrorCode.election_not_needed


def test_with_nobody_alive_no_election_succeeds(it):
    for broker in (1, 2, 3):
        it.beat(broker, fence=True)
    code = elect(it, PartitionElection.UNCLEAN)[P0].code
    assert code is ErrorCode.eligible_leaders_not_available


@pytest.mark.parametrize(
    ("of_topic", "of_all", "own", "leader"),
    [("true", None, False, 2), ("false", "true", True, -1), (None, "true", False, 2),
     (None, None, True, 2), (None, None, False, -1)],
    ids=str,
)  # fmt: skip
def test_an_unclean_leader_by_itself_where_the_topic_the_cluster_or_the_node_allows_it(
    of_topic, of_all, own, leader
):
    it, key = Controlled([1, 2], unclean_leader_election_enable=own), UNCLEAN_KEY
    if of_all:
        it.do(settings_control.alter_config(it.image, *ALL_BROKERS, {key: of_all}))
    it.create(1, 2, config={key: of_topic} if of_topic else {})
    it.alter_isr(1)
    it.beat(1, fence=True)
    assert it.partition.leader == leader


def test_preferred_leaders_come_back_after_a_while(it):
    it.beat(1, fence=True)
    it.beat(1)
    it.alter_isr(2, 3, 1)
    it.pass_ms(BALANCE_MS, alive=[1, 2, 3])
    assert it.partition.leader == 1


# -- moves -----------------------------------------------------------------------------------


def move(it, *to):
    """None cancels."""
    asked = None if to == (None,) else to
    return it.do(it.controller.reassignments.alter({P0: asked}))[P0]


def test_a_move_ends_with_the_isr_that_has_all_target_replicas(it):
    for broker in (4, 5):
        it.register(broker)
        it.beat(broker)
    assert move(it, 4, 5) is None
    assert it.partition.replicas == (4, 5, 1, 2, 3) and it.partition.leader == 1
    (ongoing,) = it.controller.reassignments.ongoing(None).values()
    assert (ongoing.adding, ongoing.removing) == ((4, 5), (1, 2, 3))
    it.alter_isr(1, 2, 3, 4)
    assert it.alter_isr(1, 2, 3, 4, 5).code is ErrorCode.new_leader_elected
    assert it.partition.replicas == it.partition.isr == (4, 5)
    assert it.partition.leader == 4 and it.controller.reassignments.ongoing(None) == {}


def test_fewer_replicas_are_there_at_once_and_begin_a_leader_epoch(it):
    assert move(it, 1, 2) is None
    assert state(it) == (1, (1, 2), 1, 1) and it.partition.replicas == (1, 2)


def test_a_move_is_cancelled(it):
    assert move(it, None).code is ErrorCode.no_reassignment_in_progress
    it.register(4)
    it.beat(4)
    move(it, 4)
    assert move(it, None) is None
    assert it.partition.replicas == (1, 2, 3) and it.partition.adding == ()


def leave_only_4_in_sync(it):
    """Broker 4 came with a move, and alone has all records."""
    it.register(4)
    it.beat(4)
    move(it, 4, 2)
    it.alter_isr(1, 4)
    it.beat(1, fence=True)
    assert it.partition.isr == (4,)


def test_a_cancellation_that_would_lose_records_is_refused(it):
    leave_only_4_in_sync(it)
    assert move(it, None).code is ErrorCode.invalid_replica_assignment


def test_another_target_keeps_the_only_replica_in_sync(it):
    leave_only_4_in_sync(it)
    move(it, 2, 3)
    known = it.partition
    assert (known.replicas, known.isr, known.leader) == ((2, 3, 1, 4), (4,), 4)
    assert (known.adding, known.removing) == ((), (1, 4))
    it.alter_isr(2, 3, 4)
    assert (it.partition.replicas, it.partition.isr, it.partition.removing) == ((2, 3), (2, 3), ())


def test_another_target_drops_what_was_added_and_is_not_in_sync(it):
    for broker in (4, 5):
        it.register(broker)
        it.beat(broker)
    move(it, 4, 2)
    move(it, 5, 2)
    known = it.partition
    assert (known.replicas, known.adding, known.removing) == ((5, 2, 1, 3), (5,), (1, 3))


@pytest.mark.parametrize("to", [(), (9,), (1, 1)], ids=str)
def test_a_move_to_nowhere_is_refused(it, to):
    before = it.image.copy()
    assert move(it, *to).code is ErrorCode.invalid_replica_assignment
    assert it.image == before


def test_a_fenced_leader_is_replaced_in_a_move(it):
    it.register(4)
    it.beat(4)
    move(it, 4, 2, 3)
    it.pass_ms(SESSION_MS, alive=[2, 3, 4])
    assert it.partition.leader in (2, 3)
    it.alter_isr(2, 3, 4)
    assert it.partition.replicas == (4, 2, 3)


def test_an_unclean_election_that_has_become_allowed_comes_after_a_while(it):
    """The topic had lost its leader before it got the key: brokers 2 and 3 have been there all
    the time, and nothing else happens."""
    it.alter_isr(1)
    it.beat(1, fence=True)
    it.pass_ms(UNCLEAN_MS, alive=[2, 3])
    assert it.partition.leader == -1
    it.do(settings_control.alter_config(it.image, "topics", "orders", {UNCLEAN_KEY: "true"}))
    assert it.partition.leader == -1
    it.pass_ms(UNCLEAN_MS, alive=[2, 3])
    assert it.partition.leader == 2 and it.partition.leader_recovery_state == 1
