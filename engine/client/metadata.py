"""A client's metadata of the cluster, and when it is refreshed.

    want("orders")  ->  Metadata, from any broker  ->  leader(orders-0) = 2
                             ^
         stale(), a topic without leader, or metadata.max.age.ms

A snapshot is the response to one Metadata request, as a value. The view is a core (core.py) that
keeps the newest one. An error such as NOT_LEADER shows that it is out of date: then it is `stale`,
and is fetched again after retry.backoff.ms.

Invariant: a partition's leader epoch never falls. A broker with older metadata may answer with a
former leader: that part of the answer is ignored (KIP-320).
"""

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Self
from uuid import UUID

from kio.schema.metadata.v11.request import MetadataRequest, MetadataRequestTopic

from engine.client.address import Address
from engine.client.core import ANY, Ask
from engine.config.client import ClientConfig
from engine.errors import ApiException, ErrorCode
from engine.model import NO_BROKER, NO_EPOCH, TopicPartition
from engine.wire.apis import Api


class PartitionSnapshot(NamedTuple):
    leader: int  # -1: there is none now
    replicas: tuple[int, ...]  # the preferred leader first
    isr: tuple[int, ...]
    epoch: int = NO_EPOCH  # grows with each new leader: the higher one is the newer answer


class TopicSnapshot(NamedTuple):
    name: str
    id: UUID | None
    error: ErrorCode  # why there are no partitions, or "none"
    is_internal: bool
    partitions: dict[int, PartitionSnapshot]


class MetadataSnapshot(NamedTuple):
    cluster_id: str | None
    controller: int
    brokers: dict[int, Address]
    topics: dict[str, TopicSnapshot]  # those that were asked for
    racks: Mapping[int, str] = MappingProxyType({})  # of brokers that have broker.rack

    @classmethod
    def of(cls, response: Any) -> Self:
        """The answer to a Metadata request."""
        return cls(
            cluster_id=response.cluster_id,
            controller=response.controller_id,
            brokers={each.node_id: Address(each.host, each.port) for each in response.brokers},
            topics={
                topic.name: TopicSnapshot(
                    topic.name,
                    topic.topic_id,
                    topic.error_code,
                    topic.is_internal,
                    {
                        each.partition_index: PartitionSnapshot(
                            each.leader_id, each.replica_nodes, each.isr_nodes, each.leader_epoch
                        )
                        for each in sorted(topic.partitions, key=lambda it: it.partition_index)
                    },
                )
                for topic in sorted(response.topics, key=lambda topic: topic.name)
            },
            racks={each.node_id: each.rack for each in response.brokers if each.rack is not None},
        )

    def leader(self, partition: TopicPartition) -> int:
        """The id of the leader, or -1 if none is known."""
        found = self.partition(partition)
        return found.leader if found else NO_BROKER

    def partition(self, partition: TopicPartition) -> PartitionSnapshot | None:
        topic = self.topics.get(partition.topic)
        return topic.partitions.get(partition.partition) if topic else None


def metadata_request(topics: Collection[str] | None, create: bool = False) -> MetadataRequest:
    """About these topics; about all, for None."""
    names = None if topics is None else sorted(topics)
    return MetadataRequest(
        topics=names and tuple(MetadataRequestTopic(topic_id=None, name=name) for name in names),
        allow_auto_topic_creation=create,
        include_topic_authorized_operations=False,
    )


class MetadataView:
    """`create`: whether the brokers create a topic that is wanted and does not exist.

    A view that is not `automatic` sends no requests: its owner sets the metadata.
    """

    def __init__(
        self, settings: ClientConfig, create: bool = False, automatic: bool = True
    ) -> None:
        self.metadata = MetadataSnapshot(None, NO_BROKER, {}, {})
        self.version = 0  # how many answers there were
        self.trouble: ApiException | None = None  # the last error, while no broker answers
        self._failures = 0  # in a row
        self._addresses = len(settings.bootstrap_servers)
        self._create = create
        self._automatic = automatic
        self._backoff = settings.retry_backoff_ms / 1000
        self._max_age = settings.metadata_max_age_ms / 1000
        self._wanted: frozenset[str] = frozenset()
        self._all = False
        self._asked: float | None = None  # the time of the request in flight
        self._last = float("-inf")  # the time of the last request
        self._news = True  # a topic is wanted that was not in a request yet
        self._stale = False

    # -- what is known -------------------------------------------------------------------

    def partitions(self, topic: str) -> int | None:
        """How many there are; None if that is not known, or there is no such topic."""
        found = self.metadata.topics.get(topic)
        return len(found.partitions) if found and found.partitions else None

    def error(self, topic: str) -> ErrorCode | None:
        """What the brokers said of it: `none` if all is well; None if nothing yet."""
        found = self.metadata.topics.get(topic)
        return found.error if found else None

    def topics(self) -> Collection[str]:
        """Those that were asked for and are there."""
        return [each.name for each in self.metadata.topics.values() if not each.error]

    # -- what is wanted ------------------------------------------------------------------

    def want(self, topics: Iterable[str], all: bool = False) -> None:
        """From now on, know these topics; or `all` that there are."""
        wanted = frozenset(topics)
        self._news |= (all and not self._all) or not (all or wanted <= self._wanted)
        self._wanted, self._all = wanted, all

    def wants(self, topic: str) -> bool:
        return self._all or topic in self._wanted

    def add(self, topic: str) -> None:
        """Know this topic, too."""
        if not self.wants(topic):
            self.want(self._wanted | {topic}, self._all)

    def stale(self) -> None:
        """An error shows that this is out of date: refresh it soon."""
        self._stale = True

    # -- as a core -----------------------------------------------------------------------

    def step(self, now: float, view: "MetadataView") -> Iterable[Ask]:
        due = self.due()
        if due is None or now < due:
            return
        self._asked = self._last = now
        self._news = self._stale = False
        names = None if self._all else self._wanted
        yield Ask(ANY, Api.METADATA, metadata_request(names, self._create), about=names)

    def answered(self, ask: Ask, response: Any, now: float) -> None:
        self._asked = self.trouble = None
        self._failures = 0
        found = MetadataSnapshot.of(response)
        if not found.brokers:  # the broker has just started, and does not know the cluster yet
            self._stale = True
            return
        topics = {name: self._newest(topic) for name, topic in found.topics.items()}
        self.metadata = found._replace(topics=topics)
        self.version += 1
        self._stale |= any(map(_is_passing, topics.values()))

    def failed(self, ask: Ask, error: ApiException, now: float) -> None:
        self._asked = None
        self._failures += 1
        if self._failures >= max(len(self.metadata.brokers), self._addresses):
            self.trouble = error  # every broker has failed once
        self.stale()

    def due(self) -> float | None:
        """One request is in flight at a time, and there is a pause between two."""
        if self._asked is not None or not self._automatic:
            return None
        if self._news and not self._stale:
            return self._last
        return self._last + (self._backoff if self._stale else self._max_age)

    def _newest(self, topic: TopicSnapshot) -> TopicSnapshot:
        """The broker's answer, except for partitions of which we know a newer leader epoch."""
        known = self.metadata.topics.get(topic.name)
        if known is None or known.id != topic.id:
            return topic  # new, or created again
        partitions = {
            number: old
            if (old := known.partitions.get(number)) and old.epoch > each.epoch
            else each
            for number, each in topic.partitions.items()
        }
        return topic._replace(partitions=partitions)


def _is_passing(topic: TopicSnapshot) -> bool:
    """Whether the error of a topic may pass: it is being created, or has no leaders yet."""
    return bool(topic.error.retriable) or any(
        each.leader == NO_BROKER for each in topic.partitions.values()
    )
