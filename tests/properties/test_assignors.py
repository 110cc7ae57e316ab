"""Any group, any topics, any past: what every strategy promises, and what sticky promises more.

Sticky is asked to be the best there is, so it is measured against every assignment that could be
made (of small groups), and against kafka-python's and aiokafka's.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain, product
from typing import Any

import aiokafka.coordinator.assignors.range as aio_range
import aiokafka.coordinator.assignors.roundrobin as aio_roundrobin
import aiokafka.coordinator.assignors.sticky.sticky_assignor as aio_sticky
import kafka.coordinator.assignors.range as python_range
import kafka.coordinator.assignors.roundrobin as python_roundrobin
import kafka.coordinator.assignors.sticky.sticky_assignor as python_sticky
import pytest
from aiokafka.coordinator.protocol import ConsumerProtocolMemberMetadata
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.consumer.group import JoinGroupResponse
from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription

from engine.assignors import ASSIGNORS, Assignor, Subscriber, protocol
from engine.assignors.protocol import MemberData
from engine.errors import ApiException
from engine.model import TopicPartition
from tests.search import examples

Counts = dict[str, int]
Group = tuple[list[Subscriber], Counts]
Shares = Mapping[str, Sequence[TopicPartition]]

GENERATION = 3


@st.composite
def groups(draw: st.DrawFn, members: int = 6, most: int = 6, *, equal: bool | None = None) -> Group:
    """Members with topics they want, each partition with a former owner or none."""
    counts = {f"t{n}": draw(st.integers(0, most)) for n in range(draw(st.integers(1, 4)))}
    wants = st.lists(st.sampled_from([*counts, "gone"]), unique=True).map(tuple)
    equal = draw(st.booleans()) if equal is None else equal
    everyones = draw(wants) if equal else ()
    ids = [f"m{n}" for n in range(draw(st.integers(1, members)))]
    wanted = {id: everyones if equal else draw(wants) for id in ids}
    owned: dict[str, list[TopicPartition]] = {id: [] for id in ids}
    for topic, count in counts.items():
        wanting = [id for id in ids if topic in wanted[id]]
        for number in range(count):
            owner = draw(st.sampled_from([None, *wanting]))
            if owner is not None:
                owned[owner].append(TopicPartition(topic, number))
    joined = [Subscriber(id, wanted[id], tuple(owned[id]), None, GENERATION) for id in ids]
    return draw(st.permutations(joined)), counts


def checked(
    members: Sequence[Subscriber], counts: Counts, shares: Shares
) -> dict[TopicPartition, str]:
    """Who has each partition, once it is known that all of it makes sense."""
    assert list(shares) == [member.id for member in members]
    owner = {partition: id for id, share in shares.items() for partition in share}
    assert len(owner) == sum(map(len, shares.values())), "a partition is assigned twice"
    assert set(owner) <= {
        TopicPartition(topic, n) for topic in counts for n in range(counts[topic])
    }
    for member in members:
        assert {partition.topic for partition in shares[member.id]} <= set(member.topics)
    return owner


def wanted_partitions(members: Sequence[Subscriber], counts: Counts) -> list[TopicPartition]:
    topics = sorted({topic for member in members for topic in member.topics})
    return [TopicPartition(topic, n) for topic in topics for n in range(counts.get(topic, 0))]


def price(members: Sequence[Subscriber], owner: Mapping[TopicPartition, str]) -> tuple[int, int]:
    """How uneven it is, and how many partitions have left the one that had them."""
    load = Counter(owner.values())
    moved = sum(
        owner[partition] != member.id
        for member in members
        for partition in member.owned
        if partition in owner
    )
    return sum(load[member.id] ** 2 for member in members), moved


# -- every strategy ------------------------------------------------------------------------------


@pytest.mark.parametrize("assignor", ASSIGNORS.values(), ids=ASSIGNORS)
@examples(60)
@given(group=groups())
def test_every_partition_once_and_only_to_who_wants_it(assignor: Assignor, group: Group) -> None:
    members, counts = group
    owner = checked(members, counts, assignor.assign(members, counts))
    held_back = {partition for member in members for partition in member.owned}
    missing = set(wanted_partitions(members, counts)) - set(owner)
    assert not missing or (assignor.name == "cooperative-sticky" and missing <= held_back)
    again = assignor.assign(members, counts)
    assert again == assignor.assign(sorted(members, reverse=True), counts), "the order matters"


@pytest.mark.parametrize("name", ["roundrobin", "sticky"])
@examples(60)
@given(group=groups(equal=True))
def test_equal_subscriptions_differ_by_one_at_most(name: str, group: Group) -> None:
    members, counts = group
    sizes = [len(share) for share in ASSIGNORS[name].assign(members, counts).values()]
    assert max(sizes) - min(sizes) <= 1


@given(groups(equal=True))
def test_range_is_even_in_each_topic(group: Group) -> None:
    members, counts = group
    shares = ASSIGNORS["range"].assign(members, counts)
    for topic in members[0].topics:
        runs = [[it.partition for it in shares[m.id] if it.topic == topic] for m in sorted(members)]
        assert [*chain.from_iterable(runs)] == [*range(counts.get(topic, 0))]
        assert [len(run) for run in runs] == sorted(map(len, runs), reverse=True)
        assert len(runs[0]) - len(runs[-1]) <= 1


@given(groups(), st.data())
def test_consistent_hash_moves_only_what_must_move(group: Group, data: st.DataObject) -> None:
    members, counts = group
    gone = data.draw(st.sampled_from(members))
    rest = [member for member in members if member is not gone]
    with_it = checked(members, counts, ASSIGNORS["consistent-hash"].assign(members, counts))
    without = checked(rest, counts, ASSIGNORS["consistent-hash"].assign(rest, counts))
    for partition, owner in without.items():
        assert with_it[partition] in (owner, gone.id)


# -- sticky --------------------------------------------------------------------------------------


@examples(150)
@given(groups(members=4, most=3))
def test_sticky_is_the_best_of_all_assignments(group: Group) -> None:
    members, counts = group
    partitions = wanted_partitions(members, counts)[:6]
    counts = {topic: sum(it.topic == topic for it in partitions) for topic in counts}
    members = [it._replace(owned=tuple(set(it.owned) & set(partitions))) for it in members]
    owner = checked(members, counts, ASSIGNORS["sticky"].assign(members, counts))
    takers = [[it.id for it in members if partition.topic in it.topics] for partition in partitions]
    best = min(
        price(members, dict(zip(partitions, choice, strict=True))) for choice in product(*takers)
    )
    assert price(members, owner) == best


@given(groups(), st.data())
def test_sticky_moves_the_partitions_of_the_one_that_leaves(
    group: Group, data: st.DataObject
) -> None:
    """Nobody else loses one, where all want the same; and nothing moves if nothing happens."""
    members, counts = group
    shares = ASSIGNORS["sticky"].assign(members, counts)
    settled = [member._replace(owned=shares[member.id]) for member in members]
    assert price(
        settled, checked(settled, counts, ASSIGNORS["sticky"].assign(settled, counts))
    ) == (
        price(settled, checked(settled, counts, shares))[0],
        0,
    )
    rest = [it for it in settled if it.id != data.draw(st.sampled_from(settled)).id]
    if rest and len({frozenset(member.topics) for member in rest}) == 1:
        owner = checked(rest, counts, ASSIGNORS["sticky"].assign(rest, counts))
        assert price(rest, owner)[1] == 0


@given(groups(), st.lists(st.integers(-1, 3), min_size=6, max_size=6), st.data())
def test_sticky_believes_the_newest(
    group: Group, generations: list[int], data: st.DataObject
) -> None:
    """Whatever members claim, only what one claims most recently counts, and who cares where."""
    members, counts = group
    everything = st.lists(st.sampled_from(wanted_partitions(members, counts) or [("t0", 99)]))
    claims = {member.id: data.draw(everything) for member in members}
    since = {member.id: generations[n] for n, member in enumerate(members)}
    telling = [
        member._replace(
            owned=(),
            user_data=protocol.encode_member_data(
                MemberData(tuple(TopicPartition(*it) for it in claims[member.id]), since[member.id])
            ),
        )
        for member in members
    ]
    true: dict[str, list[TopicPartition]] = {member.id: [] for member in members}
    for partition in wanted_partitions(members, counts):
        claiming = [id for id, claimed in claims.items() if partition in claimed]
        newest = [id for id in claiming if since[id] == max(since[it] for it in claiming)]
        if len(newest) == 1:
            true[newest[0]].append(partition)
    honest = [
        member._replace(owned=tuple(it for it in true[member.id] if it.topic in member.topics))
        for member in members
    ]
    told = checked(members, counts, ASSIGNORS["sticky"].assign(telling, counts))
    known = checked(members, counts, ASSIGNORS["sticky"].assign(honest, counts))
    assert price(honest, told) == price(honest, known)


# -- cooperative ---------------------------------------------------------------------------------


@given(groups())
def test_cooperative_is_done_in_two_rounds(group: Group) -> None:
    members, counts = group
    owns = {partition: member.id for member in members for partition in member.owned}
    first = ASSIGNORS["cooperative-sticky"].assign(members, counts)
    for partition, owner in checked(members, counts, first).items():
        assert owns.get(partition, owner) == owner, "given away while it was still owned"
    kept = [member._replace(owned=first[member.id]) for member in members]
    second = ASSIGNORS["cooperative-sticky"].assign(kept, counts)
    owner = checked(members, counts, second)
    assert set(owner) == set(wanted_partitions(members, counts))
    assert price(kept, owner)[1] == 0, "a third round would be needed"
    wished = checked(members, counts, ASSIGNORS["sticky"].assign(members, counts))
    assert price(members, owner) == price(members, wished)


@given(groups(), st.lists(st.integers(-1, 3), min_size=6, max_size=6), st.data())
def test_cooperative_never_gives_what_another_owns(
    group: Group, generations: list[int], data: st.DataObject
) -> None:
    """Whoever gets a partition that another says it owns has it already, and by better right."""
    members, counts = group
    some = st.lists(st.sampled_from(wanted_partitions(members, counts) or [("t0", 99)]))
    confused = [
        member._replace(
            owned=tuple(TopicPartition(*it) for it in data.draw(some)), generation=generation
        )
        for member, generation in zip(members, generations, strict=False)
    ]
    shares = ASSIGNORS["cooperative-sticky"].assign(confused, counts)
    owner = checked(members, counts, shares)
    by_id = {member.id: member for member in confused}
    for other in confused:
        for partition in other.owned:
            taker = by_id[owner.get(partition, other.id)]
            assert taker is other or (
                partition in taker.owned and taker.generation > other.generation
            )


# -- beside others -------------------------------------------------------------------------------


class Cluster:
    """The metadata that their assignors ask for."""

    def __init__(self, counts: Counts) -> None:
        self.counts = {topic: count for topic, count in counts.items() if count}

    def topics(self) -> set[str]:
        return set(self.counts)

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        return set(range(self.counts[topic])) if topic in self.counts else None


def decoded(shares: Mapping[str, Any]) -> dict[str, set[TopicPartition]]:
    return {id: {TopicPartition(*it) for it in share.partitions()} for id, share in shares.items()}


@pytest.mark.parametrize(
    ("name", "theirs"),
    [
        ("range", aio_range.RangePartitionAssignor),
        ("roundrobin", aio_roundrobin.RoundRobinPartitionAssignor),
    ],
)
@given(group=groups())
def test_the_same_as_aiokafka(name: str, theirs: Any, group: Group) -> None:
    members, counts = group
    described = {
        member.id: ConsumerProtocolMemberMetadata(0, list(member.topics), b"") for member in members
    }
    shares = ASSIGNORS[name].assign(members, counts)
    assert {id: set(share) for id, share in shares.items()} == decoded(
        theirs.assign(Cluster(counts), described)
    )


@pytest.mark.parametrize(
    ("name", "theirs", "group"),
    [
        ("range", python_range.RangePartitionAssignor, groups()),
        # kafka-python's fails where it has to pass a member over
        ("roundrobin", python_roundrobin.RoundRobinPartitionAssignor, groups(equal=True)),
    ],
)
@given(data=st.data(), static=st.integers(0, 6))
def test_the_same_as_kafka_python(
    name: str, theirs: Any, group: st.SearchStrategy[Group], data: st.DataObject, static: int
) -> None:
    """Static members too; first in the list, since kafka-python loses some of a mixed one."""
    members, counts = data.draw(group)
    members = [
        member._replace(instance_id=f"i{9 - n}" if n < static else None)
        for n, member in enumerate(members)
    ]
    described = [
        JoinGroupResponse.JoinGroupResponseMember(
            member_id=member.id,
            group_instance_id=member.instance_id,
            metadata=ConsumerProtocolSubscription(0, list(member.topics), b""),
            version=5,
        )
        for member in members
    ]
    shares = ASSIGNORS[name].assign(members, counts)
    assert {id: set(share) for id, share in shares.items()} == decoded(
        theirs.assign(Cluster(counts), described)
    )


@pytest.mark.parametrize("theirs", [python_sticky, aio_sticky], ids=["kafka-python", "aiokafka"])
@given(group=groups())
def test_sticky_is_not_worse(theirs: Any, group: Group) -> None:
    members, counts = group
    past = {
        member.id: theirs.StickyAssignorMemberMetadataV1(
            subscription=[*member.topics], partitions=[*member.owned], generation=GENERATION
        )
        for member in members
    }
    executor = theirs.StickyAssignmentExecutor(Cluster(counts), past)
    executor.perform_initial_assignment()
    executor.balance()
    their_owner = {
        TopicPartition(topic, number): member.id
        for member in members
        for topic, numbers in executor.get_final_assignment(member.id)
        for number in numbers
    }
    owner = checked(members, counts, ASSIGNORS["sticky"].assign(members, counts))
    assert price(members, owner) <= price(members, their_owner)


# -- bytes ---------------------------------------------------------------------------------------

NAMES = st.text(st.characters(codec="utf-8"), max_size=9)
PARTITIONS = st.lists(st.builds(TopicPartition, NAMES, st.integers(-(2**31), 2**31 - 1)))
USER_DATA = st.none() | st.binary()


@given(st.lists(NAMES), PARTITIONS, USER_DATA, st.integers(-1, 2**31 - 1))
def test_what_is_written_is_read(
    topics: list[str], owned: list[TopicPartition], user_data: bytes | None, generation: int
) -> None:
    sent = protocol.Subscription(tuple(sorted(topics)), tuple(sorted(owned)), user_data)
    assert protocol.decode_subscription(protocol.encode_subscription(sent)) == sent
    assignment = protocol.Assignment(sent.owned, user_data)
    assert protocol.decode_assignment(protocol.encode_assignment(assignment)) == assignment
    claim = MemberData(sent.owned, generation)
    assert protocol.decode_member_data(protocol.encode_member_data(claim)) == claim


@given(st.binary() | st.binary(max_size=6).map(lambda it: b"\0\1\0\0\0\1\0\1a\0\0\0\1" + it))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for decode in (
        protocol.decode_subscription,
        protocol.decode_assignment,
        protocol.decode_member_data,
        protocol.decode_generation,
    ):
        with suppress(ApiException):
            decode(data)
