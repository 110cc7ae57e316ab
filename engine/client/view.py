"""What a client knows of the cluster, and when it asks again.

    want("orders")  ->  Metadata, from any broker  ->  leader(orders-0) = 2
                             ^
         stale(), a topic without leader, or metadata.max.age.ms

It is a core (asking.py), like those that act on what it knows. An error such as NOT_LEADER tells
that it is out of date: then it is `stale`, and asks again, with a pause of retry.backoff.ms.

Invariant: a partition's leader epoch never falls. A broker that is behind may answer with an
older leader than we know of: it is not believed (KIP-320).
"""

from collections.abc import Collection, Iterable
from typing import Any

from kio.schema.metadata.v11.request import MetadataRequest, MetadataRequestTopic

from engine.client.asking import ANY, Ask
from engine.client.metadata import NO_BROKER, Metadata, Partition, Topic
from engine.config.client import ClientConfig
from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition
from engine.wire.apis import Api


def metadata_request(topics: Collection[str] | None, create: bool = False) -> MetadataRequest:
    """About these topics; about all, for None."""
    names = None if topics is None else sorted(topics)
    return MetadataRequest(
        topics=names and tuple(MetadataRequestTopic(topic_id=None, name=name) for name in names),
        allow_auto_topic_creation=create,
        include_topic_authorized_operations=False,
    )


class View:
    """`create`: whether a topic that is wanted and not there is to come into being."""

    def __init__(self, settings: ClientConfig, create: bool = False) -> None:
        self.metadata = Metadata(None, NO_BROKER, {}, {})
        self.version = 0  # how many answers there were
        self.trouble: KafkaError | None = None  # why no broker answers, if none does
        self._failures = 0  # in a row
        self._addresses = len(settings.bootstrap_servers)
        self._create = create
        self._backoff = settings.retry_backoff_ms / 1000
        self._max_age = settings.metadata_max_age_ms / 1000
        self._wanted: frozenset[str] = frozenset()
        self._all = False
        self._asked: float | None = None  # when, if the answer is still to come
        self._last = float("-inf")  # when we asked last
        self._news = True  # something is wanted that was not asked for yet
        self._stale = False

    # -- what is known -------------------------------------------------------------------

    def leader(self, partition: TopicPartition) -> int:
        """The broker that leads it, or -1."""
        return self.metadata.leader(partition)

    def partition(self, partition: TopicPartition) -> Partition | None:
        return self.metadata.partition(partition)

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
        self.want(self._wanted | {topic}, self._all)

    def stale(self) -> None:
        """Something told that this is out of date: ask again soon."""
        self._stale = True

    # -- as a core -----------------------------------------------------------------------

    def step(self, now: float, view: "View") -> Iterable[Ask]:
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
        told = Metadata.of(response)
        topics = {name: self._newest(topic) for name, topic in told.topics.items()}
        self.metadata = told._replace(topics=topics)
        self.version += 1
        self._stale |= not told.brokers or any(map(_is_passing, topics.values()))

    def failed(self, ask: Ask, error: KafkaError, now: float) -> None:
        self._asked = None
        self._failures += 1
        if self._failures >= max(len(self.metadata.brokers), self._addresses):
            self.trouble = error  # now each was asked once
        self.stale()

    def due(self) -> float | None:
        """Nothing is asked while an answer is to come, and nothing twice without a pause."""
        if self._asked is not None:
            return None
        if self._news and not self._stale:
            return self._last
        return self._last + (self._backoff if self._stale else self._max_age)

    def _newest(self, topic: Topic) -> Topic:
        """What a broker told, but for partitions of which we know better."""
        known = self.metadata.topics.get(topic.name)
        if known is None or known.id != topic.id:
            return topic  # new, or made anew
        partitions = {
            number: old
            if (old := known.partitions.get(number)) and old.epoch > each.epoch
            else each
            for number, each in topic.partitions.items()
        }
        return topic._replace(partitions=partitions)


def _is_passing(topic: Topic) -> bool:
    """Whether what is wrong with a topic may be over soon: it appears, or gets its leaders."""
    return bool(topic.error.retriable) or any(
        each.leader == NO_BROKER for each in topic.partitions.values()
    )
