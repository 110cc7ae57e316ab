"""The coordinator of a group falls, is cut off, comes back: what it promised holds."""

from functools import partial
from itertools import count

import pytest

from engine.errors import ErrorCode
from engine.metadata.replica_assignment import ReplicaAssignment
from engine.model import TopicPartition
from tests.interop.raw_member import Member
from tests.interop.watch import until

OFFSETS = "__consumer_offsets"
_names = count()


@pytest.fixture
def group():
    return f"group-{next(_names)}"


def addresses(cluster):
    return dict(zip(cluster.bootstrap.split(","), cluster.brokers, strict=True))


def coordinator(cluster, group, asked=0):
    """Its address, as one of the brokers says."""
    with Member(cluster.bootstrap.split(",")[asked], group) as member:
        return member.coordinator()


def test_every_broker_names_the_same_coordinator(cluster, truth, group):
    named = {coordinator(cluster, group, asked) for asked in range(3)}
    assert len(named) == 1
    assert addresses(cluster)[named.pop()] == truth.state(OFFSETS, 0).leader


def test_only_the_coordinator_answers(cluster, group, topic):
    right = coordinator(cluster, group)
    for address in addresses(cluster).keys() - {right}:
        with Member(address, group) as member:
            assert member.join().error_code == ErrorCode.not_coordinator
            assert member.commit(topic, 1) == ErrorCode.not_coordinator


def test_a_successor_knows_offsets_and_members(cluster, truth, group, topic):
    first = coordinator(cluster, group)
    truth.await_whole(OFFSETS)
    with Member(first, group) as member:
        assert member.join().error_code == ErrorCode.none
        assert member.sync({member.id: b"share"}).assignment == b"share"
        for offset in range(20):
            assert member.commit(topic, offset) == ErrorCode.none
    fallen = addresses(cluster)[first]
    cluster.kill(fallen)
    truth.await_leader(OFFSETS, 0, other_than=fallen)
    alive = next(place for place, each in enumerate(cluster.brokers) if each != fallen)
    until(lambda: coordinator(cluster, group, alive) != first)
    with Member(coordinator(cluster, group, alive), group) as again:
        assert again.committed(topic) == 19
        again.id, again.generation = member.id, member.generation
        until(lambda: again.heartbeat() == ErrorCode.none)
        assert again.commit(topic, 20) == ErrorCode.none
        (described,) = again.describe().members
        assert (described.member_id, described.member_assignment) == (member.id, b"share")


def test_who_coordinates_again_reads_again(cluster, truth, group, topic):
    """What others wrote meanwhile counts, not what one remembers of one's first time as leader."""
    at = {broker: address for address, broker in addresses(cluster).items()}
    one, two, three = cluster.brokers
    coordinator(cluster, group)
    for turn, leader in enumerate((one, two, one, two)):
        truth.await_whole(OFFSETS)
        order = (leader, *(each for each in (one, two, three) if each != leader))
        truth.reassign({TopicPartition(OFFSETS, 0): order})
        until(partial(is_in_order, truth, order))
        truth.elect_preferred(OFFSETS, 0)
        until(partial(is_coordinator, cluster, group, at[leader]))
        with Member(at[leader], group) as member:
            assert member.committed(topic) == turn - 1
            assert member.commit(topic, turn) == ErrorCode.none


def is_in_order(truth, order):
    return truth.replicas(OFFSETS)[0] == ReplicaAssignment(order)


def is_coordinator(cluster, group, address):
    return coordinator(cluster, group) == address


def test_a_commit_waits_for_the_replicas(cluster, truth, group, topic):
    """Cut from both followers it hangs; when one of them takes over, nobody was told a lie."""
    first = coordinator(cluster, group)
    truth.await_whole(OFFSETS)
    leader = addresses(cluster)[first]
    others = [each for each in cluster.brokers if each != leader]
    with Member(first, group) as member:
        assert member.commit(topic, 1) == ErrorCode.none
        for other in others:
            cluster.cut(leader, other)
        refused = {ErrorCode.coordinator_not_available, ErrorCode.not_coordinator}
        assert member.commit(topic, 2) in refused
    cluster.kill(leader)
    cluster.heal()
    cluster.restart(leader)
    truth.await_whole(OFFSETS)
    with Member(coordinator(cluster, group), group) as again:
        assert again.committed(topic) in (1, 2)
        assert again.commit(topic, 3) == ErrorCode.none
        assert again.committed(topic) == 3


def test_a_coordinator_that_was_away_does_not_know_it(cluster, truth, group, topic):
    """It is paused, superseded, and wakes up: what it says then counts for nothing."""
    first = coordinator(cluster, group)
    truth.await_whole(OFFSETS)
    away = addresses(cluster)[first]
    with Member(first, group) as member:
        assert member.commit(topic, 1) == ErrorCode.none
        cluster.pause(away)
        truth.await_leader(OFFSETS, 0, other_than=away)
        place = next(place for place, each in enumerate(cluster.brokers) if each != away)
        until(lambda: coordinator(cluster, group, place) != first)
        with Member(coordinator(cluster, group, place), group) as other:
            until(lambda: other.commit(topic, 2) == ErrorCode.none)
        cluster.resume(away)
        until(lambda: member.commit(topic, 9) == ErrorCode.not_coordinator)
    truth.await_whole(OFFSETS)
    with Member(coordinator(cluster, group), group) as again:
        assert again.committed(topic) == 2
