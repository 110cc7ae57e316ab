"""A coordinator, a log that is written at once or when told to, and members that ask things."""

from collections import defaultdict
from datetime import timedelta
from itertools import count
from typing import NamedTuple

from kio.schema.heartbeat.v4.request import HeartbeatRequest
from kio.schema.join_group.v9.request import JoinGroupRequest, JoinGroupRequestProtocol
from kio.schema.leave_group.v5.request import LeaveGroupRequest, MemberIdentity
from kio.schema.offset_commit.v8.request import (
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kio.schema.offset_fetch.v7.request import OffsetFetchRequest, OffsetFetchRequestTopic
from kio.schema.sync_group.v5.request import SyncGroupRequest, SyncGroupRequestAssignment
from kio.schema.txn_offset_commit.v3.request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

from engine.assignors.protocol import Subscription, encode_subscription
from engine.client.offset_and_metadata import OffsetCommitRequest
from engine.config import BrokerConfig
from engine.coordinator.effects import Append, Caller, TransactionalProducer
from engine.coordinator.group_coordinator import GroupCoordinator
from engine.coordinator.owned_partitions import partition_of
from engine.coordinator.records import decode_key, decode_value
from engine.errors import ErrorCode
from engine.model import TopicPartition
from engine.storage.batch import NO_PRODUCER_ID
from engine.storage.records import Record

NONE = ErrorCode.none
GROUP = "g"
T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
SUBSCRIPTION = encode_subscription(Subscription(("t",)))
SESSION, REBALANCE = 10_000, 60_000
NEWEST = 8  # no API has a newer version in Kafka 2.8: it knows every feature of that
START = 1_000_000


def config(**values):
    return BrokerConfig(broker_id=1, log_dirs=("logs",), zookeeper_connect="zk", **values)


class Batch(NamedTuple):
    """What stands in the log: records, or the marker that ends a transaction."""

    partition: int
    records: tuple[Record, ...]
    writer: TransactionalProducer | None = None
    committed: bool | None = None  # of a marker


class Shell:
    """The broker around a coordinator, in small.

    `held` writes wait in `waiting`, until `finish` says what came of them; others are replicated
    at once. `batches` are in it for good, `accepted` are their records.
    """

    def __init__(self, held=False, partitions=range(50), ids=None, **values):
        values = {"group_initial_rebalance_delay_ms": 0, **values}
        self.now = START
        self.held = held
        self.events = []
        self.replies = defaultdict(list)  # by request, all that it was answered
        self.asked = 0
        self.waiting = []  # Appends with a token
        self.batches = []
        self.missing = set()  # partitions of topics that do not exist
        self.ids = ids or count(1)  # of members: never one twice, whoever coordinates
        self.coordinator = GroupCoordinator(
            config(**values),
            lambda: str(next(self.ids)),
            lambda partition: partition not in self.missing,
            self.events.append,
        )
        for partition in partitions:
            self.coordinator.load(partition, 0)
            self.do(self.coordinator.loaded(partition, self.now))

    def do(self, effects):
        for each in effects:
            if not isinstance(each, Append):
                self.replies[each.to].append(each.response)
            elif self.held and each.token is not None:
                self.waiting.append(each)
            else:
                self._accept(each)

    def _accept(self, write, error=NONE):
        if error == NONE:
            self.batches.append(Batch(write.partition, write.records, write.producer))
        if write.token is not None:
            self.do(self.coordinator.written(write.token, error, self.now))

    @property
    def accepted(self):
        return [(each.partition, record) for each in self.batches for record in each.records]

    def finish(self, error=NONE, which=0):
        self._accept(self.waiting.pop(which), error)

    def ask(self, request, version=NEWEST, client_id="c", host="/h"):
        """The number of the request, which its replies go by."""
        self.asked += 1
        caller = Caller(self.asked, version, client_id, host)
        self.do(self.coordinator.handle(request, caller, self.now))
        return self.asked

    def answer(self, number):
        """The one answer to a request; None if there is none yet."""
        answers = self.replies[number]
        assert len(answers) <= 1
        return answers[0] if answers else None

    def advance(self, milliseconds):
        end = self.now + milliseconds
        while (due := self.coordinator.due()) is not None and due <= end:
            self.now = max(due, self.now)
            self.do(self.coordinator.tick(self.now))
        self.now = end

    # -- what members ask ------------------------------------------------------------------

    def join(self, member="", protocols=(("range", SUBSCRIPTION),), group=GROUP, **more):
        options = {"version": NEWEST, "client_id": "c"}
        options = {each: more.pop(each, default) for each, default in options.items()}
        fields = {
            "session_timeout": SESSION,
            "rebalance_timeout": REBALANCE,
            "protocol_type": "consumer",
            "group_instance_id": None,
        } | more
        for each in ("session_timeout", "rebalance_timeout"):
            fields[each] = timedelta(milliseconds=fields[each])
        rows = tuple(JoinGroupRequestProtocol(name=n, metadata=m) for n, m in protocols)
        request = JoinGroupRequest(group_id=group, member_id=member, protocols=rows, **fields)
        return self.ask(request, **options)

    def sync(self, member, generation, shares=None, group=GROUP, **more):
        fields = {"protocol_type": "consumer", "protocol_name": "range"} | more
        rows = tuple(
            SyncGroupRequestAssignment(member_id=each, assignment=share)
            for each, share in (shares or {}).items()
        )
        version = fields.pop("version", NEWEST)
        request = SyncGroupRequest(
            group_id=group,
            generation_id=generation,
            member_id=member,
            assignments=rows,
            **{"group_instance_id": None} | fields,
        )
        return self.ask(request, version)

    def heartbeat(self, member, generation, instance=None, group=GROUP):
        request = HeartbeatRequest(
            group_id=group, generation_id=generation, member_id=member, group_instance_id=instance
        )
        return self.answer(self.ask(request)).error_code

    def leave(self, *members, group=GROUP, version=NEWEST, reason=None):
        """Each named by its id, or by (id, instance)."""
        rows = [each if isinstance(each, tuple) else (each, None) for each in members]
        identities = tuple(
            MemberIdentity(member_id=m, group_instance_id=i, reason=reason) for m, i in rows
        )
        request = LeaveGroupRequest(group_id=group, members=identities)
        return self.answer(self.ask(request, version))

    def commit(self, offsets, member="", generation=-1, group=GROUP, instance=None, metadata=""):
        """The number of the request."""
        return self.ask(commit_request(offsets, member, generation, group, instance, metadata))

    def commit_in(self, writer, offsets, member="", generation=-1, version=NEWEST, **more):
        """Within the producer's transaction; the number of the request."""
        fields = {"group": GROUP, "instance": None, "metadata": ""} | more
        like = commit_request(offsets, member, generation, **fields)
        return self.ask(transactional(writer, like), version)

    def end(self, writer, committed=True, partition=None):
        """The marker of a transaction has come into the log, and is replicated."""
        partition = PARTITION if partition is None else partition
        self.batches.append(Batch(partition, (), writer, committed))
        self.do(self.coordinator.ended(partition, writer.producer_id, committed, self.now))

    def committed(self, number):
        """The code of each partition, if it was answered."""
        answer = self.answer(number)
        return answer and {
            TopicPartition(topic.name, each.partition_index): each.error_code
            for topic in answer.topics
            for each in topic.partitions
        }

    def fetch(self, *partitions, group=GROUP, stable=False, version=NEWEST):
        """All, if none is named."""
        topics = tuple(
            OffsetFetchRequestTopic(name=each.topic, partition_indexes=(each.partition,))
            for each in partitions
        )
        request = OffsetFetchRequest(group_id=group, topics=topics or None, require_stable=stable)
        return self.answer(self.ask(request, version))

    def offsets(self, *partitions, **more):
        return {
            TopicPartition(topic.name, each.partition_index): each.committed_offset
            for topic in self.fetch(*partitions, **more).topics
            for each in topic.partitions
        }

    def stability(self, *partitions):
        """What is told who insists on stable offsets: of each partition the offset, or a code."""
        return [
            each.committed_offset if each.error_code == NONE else each.error_code
            for topic in self.fetch(*partitions, stable=True).topics
            for each in topic.partitions
        ]

    # -- whole stories ---------------------------------------------------------------------

    def members(self, count=1, **more):
        """Ids of so many members that have been given one, and are waiting for the others."""
        numbers = [self.join(version=0, **more) for _ in range(count)]
        return [each.id for each in self.group.members.values()][-count:], numbers

    def stable(self, count=1, **more):
        """A stable group of so many members; their ids, the leader first."""
        self.coordinator.configure(config(group_initial_rebalance_delay_ms=3000))
        numbers = [self.join(version=0, **more) for _ in range(count)]
        self.advance(3000 if count == 1 else 6000)
        self.coordinator.configure(config(group_initial_rebalance_delay_ms=0))
        answers = [self.answer(each) for each in numbers]
        ids = [each.member_id for each in answers]
        shares = {each: f"share of {each}".encode() for each in ids}
        for each, answer in zip(ids, answers, strict=True):
            self.sync(each, answer.generation_id, shares if each == answer.leader else {})
        assert self.group.state.value == "Stable"
        return ids

    @property
    def group(self):
        return self.coordinator.groups.find(GROUP)

    def told(self, kind):
        return [each.data for each in self.events if each.kind == kind]

    def records(self):
        """What is in the log, decoded."""
        found = []
        for _, record in self.accepted:
            key = decode_key(record.key)
            found.append((key, None if record.value is None else decode_value(key, record.value)))
        return found

    def successor(self, **values):
        """The broker that leads all partitions next, and has the same log."""
        other = Shell(partitions=(), ids=self.ids, **values)
        other.now, other.batches = self.now, list(self.batches)
        for partition in range(50):
            other.load(partition)
        return other

    def load(self, partition):
        """As the log has it."""
        self.coordinator.load(partition, 0)
        for _, records, writer, committed in [
            it for it in self.batches if it.partition == partition
        ]:
            producer_id = NO_PRODUCER_ID if writer is None else writer.producer_id
            if committed is None:
                self.coordinator.replay(partition, records, self.now, producer_id)
            else:
                self.do(self.coordinator.ended(partition, producer_id, committed, self.now))
        self.do(self.coordinator.loaded(partition, self.now))


def commit_request(offsets, member="", generation=-1, group=GROUP, instance=None, metadata=""):
    topics = tuple(
        OffsetCommitRequestTopic(
            name=each.topic,
            partitions=(
                OffsetCommitRequestPartition(
                    partition_index=each.partition,
                    committed_offset=offset,
                    committed_leader_epoch=3,
                    committed_metadata=metadata,
                ),
            ),
        )
        for each, offset in offsets.items()
    )
    return OffsetCommitRequest(
        group_id=group,
        generation_id=generation,
        member_id=member,
        group_instance_id=instance,
        topics=topics,
    )


def transactional(writer, like):
    """The same commit, but in the transaction of a producer."""
    topics = tuple(
        TxnOffsetCommitRequestTopic(
            name=topic.name,
            partitions=tuple(
                TxnOffsetCommitRequestPartition(
                    partition_index=each.partition_index,
                    committed_offset=each.committed_offset,
                    committed_leader_epoch=each.committed_leader_epoch,
                    committed_metadata=each.committed_metadata,
                )
                for each in topic.partitions
            ),
        )
        for topic in like.topics
    )
    return TxnOffsetCommitRequest(
        transactional_id="tx",
        group_id=like.group_id,
        producer_id=writer.producer_id,
        producer_epoch=writer.epoch,
        generation_id=like.generation_id,
        member_id=like.member_id,
        group_instance_id=like.group_instance_id,
        topics=topics,
    )


PARTITION = partition_of(GROUP, 50)
