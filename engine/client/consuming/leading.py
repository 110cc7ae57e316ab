"""What the leader of a group does for it: share the partitions out, and watch the topics.

    JoinGroup's answer        Metadata             SyncGroup
    all members'         ->   partitions of   ->   a share for each member
    subscriptions             their topics

The coordinator makes one member the leader, tells it alone who is there, and never looks into
what members say. So a new strategy needs no new broker. Members rejoin when what they want has
changed; that a topic has more partitions now only the leader has to notice.

Invariant: a member whose subscription can't be read gets nothing, and the others get it all.
"""

from collections.abc import Iterable
from typing import Any

from kio.schema.sync_group.v5.request import SyncGroupRequestAssignment

from engine.client.assignors import Assignor, Member
from engine.client.assignors.protocol import Assignment, decode_subscription, encode_assignment
from engine.client.view import View
from engine.errors import KafkaError

Shares = tuple[SyncGroupRequestAssignment, ...]


class Leading:
    """For one generation."""

    def __init__(self, assignor: Assignor, members: Iterable[Any]) -> None:
        self.assignor = assignor
        self.members = [_member(each) for each in members]
        self.topics = frozenset(topic for each in self.members for topic in each.topics)
        self._counts: dict[str, int] | None = None  # that the shares were made of
        self._since: int | None = None  # the view's version when we first looked

    def is_ready(self, view: View, all: bool) -> bool:
        """Whether the view has been told of each topic. Who asks for `all` topics is not told of
        those that are not there, so then the next answer has to do."""
        unknown = [topic for topic in self.topics if view.error(topic) is None]
        if self._since is None:
            self._since = view.version
            if unknown and all:
                view.stale()
        return not unknown or (all and view.version > self._since)

    def share(self, view: View) -> Shares:
        self._counts = self._count(view)
        shares = self.assignor.assign(self.members, self._counts)
        return tuple(
            SyncGroupRequestAssignment(
                member_id=member, assignment=encode_assignment(Assignment(partitions))
            )
            for member, partitions in shares.items()
        )

    def is_outdated(self, view: View) -> bool:
        """Whether there are partitions to share out that were not there, or are not any more."""
        return self._counts is not None and self._counts != self._count(view)

    def _count(self, view: View) -> dict[str, int]:
        return {topic: count for topic in self.topics if (count := view.partitions(topic))}


def _member(each: Any) -> Member:
    try:
        return Member(
            each.member_id,
            *decode_subscription(each.metadata),
            instance_id=each.group_instance_id,
        )
    except KafkaError:
        return Member(each.member_id, (), instance_id=each.group_instance_id)
