"""What a consumer subscribes to, and how it tells its group.

    subscribe(["orders", "bills"])   these topics, whether they are there or not
    subscribe(["^order"])            the topics that match, as of the last metadata

    JoinGroup   protocols: range       topics, owned partitions, user data
                           sticky      topics, owned partitions, what I had and since when

Each strategy that it knows is offered with a subscription of its own; the group takes one that all
members know. How members go about a rebalance is up to all that a member names: it is cooperative
only if every one of them can be, since the group may agree on any.
"""

import re
from collections.abc import Collection, Iterable, Sequence

from kio.schema.join_group.v7.request import JoinGroupRequestProtocol

from engine.client.assignors import Assignor, Rebalance, find
from engine.client.assignors.member import NO_GENERATION
from engine.client.assignors.protocol import Subscription, encode_subscription
from engine.client.view import View
from engine.config.consumer import ConsumerConfig
from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition

INTERNAL = frozenset({"__consumer_offsets", "__transaction_state"})


class Wish:
    """Which topics are wanted."""

    def __init__(self, topics: Collection[str], pattern: re.Pattern[str] | None, internal: bool):
        self.named = frozenset(topics)
        self.pattern = pattern
        self.internal = internal  # whether the pattern may find Kafka's own topics

    def matches(self, topic: str) -> bool:
        if topic in self.named:
            return True
        found = self.pattern is not None and self.pattern.search(topic) is not None
        return found and (self.internal or topic not in INTERNAL)

    def topics(self, view: View) -> frozenset[str]:
        if self.pattern is None:
            return self.named
        return self.named | {topic for topic in view.topics() if self.matches(topic)}


class Strategies:
    """The assignors that a member knows, and what they want remembered."""

    def __init__(self, config: ConsumerConfig) -> None:
        self.known = [find(name) for name in config.partition_assignment_strategy]
        common = set.intersection(*(set(each.protocols) for each in self.known))
        self.rebalance = max(common, default=Rebalance.EAGER)
        self._had: Sequence[TopicPartition] | None = None  # by the last assignment
        self._generation = NO_GENERATION  # of which that was

    def chosen(self, name: str | None) -> Assignor:
        """The one that the group has agreed on."""
        for each in self.known:
            if each.name == name:
                return each
        raise KafkaError(
            ErrorCode.inconsistent_group_protocol, f"the group uses {name}, which we do not know"
        )

    def remember(self, partitions: Sequence[TopicPartition], generation: int) -> None:
        self._had, self._generation = tuple(partitions), generation

    def offers(
        self, topics: Iterable[str], owned: Iterable[TopicPartition]
    ) -> tuple[JoinGroupRequestProtocol, ...]:
        names, kept = tuple(topics), tuple(owned)
        return tuple(
            JoinGroupRequestProtocol(
                name=each.name,
                metadata=encode_subscription(
                    Subscription(names, kept, each.user_data(self._had, self._generation))
                ),
            )
            for each in self.known
        )
