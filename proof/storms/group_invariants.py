"""The invariants of a consumer group, which hold under all faults (see invariants.py).

    assignments and commits of members ──> GroupWorkload ─┐
    the log of __consumer_offsets, its records decoded ───┼──> each invariant
    the state of the coordinator ──> Groups.group ────────┘

Every commit is signed by its member (member.py), so the log shows whether the generation was over.
The log counts as the truth; the coordinator's state is made from it.
"""

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from engine.broker.coordinator_topic import unpacked
from engine.client.consuming.membership import MembershipState
from engine.coordinator.group import ClassicGroupState
from engine.coordinator.records import (
    GroupValue,
    Key,
    OffsetKey,
    OffsetValue,
    Value,
    decode_key,
    decode_value,
)
from engine.sim.disk import MemoryLog
from proof.storms.group_workload import COORDINATED
from proof.storms.member import GROUP
from proof.storms.observed_state import ObservedReplica, ObservedState

BATCHES = 10_000  # that are kept decoded: more than a run has
NO_PLACE = -1
DELETED = "nothing is left"  # why a coordinator deletes a group by itself


def no_partition_has_two_owners(observed: ObservedState) -> Iterator[str]:
    """No partition is assigned to two members in one generation. (An empty group without offsets is
    deleted; the next one of that name starts with generation 1 again. A member of the deleted one
    may hear of its assignment later, if it was paused meanwhile.)"""
    everyone = observed.group_workload.everyone
    for _, _, event in observed.news:
        if event.kind == "group.state":
            observed.deletions += event.data["reason"] == DELETED
        elif event.kind == "group.member":
            observed.memory.setdefault(("joined", event.data["member"]), observed.deletions)
    for number, member in enumerate(everyone):
        known = observed.memory.get(("taken", member), 0)
        for generation, partitions, member_id in member.taken[known:]:
            group = observed.memory.get(("joined", member_id), observed.deletions)
            for each in partitions:
                key = "owns", group, generation, each
                owner = observed.memory.setdefault(key, number)
                if owner != number:
                    yield (
                        f"{each} belongs to {everyone[owner].process.name} and to "
                        f"{member.process.name} in generation {generation}"
                    )
        observed.memory["taken", member] = len(member.taken)


def commits_of_the_past_are_refused(observed: ObservedState) -> Iterator[str]:
    """In the log, after the record of a generation there is no commit of an earlier one, and none
    of a client that is no member. (There may be one of a later generation, whose own record could
    not be stored while its members keep their partitions.)"""
    log = observed.committed.get(COORDINATED, []) if observed.group_workload.machines else []
    known = observed.memory.get("commits", 0)
    for each in log[known:]:
        for _, value in entries(each.data):
            if isinstance(value, GroupValue):
                observed.generation = value
            elif isinstance(value, OffsetValue):
                now, (generation, member, _) = observed.generation, value.metadata.split()
                members = [m.id for m in now.members]
                is_of_now = int(generation) == now.generation
                if int(generation) < now.generation or (is_of_now and member not in members):
                    yield (
                        f"at offset {each.header.base_offset} of {COORDINATED} is a commit of "
                        f"{member}, generation {generation}: in generation {now.generation} "
                        f"are {members}"
                    )
    observed.memory["commits"] = len(log)


def committed_offsets_survive(observed: ObservedState) -> Iterator[str]:
    """Every acknowledged commit is in the log of the current coordinator, and the coordinator knows
    this offset, or one that was committed later."""
    for leader in _coordinators(observed):
        for member in observed.group_workload.everyone:
            key = ("survives", leader.broker, leader.partition.leader_epoch, member)
            known = observed.memory.get(key, 0)
            for signature in member.acknowledged[known:]:
                place = _place(leader.log, signature)
                if place == NO_PLACE:
                    yield (
                        f"the commit {signature!r} was acknowledged, and coordinator "
                        f"{leader.broker} of epoch {leader.partition.leader_epoch} does not have it"
                    )
                for entry, _ in entries(leader.log.batches[place].data):
                    assert isinstance(entry, OffsetKey)
                    last = ("last", *key[1:3], entry.topic_partition)
                    observed.memory[last] = max(place, observed.memory.get(last, NO_PLACE))
            observed.memory[key] = len(member.acknowledged)
        yield from _forgotten(observed, leader)


def _forgotten(observed: ObservedState, leader: ObservedReplica) -> Iterator[str]:
    """Offsets that a coordinator does not have, although it has loaded its log."""
    group = leader.running.group(GROUP)
    for each in observed.workload.partitions if group else ():
        epoch = leader.partition.leader_epoch
        last = observed.memory.get(("last", leader.broker, epoch, each), NO_PLACE)
        stored = group.offsets.stored.get(each) if group else None
        if last > (NO_PLACE if stored is None else _place(leader.log, stored.metadata)):
            yield (
                f"coordinator {leader.broker} takes {stored and stored.offset} for committed of "
                f"{each}, and something later was acknowledged"
            )


# -- in the end ------------------------------------------------------------------------------


def every_partition_has_an_owner(observed: ObservedState) -> Iterator[str]:
    """All members are stable in the coordinator's generation, and each partition belongs to exactly
    one of them."""
    members = [each.membership for each in observed.group_workload.members.values()]
    for leader in _coordinators(observed):
        group = leader.running.group(GROUP)
        if group is None or group.state is not ClassicGroupState.STABLE:
            yield f"the group is {group.state.value if group else 'unknown'}, not stable"
            return
        for each in members:
            who = each.identity
            if each.state is not MembershipState.STABLE or who.generation_id != group.generation:
                yield f"{who} is {each.state.value}, the group in generation {group.generation}"
        if group.members.keys() != {each.identity.member_id for each in members}:
            yield f"the coordinator counts {sorted(group.members)} as members"
        owners = Counter(partition for each in members for partition in each.owned)
        for partition in observed.workload.partitions:
            if owners[partition] != 1:
                yield f"{partition} has {owners[partition]} owners"


def the_group_has_read_everything(observed: ObservedState) -> Iterator[str]:
    """All records were read, and the offsets committed."""
    for leader in _coordinators(observed):
        group = leader.running.group(GROUP)
        for partition in observed.workload.partitions if group else ():
            stored = group.offsets.stored.get(partition) if group else None
            end = len(observed.committed[partition])
            if end and (stored is None or stored.offset != end):
                offset = stored.offset if stored else "nothing"
                yield f"of {partition} {offset} is committed, and it ends at {end}"


# -- the log ---------------------------------------------------------------------------------


def _coordinators(observed: ObservedState) -> Iterator[ObservedReplica]:
    """The coordinator by ZooKeeper, if it knows that it is."""
    for each in observed.leaders if observed.group_workload.machines else ():
        if each.partition.id == COORDINATED:
            yield each


def _place(log: MemoryLog, signature: str) -> int:
    """The index of the batch that has it; the newest are searched first."""
    mark = signature.encode()
    for place in range(len(log.batches) - 1, -1, -1):
        if mark in log.batches[place].data:
            return place
    return NO_PLACE


@lru_cache(BATCHES)
def entries(batch: bytes) -> tuple[tuple[Key, Value | None], ...]:
    """The decoded records of one batch."""
    found = []
    for record in unpacked(batch):
        key = decode_key(record.key or b"")
        found.append((key, None if record.value is None else decode_value(key, record.value)))
    return tuple(found)


ALWAYS = (no_partition_has_two_owners, commits_of_the_past_are_refused, committed_offsets_survive)
AT_REST = (every_partition_has_an_owner, the_group_has_read_everything)
