"""From what each broker tells of itself to one picture of the cluster.

    broker 1: rows that changed ──┐
    broker 2: rows that changed ──┼──> partitions that changed ──> ClusterState
    broker 3: silence ────────────┘    (the others are the same objects as before)

Invariant: what is unchanged from one snapshot to the next is the same object in both, so that
whoever draws or records them can look for changes with `is`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from engine.cluster.state import (
    NOBODY,
    BrokerState,
    ClusterState,
    GroupState,
    LinkState,
    PartitionState,
    ReplicaState,
    Row,
    Status,
    TransactionState,
)
from engine.model import TopicPartition


class Member(NamedTuple):
    """A broker's process."""

    status: Status
    pid: int
    port: int


class Headless(NamedTuple):
    """A partition without a leader, as a broker's metadata have it."""

    epoch: int
    assignment: tuple[int, ...]
    isr: tuple[int, ...]


Led = TypeVar("Led", GroupState, TransactionState)  # what has a coordinator


class _Seen:
    """What one broker has told."""

    def __init__(self) -> None:
        self.conversation = 0
        self.answers = False
        self.rows: dict[TopicPartition, Row] = {}
        self.headless: dict[TopicPartition, Headless] = {}
        self.facts: dict[str, Any] = {}
        self.groups: dict[str, GroupState] = {}
        self.transactions: dict[str, TransactionState] = {}


class View:
    def __init__(self) -> None:
        self._seen: dict[int, _Seen] = {}
        self._partitions: dict[TopicPartition, PartitionState] = {}
        self._changed: set[TopicPartition] = set()
        self._heard: set[int] = set()  # since the last snapshot
        self._groups: dict[str, GroupState] = {}
        self._transactions: dict[str, TransactionState] = {}

    def told(self, broker: int, conversation: int, answer: Mapping[str, Any]) -> None:
        """A broker's answer to `state`; a new conversation begins with all rows."""
        seen = self._seen.setdefault(broker, _Seen())
        if conversation != seen.conversation:
            self._changed |= seen.rows.keys()
            seen.rows, seen.groups, seen.transactions = {}, {}, {}
            seen.conversation = conversation
        for topic, partition in answer["gone"]:
            seen.rows.pop(TopicPartition(topic, partition), None)
            self._changed.add(TopicPartition(topic, partition))
        for topic, partition, *row in answer["rows"]:
            seen.rows[TopicPartition(topic, partition)] = Row.parse(row)
            self._changed.add(TopicPartition(topic, partition))
        if answer["groups"] is not None:
            groups = {each["group"]: GroupState.parse(broker, each) for each in answer["groups"]}
            seen.groups = _kept(seen.groups, groups)
        if answer["transactions"] is not None:
            transactions = {
                each["transactional_id"]: TransactionState.parse(broker, each)
                for each in answer["transactions"]
            }
            seen.transactions = _kept(seen.transactions, transactions)
        headless = {
            TopicPartition(topic, number): Headless(epoch, tuple(replicas), tuple(isr))
            for topic, number, epoch, replicas, isr in answer["headless"]
        }
        if headless != seen.headless:
            self._changed |= headless.keys() | seen.headless.keys()
            seen.headless = headless
        seen.facts = {name: answer[name] for name in FACTS} | {"brokers": tuple(answer["brokers"])}
        self._heard.add(broker)

    def snapshot(
        self, at: int, members: Mapping[int, Member], links: Iterable[LinkState]
    ) -> ClusterState:
        """The picture after a round of answers; who was not heard in it does not answer."""
        for number, seen in self._seen.items():
            self._answers(seen, number in self._heard)
        self._heard.clear()
        if self._changed:
            self._refresh()
        brokers = {number: self._broker(number, member) for number, member in members.items()}
        self._groups = self._led(self._groups, lambda seen: seen.groups)
        self._transactions = self._led(self._transactions, lambda seen: seen.transactions)
        return ClusterState(
            *(at, _controller(brokers), brokers, self._partitions, tuple(links)),
            *(self._groups, self._transactions),
        )

    def _led(
        self, known: dict[str, Led], told: Callable[[_Seen], dict[str, Led]]
    ) -> dict[str, Led]:
        """Each as its coordinator has it; of two who believe to be that, the one who answers.
        The same mapping as long as nothing changes."""
        found: dict[str, Led] = {}
        for seen in sorted(self._seen.values(), key=lambda seen: seen.answers):
            found |= told(seen)
        found = dict(sorted(found.items()))
        unchanged = len(found) == len(known) and all(
            known.get(name) is each for name, each in found.items()
        )
        return known if unchanged else found

    def _answers(self, seen: _Seen, answers: bool) -> None:
        if seen.answers != answers:
            seen.answers = answers
            self._changed |= seen.rows.keys()

    def _refresh(self) -> None:
        """A new mapping, for the old one belongs to the snapshots that have it."""
        partitions = dict(self._partitions)
        for partition in self._changed:
            state = self._partition(partition)
            if state is not None:
                partitions[partition] = state
            else:
                partitions.pop(partition, None)
        if partitions.keys() != self._partitions.keys():
            partitions = dict(sorted(partitions.items()))
        self._partitions = partitions
        self._changed.clear()

    def _partition(self, partition: TopicPartition) -> PartitionState | None:
        rows = {
            broker: (seen.rows[partition], seen.answers)
            for broker, seen in self._seen.items()
            if partition in seen.rows
        }
        headless = [
            seen.headless[partition]
            for seen in self._seen.values()
            if seen.answers and partition in seen.headless
        ]
        if not rows and not headless:
            return None
        replicas = {broker: _replica(row, answers) for broker, (row, answers) in rows.items()}
        newest = max(headless, default=None)
        if rows:
            row = max((row for row, _ in rows.values()), key=_authority)
            if newest is None or newest.epoch <= row.leader_epoch:
                return PartitionState(
                    row.leader, row.leader_epoch, row.isr, row.assignment, replicas, row.followers
                )
        assert newest is not None
        return PartitionState(
            NOBODY, newest.epoch, newest.isr, newest.assignment, replicas, followers={}
        )

    def _broker(self, number: int, member: Member) -> BrokerState:
        seen = self._seen.get(number)
        answers = seen is not None and seen.answers and member.status is Status.UP
        facts = seen.facts if seen else {}
        return BrokerState(member.status, answers, member.pid, member.port, **facts)


FACTS = (
    "at",
    "epoch",
    "session",
    "controller",
    "controller_epoch",
    "active",
    "brokers",
    "connections",
)


def _kept(known: dict[str, Led], told: dict[str, Led]) -> dict[str, Led]:
    """What is told, by the objects that are known already where they say the same."""
    return {name: known[name] if known.get(name) == each else each for name, each in told.items()}


def _authority(row: Row) -> tuple[int, bool]:
    """Whose word counts: the newest epoch's, and in it the leader's."""
    return row.leader_epoch, row.role == "leader"


def _replica(row: Row, answers: bool) -> ReplicaState:
    return row.replica if answers else replace(row.replica, answers=False)


def _controller(brokers: Mapping[int, BrokerState]) -> int:
    """Of those who believe to be controller the newest; an old one may not know yet."""
    active = [
        (broker.controller_epoch, number)
        for number, broker in brokers.items()
        if broker.answers and broker.active
    ]
    return max(active, default=(0, NOBODY))[1]
