"""A broker's group coordinator, as the broker sees it.

    load(7); replay(7, records, now) ...; loaded(7, now)    we lead partition 7 now
    ended(7, producer_id, committed, now)                   a marker stands in it: found between
                                                            its records, or newly replicated
    unload(7, now)                                          another broker does
    handle(request, caller, now)                            what a client asks
    written(token, error, now)                              what came of an Append
    forget(partitions, now)                                 a topic was deleted
    tick(now), not later than due()                         time has passed

Each returns effects (effects.py): answers, to this request or to earlier ones, and records. The
records are for partition n of __consumer_offsets, to be appended in this order.

Invariant: every request is answered once, by some call.
Invariant: what replaying the replicated records gives is what was acknowledged: the same offsets,
and of a stable group the same generation. Only deletions are answered before, as in Kafka.
Invariant: offsets that belong to a transaction (KIP-98) are shown when it is committed, not before.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kio.schema.delete_groups.v2.request import DeleteGroupsRequest
from kio.schema.describe_groups.v5.request import DescribeGroupsRequest
from kio.schema.heartbeat.v4.request import HeartbeatRequest
from kio.schema.join_group.v7.request import JoinGroupRequest
from kio.schema.leave_group.v4.request import LeaveGroupRequest
from kio.schema.list_groups.v4.request import ListGroupsRequest
from kio.schema.offset_commit.v8.request import OffsetCommitRequest
from kio.schema.offset_delete.v0.request import OffsetDeleteRequest
from kio.schema.offset_fetch.v7.request import OffsetFetchRequest
from kio.schema.sync_group.v5.request import SyncGroupRequest
from kio.schema.txn_offset_commit.v3.request import TxnOffsetCommitRequest

from engine.config import BrokerConfig
from engine.coordinator import answers, committing, listing, membership
from engine.coordinator.effects import Caller, Effect, Host
from engine.coordinator.groups import Groups
from engine.coordinator.timers import Alarm, Kind
from engine.errors import ErrorCode, KafkaError
from engine.model import Event, TopicPartition
from engine.storage.batch import NO_PRODUCER_ID
from engine.storage.records import Record

Handler = Callable[[Groups, Any, Caller, int], Any]  # returns the answer, or None: it comes later
Refusal = Callable[[Any, Caller, ErrorCode], Any]

HANDLERS: Mapping[type, Handler] = {
    JoinGroupRequest: membership.join,
    SyncGroupRequest: membership.sync,
    HeartbeatRequest: membership.heartbeat,
    LeaveGroupRequest: membership.leave,
    OffsetCommitRequest: committing.commit,
    OffsetFetchRequest: committing.fetch,
    OffsetDeleteRequest: committing.delete,
    TxnOffsetCommitRequest: committing.commit_in_transaction,
    ListGroupsRequest: listing.list_groups,
    DescribeGroupsRequest: listing.describe,
    DeleteGroupsRequest: listing.delete,
}
# What is answered if the request as a whole can't be done; the others tell of each part.
REFUSALS: Mapping[type, Refusal] = {
    JoinGroupRequest: lambda it, caller, code: answers.not_joined(caller, it.member_id, code),
    SyncGroupRequest: lambda it, caller, code: answers.not_synced(code),
    HeartbeatRequest: lambda it, caller, code: answers.heard(code),
    LeaveGroupRequest: lambda it, caller, code: answers.not_left(code),
    OffsetFetchRequest: committing.not_fetched,
    OffsetDeleteRequest: lambda it, caller, code: committing.deleted({}, code),
}
# Members are not told that a group is being loaded: older clients don't know the error.
WHILE_LOADING: Mapping[type, ErrorCode] = {
    SyncGroupRequest: ErrorCode.rebalance_in_progress,
    HeartbeatRequest: ErrorCode.none,
}


class Coordinator:
    def __init__(
        self,
        config: BrokerConfig,
        new_id: Callable[[], str],  # something that was never returned before
        exists: Callable[[TopicPartition], bool],
        emit: Callable[[Event], None],
    ) -> None:
        self._host = Host(config, new_id, emit)
        self.groups = Groups(self._host, config.offsets_topic_num_partitions, exists)

    def configure(self, config: BrokerConfig) -> None:
        self._host.config = config

    @property
    def partition_count(self) -> int:
        """Of __consumer_offsets."""
        return self.groups.partition_count

    @partition_count.setter
    def partition_count(self, count: int) -> None:
        self.groups.partition_count = count

    # -- partitions come and go ------------------------------------------------------------

    def load(self, partition: int, epoch: int = 0) -> None:
        """The leader epoch is for the coordinator of transactions; groups have no use for it."""
        self.groups.load(partition)

    def replay(
        self, partition: int, records: Iterable[Record], now: int, producer_id: int = NO_PRODUCER_ID
    ) -> None:
        """The producer is given with what was written in its transaction."""
        self.groups.replay(partition, records, now, producer_id)

    def ended(self, partition: int, producer_id: int, committed: bool, now: int) -> list[Effect]:
        """Of a partition that is being read, only as reading comes to it."""
        self.groups.ended(partition, producer_id, committed, now)
        return self._host.take()

    def loaded(self, partition: int, now: int) -> list[Effect]:
        if not self.groups.led:
            self._look_for_expired_offsets(now)
        self.groups.loaded(partition, now)
        return self._host.take()

    def unload(self, partition: int, now: int) -> list[Effect]:
        self.groups.unload(partition, now)
        return self._host.take()

    # -- what happens ----------------------------------------------------------------------

    def handle(self, request: Any, caller: Caller, now: int) -> list[Effect]:
        kind = next(each for each in type(request).__mro__ if each in HANDLERS)
        try:
            answer = HANDLERS[kind](self.groups, request, caller, now)
        except KafkaError as error:
            code = error.code
            if code == ErrorCode.coordinator_load_in_progress:
                code = WHILE_LOADING.get(kind, code)
            answer = REFUSALS[kind](request, caller, code)
        if answer is not None:
            self._host.reply(caller, answer)
        return self.tick(now)

    def written(self, token: int, error: ErrorCode, now: int) -> list[Effect]:
        self._host.written(token, error, now)
        return self.tick(now)

    def forget(self, partitions: Iterable[TopicPartition], now: int) -> list[Effect]:
        """Of deleted topics nobody needs to know how far they were read."""
        gone = list(partitions)
        for group in self.groups:
            group.remove_offsets(gone, now)
            self.groups.keep(group)
        return self._host.take()

    def due(self) -> int | None:
        return self._host.timers.due()

    def tick(self, now: int) -> list[Effect]:
        for alarm in self._host.timers.over(now):
            if alarm.kind is Kind.OFFSETS:
                self._expire_offsets(now)
            else:
                group = self.groups.find(alarm.owner)
                assert group is not None, "who has gone has no alarms"
                group.ring(alarm, now)
        return self._host.take()

    def _look_for_expired_offsets(self, now: int) -> None:
        interval = self._host.config.offsets_retention_check_interval_ms
        self._host.timers.set(Alarm(Kind.OFFSETS), now + interval)

    def _expire_offsets(self, now: int) -> None:
        for group in self.groups:
            group.remove_offsets(group.expired(now), now)
            self.groups.keep(group)
        if self.groups.led:
            self._look_for_expired_offsets(now)

    # -- for those who look on -------------------------------------------------------------

    def snapshot(self) -> list[dict[str, Any]]:
        """Each group; JSON-ready."""
        return [
            {
                "group": group.id,
                "partition": group.partition,
                "state": group.state.value,
                "since": group.since,
                "generation": group.generation,
                "protocol": group.protocol,
                "leader": group.leader,
                "members": [
                    {
                        "member": each.id,
                        "instance": each.instance_id,
                        "client": each.client_id,
                        "host": each.host,
                        "share": group.share(each),
                        "waits": each.joining is not None or each.syncing is not None,
                    }
                    for each in group.members.values()
                ],
                "offsets": {str(each): it.offset for each, it in group.offsets.stored.items()},
            }
            for group in self.groups
        ]
