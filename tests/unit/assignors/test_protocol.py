"""What members of a group send to each other: byte for byte what other clients send."""

from collections.abc import Callable

import pytest
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyAssignorUserDataV1
from kafka.coordinator.assignors.sticky.user_data import StickyAssignorUserData
from kafka.protocol.consumer.metadata import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)

from engine.assignors import Subscriber
from engine.assignors.protocol import (
    Assignment,
    MemberData,
    Subscription,
    decode_assignment,
    decode_generation,
    decode_member_data,
    decode_subscription,
    decode_topics,
    encode_assignment,
    encode_generation,
    encode_member_data,
    encode_subscription,
)
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition

OWNED = (TopicPartition("bücher", 7), TopicPartition("orders", 0), TopicPartition("orders", 2))
TOPICS = [("bücher", [7]), ("orders", [0, 2])]
SUBSCRIPTION = Subscription(("bücher", "orders"), OWNED, b"\1\2")


def test_bytes_by_hand() -> None:
    owned = (TopicPartition("b", 7), TopicPartition("a", 258), TopicPartition("a", 3))
    assert (
        encode_subscription(Subscription(("b", "a"), owned))
        == (
            b"\0\1"  # version
            b"\0\0\0\2" + b"\0\1a" + b"\0\1b"  # topics, in order
            b"\xff\xff\xff\xff"  # no user data
            b"\0\0\0\2"  # owned, in order
            b"\0\1a" + b"\0\0\0\2" + b"\0\0\0\3\0\0\1\2"
            b"\0\1b" + b"\0\0\0\1" + b"\0\0\0\7"
        )
    )
    assert encode_assignment(Assignment((TopicPartition("a", 3),), b"")) == (
        b"\0\1" + b"\0\0\0\1" + b"\0\1a" + b"\0\0\0\1" + b"\0\0\0\3" + b"\0\0\0\0"
    )
    assert encode_member_data(MemberData((TopicPartition("a", 3),), 5)) == (
        b"\0\0\0\1" + b"\0\1a" + b"\0\0\0\1" + b"\0\0\0\3" + b"\0\0\0\5"
    )


@pytest.mark.parametrize("user_data", [None, b"", b"\1\2"])
@pytest.mark.parametrize("version", [0, 1])
def test_subscription_is_kafka_pythons(version: int, user_data: bytes | None) -> None:
    owned = [
        ConsumerProtocolSubscription.TopicPartition(topic=topic, partitions=numbers)
        for topic, numbers in TOPICS
    ]
    theirs = ConsumerProtocolSubscription(
        version=version,
        topics=["bücher", "orders"],
        user_data=user_data,
        owned_partitions=owned if version else [],
    ).encode()
    ours = SUBSCRIPTION._replace(user_data=user_data)
    if version == 1:  # the one that we write
        assert encode_subscription(ours) == bytes(theirs)
    assert decode_subscription(theirs) == (ours if version else ours._replace(owned=()))


@pytest.mark.parametrize("user_data", [None, b"", b"\1\2"])
@pytest.mark.parametrize("version", [0, 1])
def test_assignment_is_kafka_pythons(version: int, user_data: bytes | None) -> None:
    theirs = ConsumerProtocolAssignment(version, TOPICS, user_data).encode()
    ours = Assignment(OWNED, user_data)
    if version == 1:
        assert encode_assignment(ours) == bytes(theirs)
    assert decode_assignment(theirs) == ours


@pytest.mark.parametrize("generation", [-1, 0, 77])
def test_sticky_user_data_is_aiokafkas(generation: int) -> None:
    theirs = StickyAssignorUserDataV1(TOPICS, generation).encode()
    assert encode_member_data(MemberData(OWNED, generation)) == theirs
    assert decode_member_data(theirs) == MemberData(OWNED, generation)
    # Version 0 ends before the generation.
    assert decode_member_data(theirs[:-4]) == MemberData(OWNED, -1)
    # kafka-python 3 puts a version in front, which Kafka does not; so it is not understood.
    refused(decode_member_data, bytes(StickyAssignorUserData(TOPICS, generation).encode()))
    assert decode_generation(encode_generation(generation)) == generation
    assert decode_generation(theirs) == generation  # as librdkafka's cooperative members send it


@pytest.mark.parametrize(("version", "more"), [(2, {}), (3, {"rack_id": "r1"})])
def test_newer_subscriptions_are_read_as_far_as_they_are_known(
    version: int, more: dict[str, str]
) -> None:
    theirs = ConsumerProtocolSubscription(
        version=version, topics=["t"], user_data=None, owned_partitions=[], generation_id=9, **more
    ).encode()
    assert decode_subscription(theirs) == Subscription(("t",), generation=9)
    assert decode_topics(theirs[:-3]) == ("t",)  # a coordinator needs no more
    assert decode_subscription(b"\0\x63" + theirs[2:] + b"more") == Subscription(
        ("t",), generation=9
    )


def test_a_subscription_is_a_member_without_its_id() -> None:
    member = Subscriber("a", *SUBSCRIPTION, instance_id="i")
    assert (member.topics, member.owned) == (SUBSCRIPTION.topics, OWNED)
    assert (member.user_data, member.generation, member.instance_id) == (b"\1\2", -1, "i")


def test_partitions_go_topic_by_topic_in_the_order_of_their_first() -> None:
    mixed = (TopicPartition("b", 4), TopicPartition("a", 1), TopicPartition("b", 0))
    decoded = decode_assignment(encode_assignment(Assignment(mixed)))
    assert decoded.partitions == (mixed[0], mixed[2], mixed[1])


DECODERS: list[tuple[Callable[[bytes], object], bytes]] = [
    (decode_subscription, encode_subscription(SUBSCRIPTION)),
    (decode_assignment, encode_assignment(Assignment(OWNED, b"\1\2"))),
    (decode_generation, encode_generation(1)),
]


@pytest.mark.parametrize(("decode", "whole"), DECODERS)
def test_cut_short(decode: Callable[[bytes], object], whole: bytes) -> None:
    decode(whole)
    for end in range(len(whole)):
        refused(decode, whole[:end])


@pytest.mark.parametrize(
    ("decode", "data"),
    [
        (decode_subscription, b"\xff\xff\0\0\0\0\xff\xff\xff\xff"),  # version -1
        (decode_subscription, b"\0\0\xff\xff\xff\xff\xff\xff\xff\xff"),  # no array of topics
        (decode_subscription, b"\0\0\x7f\xff\xff\xff\0\1a"),  # two thousand million topics
        (decode_subscription, b"\0\0\0\0\0\1\xff\xff\xff\xff\xff\xff"),  # a topic of length -1
        (decode_subscription, b"\0\0\0\0\0\1\0\2\xc3\x28\xff\xff\xff\xff"),  # no UTF-8
        (decode_subscription, b"\0\0\0\0\0\0\xff\xff\xff\xfe"),  # user data of length -2
        (decode_assignment, b"\0\1\0\0\0\1\0\1a\x7f\xff\xff\xff\0\0\0\0"),
        (decode_assignment, b"\0\1\0\0\0\1\0\1a\xff\xff\xff\xff\0\0\0\0"),
        (decode_member_data, b"\0\0\0\1\0\1a\0\0\0\2\0\0\0\1"),
        (decode_member_data, b"\0\0\0\0\0\0"),
    ],
)
def test_malformed(decode: Callable[[bytes], object], data: bytes) -> None:
    refused(decode, data)


def refused(decode: Callable[[bytes], object], data: bytes) -> None:
    with pytest.raises(ApiException) as error:
        decode(data)
    assert error.value.code == ErrorCode.inconsistent_group_protocol
    assert error.value.message.startswith("This is no ")
