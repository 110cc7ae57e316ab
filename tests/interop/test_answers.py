"""Fields of answers that few clients read; the admin client of franz-go reads them.

Each value here is what Apache Kafka 2.8.2 answered to the same request.
"""

from datetime import timedelta

import pytest

from engine.errors import ErrorCode
from engine.wire.apis import Api
from tests.interop.raw import Message, Raw
from tests.interop.watch import until
from tests.limits import ANSWER_S

EARLIEST, LATEST = -2, -1
READ, DELETE, DESCRIBE = 3, 6, 8  # operations of an ACL


@pytest.fixture
def client(cluster):
    with Raw(cluster.bootstrap) as client:
        yield client


def epoch_at(client, topic, timestamp):
    each = Message(partition_index=0, current_leader_epoch=-1, timestamp=timestamp)
    topics = (Message(name=topic, partitions=(each,)),)
    request = Message(replica_id=-1, isolation_level=0, topics=topics)
    return client.ask(Api.LIST_OFFSETS, request).topics[0].partitions[0].leader_epoch


def end_of_epoch(client, topic, epoch):
    each = Message(partition=0, current_leader_epoch=-1, leader_epoch=epoch)
    topics = (Message(topic=topic, partitions=(each,)),)
    answer = client.ask(Api.OFFSET_FOR_LEADER_EPOCH, Message(replica_id=-1, topics=topics))
    found = answer.topics[0].partitions[0]
    return found.leader_epoch, found.end_offset


def test_a_new_log_without_records_is_in_the_epoch_of_its_leader(client):
    assert client.create("new") == ErrorCode.none
    assert epoch_at(client, "new", EARLIEST) == epoch_at(client, "new", LATEST) == 0
    assert end_of_epoch(client, "new", 0) == (0, 0)
    assert end_of_epoch(client, "new", 1) == (-1, -1)


def test_a_coordinator_that_is_found_comes_with_the_word_none(client):
    request = Message(key="a group", key_type=0)
    answer = client.ask(Api.FIND_COORDINATOR, request)
    if answer.error_code:  # the first one: the topic of offsets has just been created
        assert answer.error_code == ErrorCode.coordinator_not_available
        assert answer.error_message == "The coordinator is not available."

    def found():
        answer = client.ask(Api.FIND_COORDINATOR, request)
        return None if answer.error_code else answer

    assert until(found).error_message == "NONE"


@pytest.mark.parametrize("asked", [True, False])
def test_what_may_be_done_with_a_group_is_told_if_it_was_asked(client, asked):
    request = Message(groups=("absent",), include_authorized_operations=asked)

    def described():
        group = client.ask(Api.DESCRIBE_GROUPS, request).groups[0]
        return None if group.error_code else group

    key = Message(key="absent", key_type=0)
    until(lambda: not client.ask(Api.FIND_COORDINATOR, key).error_code)
    group = until(described)
    assert group.group_state == "Dead"
    bits = 1 << READ | 1 << DELETE | 1 << DESCRIBE
    assert group.authorized_operations == (bits if asked else -(2**31))


def test_a_topic_that_cannot_be_deleted_has_a_code_alone(client):
    wanted = Message(name="absent", topic_id=None)
    request = Message(topics=(wanted,), timeout=timedelta(seconds=ANSWER_S))
    answer = client.ask(Api.DELETE_TOPICS, request).responses[0]
    assert answer.error_code == ErrorCode.unknown_topic_or_partition
    assert answer.error_message is None
