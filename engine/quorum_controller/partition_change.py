"""The record of one partition that changes (PartitionChangeBuilder).

    what is wanted: ISR, replicas ──> the move is complete? ──> who leads? ──> epochs ──> record

A move is complete when all target replicas are in the ISR: then the removed ones leave with the
same record. A leader that is still eligible stays. Whoever names the leader in a record begins a
leader epoch. Below level 12 (3.6-IV0) a smaller ISR begins one, too, and so does a smaller set of
replicas at each level: the leader is named, though it is the same.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any
from uuid import UUID

from engine.controller.election import Elect, Elected, Rule, elect
from engine.metadata.delta import PartitionRegistration
from engine.metadata.records.topics import PartitionChangeRecord
from engine.metadata.replica_assignment import ReplicaAssignment, is_moving, target
from engine.model import NO_BROKER

RECOVERED, RECOVERING = 0, 1  # leader recovery states


class PartitionElection(Enum):
    ONLINE = "online"  # a leader out of the ISR, if one is needed
    PREFERRED = "preferred"  # the first replica, if it may lead
    UNCLEAN = "unclean"  # any replica that is alive, if nobody in the ISR is


@dataclass(frozen=True)
class PartitionChangeBuilder:
    is_active: Callable[[int], bool]  # whether a broker may lead
    elect: Elect = elect

    def build(
        self,
        topic_id: UUID,
        index: int,
        before: PartitionRegistration,
        *,
        isr: tuple[int, ...] | None = None,
        assignment: ReplicaAssignment | None = None,
        election: PartitionElection = PartitionElection.ONLINE,
        recovery: int | None = None,
    ) -> PartitionChangeRecord | None:
        """None: nothing changes."""
        wanted = before.isr if isr is None else isr
        had = ReplicaAssignment(before.replicas, before.adding, before.removing)
        to, wanted = _completed(had if assignment is None else assignment, wanted)
        chosen = self._leader(before, to.replicas, wanted, election)
        changed: dict[str, Any] = {}
        if chosen.leader != before.leader:
            changed["leader"] = chosen.leader
        if chosen.isr not in ((), before.isr):
            changed["isr"] = chosen.isr
        lost = {*before.replicas} - {*to.replicas}
        lost |= {*before.isr} - {*changed.get("isr", before.isr)}
        if lost and "leader" not in changed:
            changed["leader"] = before.leader
        names = ("replicas", "adding_replicas", "removing_replicas")
        changed |= {name: now for name, now, was in zip(names, to, had, strict=True) if now != was}
        state = before.leader_recovery_state if recovery is None else recovery
        state = state if chosen.clean else RECOVERING
        if state != before.leader_recovery_state:
            changed["leader_recovery_state"] = state
        if not changed:
            return None
        return PartitionChangeRecord(topic_id=topic_id, partition_id=index, **changed)

    def _leader(
        self,
        before: PartitionRegistration,
        replicas: tuple[int, ...],
        isr: tuple[int, ...],
        election: PartitionElection,
    ) -> Elected:
        live = [replica for replica in replicas if self.is_active(replica)]
        if election is PartitionElection.PREFERRED:
            preferred = self.elect(replicas, isr, live, rule=Rule.PREFERRED)
            if preferred.leader != NO_BROKER:
                return preferred
        if before.leader in live and before.leader in isr:
            return Elected(before.leader, isr)
        return self.elect(replicas, isr, live, unclean=election is PartitionElection.UNCLEAN)


def _completed(
    assignment: ReplicaAssignment, isr: tuple[int, ...]
) -> tuple[ReplicaAssignment, tuple[int, ...]]:
    """The assignment and the ISR after a move, if all its replicas are in sync."""
    final = target(assignment)
    stay = tuple(replica for replica in isr if replica in final)
    if is_moving(assignment) and stay and set(final) <= set(stay):
        return ReplicaAssignment(final), stay
    return assignment, isr
