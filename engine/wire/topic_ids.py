"""Ids of topics in a Fetch request: from version 13 on, in place of their names.

    broker     id ── with_names ──> name: the engine works with names
    follower   sends both, and the version chooses

A topic that is not known gets a name that no topic can have: "?" and the id. So its partitions are
refused one by one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

TOPIC_IDS_SINCE = 13  # the version of Fetch that has no names of topics
UNKNOWN = "?"


@dataclass(slots=True)
class TopicToFetch:
    """A topic of a request, or one that a request forgets: for versions with its name and others
    with its id."""

    topic: str
    topic_id: UUID | None
    partitions: Sequence[Any]


def with_names(request: Any, names: Mapping[UUID, str]) -> Any:
    """A request of version 13 or later, with the names of its topics."""

    def named(topic: Any) -> TopicToFetch:
        name = names.get(topic.topic_id) or f"{UNKNOWN}{topic.topic_id}"
        return TopicToFetch(name, topic.topic_id, topic.partitions)

    return replace(
        request,
        topics=tuple(map(named, request.topics)),
        forgotten_topics_data=tuple(map(named, request.forgotten_topics_data)),
    )
