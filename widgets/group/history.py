"""The history of a group: its members, their partitions over time, the cost of each rebalance.

    events group.*  ──> History ──┬──> lives     c2 came at 1.2 s, expired at 9.0 s
    GroupState      ──>           ├──> spells    orders-3 was c1's from 0.4 s to 1.2 s
                                  ├──> rounds    1.2 to 1.5 s, generation 2, 3 moved
                                  └──> transactions    those in which offsets were committed

        c1  ━━━━━━━━━▒▒━━━━━━━          a round is a rebalance, from the call to join again
                    ╲▒                  until all members have their assignment. A member that keeps
        c2           ▒╲━━━━━━━          a partition has one spell, on both sides of the rebalance

A consumer is identified by its client.id, with which its member id begins: one that was removed and
joins with a new id is the same consumer. Two at a time with one client.id get numbers.

Events may be lost when a coordinator dies, and a group may be older than the events: then its state
shows the current generation.

Invariant: each event counts once, also if it is added again; a partition has one owner at a time.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.assignors import ASSIGNORS, RebalanceProtocol
from engine.cluster.event_stream import ClusterEvent
from engine.cluster.state import GroupState
from engine.coordinator.group import ClassicGroupState
from widgets.group.transactions import GroupTransactions

BEGUN, ENDED = (
    ClassicGroupState.PREPARING_REBALANCE.value,
    (ClassicGroupState.STABLE.value, ClassicGroupState.EMPTY.value, ClassicGroupState.DEAD.value),
)
UNHEARD = ("expired", "did not join again", "did not sync")
IDENTITY = re.compile(r"-[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


@dataclass(slots=True)
class MemberSpan:
    """The time of a member in the group."""

    member: str
    lane: str
    came: int  # ms since 1970, as all times here
    went: int | None = None
    why: str = ""


@dataclass(slots=True)
class Spell:
    """The time for which a partition belongs to one consumer."""

    partition: str
    lane: str
    start: int
    end: int | None = None


@dataclass(slots=True)
class RebalanceRound:
    """A rebalance."""

    began: int
    causes: list[str] = field(default_factory=list)
    ended: int | None = None
    generation: int = 0
    protocol: str | None = None
    moved: list[str] = field(default_factory=list)  # partitions that another one had before
    shared: int = 0  # partitions that were assigned
    teller: int | None = None  # the broker that coordinates
    lost: list[str] = field(default_factory=list)  # lanes of consumers whose session expired

    @property
    def cooperative(self) -> bool:
        known = ASSIGNORS.get(self.protocol or "")
        return known is not None and RebalanceProtocol.COOPERATIVE in known.protocols

    def lasted(self, now: int) -> float:
        """Seconds."""
        return max((now if self.ended is None else self.ended) - self.began, 0) / 1000


class GroupHistory:
    def __init__(self, group: str) -> None:
        self.group = group
        self.lives: list[MemberSpan] = []
        self.spells: list[Spell] = []
        self.rounds: list[RebalanceRound] = []
        self.transactions = GroupTransactions()
        self.generation = -1
        self.protocol: str | None = None
        self._told = 0  # the number of the last event
        self._present: dict[str, MemberSpan] = {}  # by member id
        self._owned: dict[str, Spell] = {}  # by partition
        self._before: dict[str, str] = {}  # the last owner, by partition
        self._missed: list[str] = []  # lanes of expired sessions, before the rebalance begins

    @property
    def start(self) -> int | None:
        times = [life.came for life in self.lives[:1]] + [each.began for each in self.rounds[:1]]
        times += [span.began for span in self.transactions.facts.own[:1]]
        return min(times, default=None)

    @property
    def open(self) -> RebalanceRound | None:
        """The rebalance in progress."""
        return self.rounds[-1] if self.rounds and self.rounds[-1].ended is None else None

    @property
    def present(self) -> dict[str, MemberSpan]:
        """The current members, by lane."""
        return {life.lane: life for life in self._present.values()}

    def share(self, lane: str) -> list[str]:
        """The current partitions of a consumer."""
        return sorted((it for it, spell in self._owned.items() if spell.lane == lane), key=place_of)

    def add(self, events: Iterable[ClusterEvent]) -> bool:
        """Whether there was something new."""
        news = False
        for event in events:
            if event.number and event.number <= self._told:
                continue
            self._told = max(event.number, self._told)
            if event.kind.startswith("group.") and event.data.get("group") == self.group:
                self._heard(event)
                news = True
            elif event.kind == "transaction.changed":
                self.transactions.add(event)
            elif event.kind == "offset.transaction" and event.data["group"] == self.group:
                self.transactions.add(event, self._lane_of(event.data.get("member", "")))
                news = True
        return news

    def see(self, state: GroupState | None, at: int) -> None:
        """Add what no event contained: an older group, or one whose coordinator died with its
        events."""
        if state is None or state.state not in ENDED:
            return
        if state.generation > self.generation and state.members:
            since = min(max(state.since, self.start or state.since), at)
            for member in state.members:
                self._came(member, since)
            for member in self._present.keys() - state.members.keys():
                self._went(member, since, "gone")
            shares = {member: it.share for member, it in state.members.items()}
            self._assigned(since, state.generation, state.protocol, shares)
            self._end(since)
        elif self.open and self.open.teller != state.coordinator:
            self._end(at)

    # -- events --------------------------------------------------------------------------

    def _heard(self, event: ClusterEvent) -> None:
        data = event.data
        match event.kind:
            case "group.member" if data["what"] == "joined":
                self._came(data["member"], event.at)
            case "group.member":
                self._miss(data["member"], data["what"])
                self._went(data["member"], event.at, data["what"])
            case "group.state":
                self._moved(event, data)
            case "group.assignment":
                facts = data["generation"], data["protocol"], data["shares"]
                self._assigned(event.at, *facts)

    def _moved(self, event: ClusterEvent, data: Mapping[str, Any]) -> None:
        if data["now"] == BEGUN:
            now = self.open
            if now is None:
                now = RebalanceRound(event.at)
                self.rounds.append(now)
            now.teller = event.broker
            now.causes.append(self._named(data["reason"]))
            now.lost, self._missed = now.lost + self._missed, []
        elif data["now"] in ENDED:
            self._end(event.at, data["generation"])
            if data["now"] != ClassicGroupState.STABLE.value:
                self._forget(event.at)

    def _miss(self, member: str, why: str) -> None:
        if member in self._present and why in UNHEARD:
            missed = self.open.lost if self.open else self._missed
            missed.append(self._present[member].lane)

    def _end(self, at: int, generation: int | None = None) -> None:
        if (now := self.open) is not None:
            now.ended = at
            if generation is not None:
                now.generation = generation

    def _forget(self, at: int) -> None:
        """The group is empty."""
        began = self.rounds[-1].began if self.rounds else at
        for spell in self._owned.values():
            spell.end = began
        self._owned.clear()
        self._before.clear()

    def _came(self, member: str, at: int) -> None:
        if member not in self._present:
            life = MemberSpan(member, self._lane(member), at)
            self._present[member] = life
            self.lives.append(life)

    def _went(self, member: str, at: int, why: str) -> None:
        if life := self._present.pop(member, None):
            life.went, life.why = at, why

    def _lane_of(self, member: str) -> str:
        """The lane of a member, also of one that has left."""
        lives = (life.lane for life in reversed(self.lives) if life.member == member)
        return next(lives, "")

    def _lane(self, member: str) -> str:
        name, number = name_of(member), 1
        taken = {life.lane for life in self._present.values()}
        lane = name
        while lane in taken:
            number += 1
            lane = f"{name} {number}"
        return lane

    def _named(self, reason: str) -> str:
        """Names instead of ids: "c2 expired"."""
        return IDENTITY.sub("", reason)

    def _assigned(
        self,
        at: int,
        generation: int,
        protocol: str | None,
        shares: Mapping[str, Sequence[str] | None],
    ) -> None:
        self.generation, self.protocol = generation, protocol
        for member in shares:  # members whose joining was in no event
            self._came(member, at)
        owners = {
            partition: self._present[member].lane
            for member, share in shares.items()
            for partition in share or ()
        }
        last = self.rounds[-1] if self.rounds else None
        began = last.began if last else at
        for partition, spell in list(self._owned.items()):
            if owners.get(partition) != spell.lane:
                spell.end = max(began, spell.start)
                del self._owned[partition]
        moved = [it for it, lane in owners.items() if self._before.get(it, lane) != lane]
        for partition, lane in owners.items():
            if partition not in self._owned:
                self._owned[partition] = spell = Spell(partition, lane, at)
                self.spells.append(spell)
        self._before |= owners
        if last and last.ended in (None, at):
            last.protocol, last.generation = protocol, generation
            last.moved, last.shared = sorted(moved, key=place_of), len(owners)


def name_of(member: str) -> str:
    """Kafka's member ids are a client.id, a dash and a random UUID."""
    return IDENTITY.sub("", member) or member


def place_of(partition: str) -> tuple[str, int]:
    """ "orders-10" comes after "orders-9"."""
    topic, _, number = partition.rpartition("-")
    return topic, int(number)
