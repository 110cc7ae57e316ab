"""A coordinator, a log that is written at once or when told to, and members that ask things."""

from collections import defaultdict
from datetime import timedelta
from itertools import count

from kio.schema.heartbeat.v4.request import HeartbeatRequest
from kio.schema.join_group.v7.request import JoinGroupRequest, JoinGroupRequestProtocol
from kio.schema.leave_group.v4.request import LeaveGroupRequest, MemberIdentity
from kio.schema.offset_commit.v8.request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kio.schema.offset_fetch.v7.request import OffsetFetchRequest, OffsetFetchRequestTopic
from kio.schema.sync_group.v5.request import SyncGroupRequest, SyncGroupRequestAssignment

from engine.client.assignors.protocol import Subscription, encode_subscription
from engine.config import BrokerConfig
from engine.coordinator.coordinator import Coordinator
from engine.coordinator.effects import Append, Caller
from engine.coordinator.groups import partition_of
from engine.coordinator.records import decode_key, decode_value
from engine.errors import ErrorCode
from engine.model import TopicPartition

NONE = ErrorCode.none
GROUP = "g"
T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
SUBSCRIPTION = encode_subscription(Subscription(("t",)))
SESSION, REBALANCE = 10_000, 60_000
NEWEST = 9  # above the newest version of any API: it knows every feature
START = 1_000_000


def config(**values):
    return BrokerConfig(broker_id=1, log_dirs=("logs",), zookeeper_connect="zk", **values)


class Shell:
    """The broker around a coordinator, in small.

    `held` writes wait in `waiting`, until `finish` says what came of them; others are replicated
    at once. `log` has what was appended, `accepted` what is in it for good.
    """

    def __init__(self, held=False, partitions=range(50), ids=None, **values):
        values = {"group_initial_rebalance_delay_ms": 0, **values}
        self.now = START
        self.held = held
        self.events = []
        self.replies = defaultdict(list)  # by request, all that it was answered
        self.asked = 0
        self.waiting = []  # Appends with a token
        self.accepted = []  # (partition, record)
        self.missing = set()  # partitions of topics that do not exist
        self.ids = ids or count(1)  # of members: never one twice, whoever coordinates
        self.coordinator = Coordinator(
            config(**values),
            lambda: str(next(self.ids)),
            lambda partition: partition not in self.missing,
            self.events.append,
        )
        for partition in partitions:
            self.coordinator.load(partition)
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
            self.accepted += [(write.partition, record) for record in write.records]
        if write.token is not None:
            self.do(self.coordinator.written(write.token, error, self.now))

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

    def leave(self, *members, group=GROUP, version=NEWEST):
        """Each named by its id, or by (id, instance)."""
        rows = [each if isinstance(each, tuple) else (each, None) for each in members]
        identities = tuple(MemberIdentity(member_id=m, group_instance_id=i) for m, i in rows)
        request = LeaveGroupRequest(group_id=group, members=identities)
        return self.answer(self.ask(request, version))

    def commit(self, offsets, member="", generation=-1, group=GROUP, instance=None, metadata=""):
        """The number of the request."""
        return self.ask(commit_request(offsets, member, generation, group, instance, metadata))

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
        other.now, other.accepted = self.now, list(self.accepted)
        for partition in range(50):
            records = [record for where, record in self.accepted if where == partition]
            other.coordinator.load(partition)
            other.coordinator.replay(partition, records, other.now)
            other.do(other.coordinator.loaded(partition, other.now))
        return other


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
        generation_id_or_member_epoch=generation,
        member_id=member,
        group_instance_id=instance,
        topics=topics,
    )


PARTITION = partition_of(GROUP, 50)
