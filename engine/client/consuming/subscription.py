"""The members' subscriptions, and the assignment that the leader makes from them.

    subscribe(["orders", "bills"])   these topics, whether they exist or not
    subscribe(["^order"])            the topics that match, by the latest metadata

    JoinGroup   protocols: range       topics, owned partitions, user data
                           sticky      topics, owned partitions, what I had and since when
       |
    response to the leader: the subscriptions of all members
       |                    metadata: the partitions of their topics
    SyncGroup   an assignment for each member

A member offers each strategy that it knows with a subscription; the group takes one that all
members know. A member is cooperative only if all its strategies are, since the group may choose
any of them.

The coordinator makes one member the leader, and never reads a subscription or an assignment. So a
new strategy needs no new broker. Each member joins again when it wants other topics. Only the
leader notices that a topic has more partitions.

Invariant: a member whose subscription can't be read gets no partitions; the others get all.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from kio.schema.join_group.v7.request import JoinGroupRequestProtocol
from kio.schema.sync_group.v5.request import SyncGroupRequestAssignment

from engine.assignors import Assignor, RebalanceProtocol, Subscriber, find
from engine.assignors.member import NO_GENERATION
from engine.assignors.protocol import (
    Assignment,
    Subscription,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from engine.client.metadata import MetadataView
from engine.config.consumer import ConsumerConfig
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition

INTERNAL = frozenset({"__consumer_offsets", "__transaction_state"})


class SubscribedTopics:
    def __init__(self, topics: Collection[str], pattern: re.Pattern[str] | None, internal: bool):
        self.named = frozenset(topics)
        self.pattern = pattern
        self.internal = internal  # whether the pattern may match Kafka's own topics

    def matches(self, topic: str) -> bool:
        if topic in self.named:
            return True
        found = self.pattern is not None and self.pattern.search(topic) is not None
        return found and (self.internal or topic not in INTERNAL)

    def topics(self, view: MetadataView) -> frozenset[str]:
        if self.pattern is None:
            return self.named
        return self.named | {topic for topic in view.topics() if self.matches(topic)}


class Strategies:
    """The assignors that a member knows, and what they need to remember."""

    def __init__(self, config: ConsumerConfig) -> None:
        self.known = [find(name) for name in config.partition_assignment_strategy]
        common = set.intersection(*(set(each.protocols) for each in self.known))
        self.rebalance = max(common, default=RebalanceProtocol.EAGER)
        self._had: Sequence[TopicPartition] | None = None  # by the last assignment
        self._generation = NO_GENERATION  # of the last assignment

    def chosen(self, name: str | None) -> Assignor:
        """The one that the group has agreed on."""
        for each in self.known:
            if each.name == name:
                return each
        raise ApiException(
            ErrorCode.inconsistent_group_protocol, f"the group uses {name}, which we do not know"
        )

    def remember(self, partitions: Sequence[TopicPartition], generation: int) -> None:
        self._had, self._generation = tuple(partitions), generation

    def protocols(
        self, topics: Iterable[str], owned: Iterable[TopicPartition]
    ) -> tuple[JoinGroupRequestProtocol, ...]:
        names, kept = tuple(topics), tuple(owned)
        rows = []
        for each in self.known:
            user_data = each.user_data(self._had, self._generation)
            subscription = encode_subscription(Subscription(names, kept, user_data))
            rows.append(JoinGroupRequestProtocol(name=each.name, metadata=subscription))
        return tuple(rows)


class LeaderAssignment:
    """What the leader does for one generation."""

    def __init__(self, assignor: Assignor, members: Iterable[Any]) -> None:
        self.assignor = assignor
        self.members = [_member(each) for each in members]
        self.topics = frozenset(topic for each in self.members for topic in each.topics)
        self._counts: dict[str, int] | None = None  # of partitions, when they were assigned
        self._since: int | None = None  # the version of the metadata at the first look

    def is_ready(self, view: MetadataView, all: bool) -> bool:
        """Whether the metadata says for each topic whether it exists. An answer about `all` topics
        leaves out those that do not exist, so the next such answer is enough."""
        unknown = [topic for topic in self.topics if view.error(topic) is None]
        if self._since is None:
            self._since = view.version
            if unknown and all:
                view.stale()
        return not unknown or (all and view.version > self._since)

    def assign(self, view: MetadataView) -> tuple[SyncGroupRequestAssignment, ...]:
        self._counts = self._count(view)
        return tuple(
            SyncGroupRequestAssignment(
                member_id=member, assignment=encode_assignment(Assignment(partitions))
            )
            for member, partitions in self.assignor.assign(self.members, self._counts).items()
        )

    def is_outdated(self, view: MetadataView) -> bool:
        """Whether topics have other partitions now."""
        return self._counts is not None and self._counts != self._count(view)

    def _count(self, view: MetadataView) -> dict[str, int]:
        return {topic: count for topic in self.topics if (count := view.partitions(topic))}


def _member(row: Any) -> Subscriber:
    try:
        subscription = decode_subscription(row.metadata)
    except ApiException:
        return Subscriber(row.member_id, (), instance_id=row.group_instance_id)
    return Subscriber(row.member_id, *subscription, instance_id=row.group_instance_id)
