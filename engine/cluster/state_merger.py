"""Merges what each broker reports about itself into one snapshot of the cluster.

    broker 1: rows that changed ──┐
    broker 2: rows that changed ──┼──> partitions that changed ──> ClusterState
    broker 3: no answer ──────────┘    (the others are the same objects as before)

Invariant: what is unchanged from one snapshot to the next is the same object in both, so that code
that draws or records them can find the changes with `is`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from engine.cluster.state import (
    BrokerState,
    ClusterState,
    ControllerState,
    GroupState,
    LinkState,
    PartitionState,
    ReplicaRow,
    ReplicaState,
    Status,
    TransactionState,
    facts,
)
from engine.model import NO_BROKER, TopicPartition


class ProcessState(NamedTuple):
    """A broker's process."""

    status: Status
    pid: int
    port: int


class Leaderless(NamedTuple):
    """A partition without a leader, as a broker's metadata have it."""

    epoch: int
    assignment: tuple[int, ...]
    isr: tuple[int, ...]


NO_PROCESSES: Mapping[int, ProcessState] = {}
NO_ANSWER: Mapping[str, Any] = {}

Coordinated = TypeVar("Coordinated", GroupState, TransactionState)


class _Reported:
    """What one broker has reported."""

    def __init__(self) -> None:
        self.connection = 0
        self.answers = False
        self.rows: dict[TopicPartition, ReplicaRow] = {}
        self.leaderless: dict[TopicPartition, Leaderless] = {}
        self.facts: dict[str, Any] = {}
        self.groups: dict[str, GroupState] = {}
        self.transactions: dict[str, TransactionState] = {}


class StateMerger:
    def __init__(self) -> None:
        self._quorum: dict[int, Mapping[str, Any]] = {}  # the last answer of each controller
        self._quorum_answered: set[int] = set()  # since the last snapshot
        self._controllers: dict[int, ControllerState] = {}
        self._combined: set[int] = set()  # brokers that are controllers, too
        self._seen: dict[int, _Reported] = {}
        self._partitions: dict[TopicPartition, PartitionState] = {}
        self._changed: set[TopicPartition] = set()
        self._answered: set[int] = set()  # since the last snapshot
        self._groups: dict[str, GroupState] = {}
        self._transactions: dict[str, TransactionState] = {}

    def update(self, broker: int, connection: int, answer: Mapping[str, Any]) -> None:
        """Take a broker's response to `state`; the first one on a connection has all rows."""
        seen = self._seen.setdefault(broker, _Reported())
        if connection != seen.connection:
            self._changed |= seen.rows.keys()
            seen.rows, seen.groups, seen.transactions = {}, {}, {}
            seen.connection = connection
        for topic, partition in answer["gone"]:
            seen.rows.pop(TopicPartition(topic, partition), None)
            self._changed.add(TopicPartition(topic, partition))
        for topic, partition, *row in answer["rows"]:
            seen.rows[TopicPartition(topic, partition)] = ReplicaRow.parse(row)
            self._changed.add(TopicPartition(topic, partition))
        if answer["groups"] is not None:
            groups = {each["group"]: GroupState.parse(broker, each) for each in answer["groups"]}
            seen.groups = _keep_equal(seen.groups, groups)
        if answer["transactions"] is not None:
            transactions = {
                each["transactional_id"]: TransactionState.parse(broker, each)
                for each in answer["transactions"]
            }
            seen.transactions = _keep_equal(seen.transactions, transactions)
        leaderless = {
            TopicPartition(topic, number): Leaderless(epoch, tuple(replicas), tuple(isr))
            for topic, number, epoch, replicas, isr in answer["leaderless"]
        }
        if leaderless != seen.leaderless:
            self._changed |= leaderless.keys() | seen.leaderless.keys()
            seen.leaderless = leaderless
        seen.facts = facts(BrokerState, answer)
        if "quorum" in answer:  # a combined node
            self._combined.add(broker)
            self.update_controller(broker, answer["quorum"])
        counts = answer.get("requests") or NOT_COUNTED
        seen.facts["requests"] = counts and {api: tuple(row) for api, row in counts.items()}
        self._answered.add(broker)

    def update_controller(self, node: int, answer: Mapping[str, Any]) -> None:
        """Take a controller's response to `state`."""
        self._quorum[node] = answer
        self._quorum_answered.add(node)

    def snapshot(
        self,
        at: int,
        members: Mapping[int, ProcessState],
        links: Iterable[LinkState],
        controllers: Mapping[int, ProcessState] = NO_PROCESSES,
    ) -> ClusterState:
        """The cluster after a round of requests; brokers without a response do not answer."""
        for number, seen in self._seen.items():
            if seen.answers != (number in self._answered):
                seen.answers = not seen.answers
                self._changed |= seen.rows.keys()
        self._answered.clear()
        if self._changed:
            self._refresh()
        brokers = {number: self._broker(number, member) for number, member in members.items()}
        self._groups = self._merged(self._groups, lambda seen: seen.groups)
        self._transactions = self._merged(self._transactions, lambda seen: seen.transactions)
        self._refresh_controllers(
            {**controllers, **{node: members[node] for node in self._combined}}
        )
        active = _active(self._controllers) if self._controllers else _controller(brokers)
        if active in self._controllers:
            for number in self._controllers[active].fenced:
                if number in brokers:
                    brokers[number] = replace(brokers[number], fenced=True)
        return ClusterState(
            *(at, active, brokers, self._partitions, tuple(links)),
            *(self._groups, self._transactions),
            controllers=self._controllers,
        )

    def _refresh_controllers(self, members: Mapping[int, ProcessState]) -> None:
        """Make a new mapping if there is a change; see `_refresh`."""
        found = {}
        for node, member in members.items():
            answer = self._quorum.get(node, NO_ANSWER)
            answers = node in self._quorum_answered and member.status is Status.UP
            known = facts(ControllerState, answer)
            found[node] = ControllerState(member.status, answers, member.pid, member.port, **known)
        self._quorum_answered.clear()
        if found != self._controllers:
            self._controllers = found

    def _merged(
        self,
        known: dict[str, Coordinated],
        reported: Callable[[_Reported], dict[str, Coordinated]],
    ) -> dict[str, Coordinated]:
        """Each as its coordinator has it; if two brokers believe to be coordinator, as the one
        has it that answers. The same mapping as long as nothing changes."""
        found: dict[str, Coordinated] = {}
        for seen in sorted(self._seen.values(), key=lambda seen: seen.answers):
            found |= reported(seen)
        found = dict(sorted(found.items()))
        unchanged = len(found) == len(known) and all(
            known.get(name) is each for name, each in found.items()
        )
        return known if unchanged else found

    def _refresh(self) -> None:
        """Make a new mapping, because earlier snapshots still have the old one."""
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
        leaderless = [
            seen.leaderless[partition]
            for seen in self._seen.values()
            if seen.answers and partition in seen.leaderless
        ]
        if not rows and not leaderless:
            return None
        replicas = {broker: _replica(row, answers) for broker, (row, answers) in rows.items()}
        newest = max(leaderless, default=None)
        if rows:
            row = max((row for row, _ in rows.values()), key=_authority)
            if newest is None or newest.epoch <= row.leader_epoch:
                return PartitionState(
                    row.leader, row.leader_epoch, row.isr, row.assignment, replicas, row.followers
                )
        assert newest is not None
        return PartitionState(
            NO_BROKER, newest.epoch, newest.isr, newest.assignment, replicas, followers={}
        )

    def _broker(self, number: int, member: ProcessState) -> BrokerState:
        seen = self._seen.get(number)
        answers = seen is not None and seen.answers and member.status is Status.UP
        facts = seen.facts if seen else {}
        return BrokerState(member.status, answers, member.pid, member.port, **facts)


NOT_COUNTED: Mapping[str, Any] = {}  # one for all: many states are kept


def _keep_equal(
    known: dict[str, Coordinated], new: dict[str, Coordinated]
) -> dict[str, Coordinated]:
    """The new entries; where one equals a known entry, the known object."""
    return {name: known[name] if known.get(name) == each else each for name, each in new.items()}


def _authority(row: ReplicaRow) -> tuple[int, bool]:
    """The row of the newest leader epoch counts, and within it the leader's."""
    return row.leader_epoch, row.role == "leader"


def _replica(row: ReplicaRow, answers: bool) -> ReplicaState:
    return row.replica if answers else replace(row.replica, answers=False)


def _active(controllers: Mapping[int, ControllerState]) -> int:
    """The leader of the newest epoch; one that was cut off may not know yet."""
    leaders = [(state.epoch, node) for node, state in controllers.items() if state.is_active]
    return max(leaders, default=(0, NO_BROKER))[1]


def _controller(brokers: Mapping[int, BrokerState]) -> int:
    """The newest of those that believe to be controller; an old one may not know yet."""
    active = [
        (broker.controller_epoch, number)
        for number, broker in brokers.items()
        if broker.answers and broker.active
    ]
    return max(active, default=(0, NO_BROKER))[1]
