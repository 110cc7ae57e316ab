"""What a group's coordinator answers on the wire; above all to what makes no sense."""

from datetime import timedelta
from itertools import count

import pytest

from engine.assignors.protocol import Assignment, encode_assignment
from engine.coordinator.records import OffsetKey, decode_key, decode_value
from engine.errors import ErrorCode
from engine.model import TopicPartition
from engine.wire.apis import Api
from tests.interop.raw_member import SUBSCRIPTION, Member, Message
from tests.interop.watch import until
from tests.limits import CHANGE_S

CONFIG = {"offsets.topic.num.partitions": "3"}
SHARE = encode_assignment(Assignment((TopicPartition("t", 0),), None))

_names = count()


@pytest.fixture
def group():
    return f"group-{next(_names)}"


@pytest.fixture
def member(cluster, group):
    with Member(cluster.bootstrap, group) as member:
        member.coordinator()
        yield member


@pytest.fixture
def other(cluster, group):
    with Member(cluster.bootstrap, group) as other:
        yield other


def stable(*members):
    """The members in one generation, each with a share. The first leads."""
    asked = {}
    for member in members:
        if member.joined(member.begin_to_join()).error_code == ErrorCode.member_id_required:
            asked[member] = member.begin_to_join()
    for member, request in asked.items():
        assert member.joined(request).error_code == ErrorCode.none
    while any(member.generation != members[0].generation for member in members):
        again = {member: member.begin_to_join() for member in members[:-1]}
        for member, request in again.items():
            member.joined(request)
    shares = {member.id: SHARE for member in members}
    synced = {m: m.begin_to_sync(shares if m.leads else None) for m in members}
    for member, request in synced.items():
        assert member.synced(request).assignment == SHARE


def lives_on(member):
    """The group is there, and its members can work."""
    stable(member)
    assert member.heartbeat() == ErrorCode.none
    assert member.describe().group_state == "Stable"


class TestNobodyKnows:
    def test_a_group(self, member, topic):
        assert member.describe().group_state == "Dead"
        assert member.delete() == ErrorCode.group_id_not_found
        member.id, member.generation = "nobody", 1
        assert member.heartbeat() == ErrorCode.unknown_member_id
        assert member.leave() == ErrorCode.unknown_member_id
        assert member.sync().error_code == ErrorCode.unknown_member_id
        assert member.commit(topic, 1) == ErrorCode.illegal_generation

    def test_a_member(self, member, topic):
        stable(member)
        own, member.id = member.id, "nobody"
        assert member.join().error_code == ErrorCode.unknown_member_id
        assert member.heartbeat() == ErrorCode.unknown_member_id
        assert member.sync().error_code == ErrorCode.unknown_member_id
        assert member.leave() == ErrorCode.unknown_member_id
        assert member.commit(topic, 1) == ErrorCode.unknown_member_id
        member.id = own
        assert member.heartbeat() == ErrorCode.none

    @pytest.mark.parametrize("step", [-1, 1])
    def test_a_generation(self, member, topic, step):
        stable(member)
        member.generation += step
        assert member.heartbeat() == ErrorCode.illegal_generation
        assert member.sync().error_code == ErrorCode.illegal_generation
        assert member.commit(topic, 1) == ErrorCode.illegal_generation
        member.generation -= step
        assert member.heartbeat() == ErrorCode.none

    def test_a_member_that_is_dead(self, member, other, topic):
        stable(member)
        assert member.commit(topic, 1) == ErrorCode.none
        assert member.leave() == ErrorCode.none
        assert member.commit(topic, 2) == ErrorCode.unknown_member_id
        stable(other)
        assert member.commit(topic, 2) == ErrorCode.unknown_member_id
        assert other.committed(topic) == 1


class TestNames:
    def test_none(self, member):
        member.group = ""
        assert member.join().error_code == ErrorCode.invalid_group_id
        assert member.heartbeat() == ErrorCode.invalid_group_id

    def test_a_very_long_one(self, cluster):
        with Member(cluster.bootstrap, "g" * 10_000) as member:
            member.coordinator()
            lives_on(member)


class TestJoining:
    def test_no_common_protocol(self, member, other):
        stable(member)
        stranger = {"roundrobin": SUBSCRIPTION}
        assert other.join(protocols=stranger).error_code == ErrorCode.inconsistent_group_protocol
        assert other.join(protocol_type="connect").error_code == (
            ErrorCode.inconsistent_group_protocol
        )
        assert other.join(protocols={}).error_code == ErrorCode.inconsistent_group_protocol
        assert member.heartbeat() == ErrorCode.none

    @pytest.mark.parametrize("session_ms", [0, 5_999, 1_800_001, 2**31 - 1])
    def test_a_session_out_of_bounds(self, member, session_ms):
        answer = member.join(session_ms=session_ms)
        assert answer.error_code == ErrorCode.invalid_session_timeout
        lives_on(member)

    def test_two_static_members_of_one_name(self, member, other, topic):
        member.instance = other.instance = "twin"
        stable(member)
        answer = other.join()
        assert answer.error_code == ErrorCode.none
        assert other.id != member.id
        assert member.heartbeat() == ErrorCode.fenced_instance_id
        assert member.sync().error_code == ErrorCode.fenced_instance_id
        assert member.commit(topic, 1) == ErrorCode.fenced_instance_id
        assert member.join().error_code == ErrorCode.fenced_instance_id
        assert other.heartbeat() == ErrorCode.none

    def test_a_leader_that_never_syncs(self, member, other):
        assert member.join(rebalance_ms=300).error_code == ErrorCode.none
        assert other.joined(other.begin_to_join()).error_code == ErrorCode.member_id_required
        waits = other.begin_to_join(rebalance_ms=300)
        assert member.join(rebalance_ms=300).error_code == ErrorCode.none
        assert other.joined(waits).error_code == ErrorCode.none
        assert (member.leads, other.leads) == (True, False)
        share = other.sync()  # the leader has nothing to say, and is left out after its time
        assert share.error_code == ErrorCode.rebalance_in_progress
        lives_on(other)
        assert member.heartbeat() == ErrorCode.unknown_member_id

    @pytest.mark.parametrize("share", [b"", b"\xff" * 9, b"\x00\x00\x7f\xff\xff\xff"])
    def test_an_assignment_that_is_garbage(self, member, share):
        """It is the members' business: the coordinator carries it as it is."""
        assert member.join().error_code == ErrorCode.none
        assert member.sync({member.id: share, "nobody": b"x"}).assignment == share
        assert member.heartbeat() == ErrorCode.none
        assert member.describe().members[0].member_assignment == share
        lives_on(member)


class TestOffsets:
    def test_of_a_topic_that_is_not_there(self, member):
        stable(member)
        assert member.commit("no-such-topic", 1) == ErrorCode.unknown_topic_or_partition
        assert member.committed("no-such-topic") == -1

    def test_without_members(self, member, topic):
        assert member.commit(topic, 7) == ErrorCode.none
        assert member.committed(topic) == 7
        assert member.describe().group_state == "Empty"

    def test_of_a_deleted_topic_are_forgotten(self, member, client, topic):
        assert member.commit(topic, 7) == ErrorCode.none
        names, limit = (Message(name=topic, topic_id=None),), timedelta(seconds=CHANGE_S)
        request = Message(topics=names, topic_names=(topic,), timeout=limit)
        client.ask(Api.DELETE_TOPICS, request, 5)
        until(lambda: member.committed(topic) == -1)

    def test_go_with_their_group(self, member, other, topic):
        stable(member)
        assert member.commit(topic, 7) == ErrorCode.none
        assert member.delete() == ErrorCode.non_empty_group
        assert member.leave() == ErrorCode.none
        assert other.committed(topic) == 7
        assert other.delete() == ErrorCode.none
        assert (other.committed(topic), other.describe().group_state) == (-1, "Dead")

    def test_are_records_of_a_topic(self, cluster, member, topic):
        assert member.commit(topic, 7) == ErrorCode.none
        wanted = OffsetKey(member.group, topic, 0)
        records = [
            each for n in range(3) for each in member.read("__consumer_offsets", partition=n)
        ]
        (found,) = [each for each in records if decode_key(each.key) == wanted]
        assert decode_value(decode_key(found.key), found.value).offset == 7

    def test_outlive_the_broker(self, cluster, group, topic):
        with Member(cluster.bootstrap, group) as member:
            member.coordinator()
            stable(member)
            assert member.commit(topic, 7) == ErrorCode.none
            generation = member.generation
        cluster.kill(1)
        cluster.restart(1)
        with Member(cluster.bootstrap, group) as again:
            again.coordinator()
            assert again.committed(topic) == 7
            again.id, again.generation = member.id, generation
            assert again.heartbeat() == ErrorCode.none  # the generation was stable, and still is


def test_there_are_coordinators_of_groups_and_of_transactions_and_no_others(client):
    for kind in (0, 1):
        asked = Message(key="k", key_type=kind)
        until(lambda asked=asked: client.ask(Api.FIND_COORDINATOR, asked).node_id == 1)
    answer = client.ask(Api.FIND_COORDINATOR, Message(key="k", key_type=2))
    assert answer.error_code == ErrorCode.invalid_request
