"""What must hold in every consumer group, whatever goes wrong around it (see invariants.py).

    what members took and heard ──> Crowd ─────────────┐
    the log of __consumer_offsets, its records decoded ─┼──> each promise
    what the coordinator tells ──> Groups.group ────────┘

Every commit is signed by the member that sent it (member.py), so the log itself tells whether its
generation was over. What counts is the log: a coordinator's word is only what it makes of that.
"""

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from engine.broker.reigns import unpacked
from engine.client.consuming.states import State
from engine.coordinator.records import (
    GroupValue,
    Key,
    OffsetKey,
    OffsetValue,
    Value,
    decode_key,
    decode_value,
)
from engine.coordinator.states import State as GroupState
from engine.sim.crowd import COORDINATED
from engine.sim.disk import Log
from engine.sim.member import GROUP
from engine.sim.witness import Replica, Witness

BATCHES = 10_000  # that are kept decoded: more than a run has
NO_PLACE = -1


def no_partition_has_two_owners(witness: Witness) -> Iterator[str]:
    """What two members of one generation were given is never the same."""
    everyone = witness.crowd.everyone
    for number, member in enumerate(everyone):
        known = witness.memory.get(("taken", member), 0)
        for generation, partitions in member.taken[known:]:
            for each in partitions:
                owner = witness.memory.setdefault(("owns", generation, each), number)
                if owner != number:
                    yield (
                        f"{each} belongs to {everyone[owner].process.name} and to "
                        f"{member.process.name} in generation {generation}"
                    )
        witness.memory["taken", member] = len(member.taken)


def commits_of_the_past_are_refused(witness: Witness) -> Iterator[str]:
    """In the log, behind the record of a generation no commit of a former one follows, and none of
    somebody who is not in it. (One of a later generation may: its record could not be stored, and
    its members still hold what they had.)"""
    log = witness.committed.get(COORDINATED, [])
    known = witness.memory.get("commits", 0)
    for each in log[known:]:
        for _, value in entries(each.data):
            if isinstance(value, GroupValue):
                witness.generation = value
            elif isinstance(value, OffsetValue):
                now, (generation, member, _) = witness.generation, value.metadata.split()
                members = [m.id for m in now.members]
                is_of_now = int(generation) == now.generation
                if int(generation) < now.generation or (is_of_now and member not in members):
                    yield (
                        f"at offset {each.header.base_offset} of {COORDINATED} is a commit of "
                        f"{member}, generation {generation}: in generation {now.generation} "
                        f"are {members}"
                    )
    witness.memory["commits"] = len(log)


def committed_offsets_survive(witness: Witness) -> Iterator[str]:
    """Every commit that a member was told to be stored is in the log of whoever coordinates now,
    and the coordinator knows of it, or of one that came later."""
    for leader in _coordinators(witness):
        for member in witness.crowd.everyone:
            key = ("survives", leader.broker, leader.role.leader_epoch, member)
            known = witness.memory.get(key, 0)
            for signature in member.acknowledged[known:]:
                place = _place(leader.log, signature)
                if place == NO_PLACE:
                    yield (
                        f"the commit {signature!r} was acknowledged, and coordinator "
                        f"{leader.broker} of epoch {leader.role.leader_epoch} does not have it"
                    )
                for entry, _ in entries(leader.log.batches[place].data):
                    assert isinstance(entry, OffsetKey)
                    last = ("last", *key[1:3], entry.topic_partition)
                    witness.memory[last] = max(place, witness.memory.get(last, NO_PLACE))
            witness.memory[key] = len(member.acknowledged)
        yield from _forgotten(witness, leader)


def _forgotten(witness: Witness, leader: Replica) -> Iterator[str]:
    """By a coordinator that has read its log."""
    group = leader.life.groups.group(GROUP)
    for each in witness.workload.partitions if group else ():
        epoch = leader.role.leader_epoch
        last = witness.memory.get(("last", leader.broker, epoch, each), NO_PLACE)
        stored = group.offsets.stored.get(each) if group else None
        if last > (NO_PLACE if stored is None else _place(leader.log, stored.metadata)):
            yield (
                f"coordinator {leader.broker} takes {stored and stored.offset} for committed of "
                f"{each}, and something later was acknowledged"
            )


# -- in the end ------------------------------------------------------------------------------


def every_partition_has_an_owner(witness: Witness) -> Iterator[str]:
    """All members are stable in the generation that the coordinator knows, and each partition
    belongs to exactly one of them."""
    members = [each.membership for each in witness.crowd.members.values()]
    for leader in _coordinators(witness):
        group = leader.life.groups.group(GROUP)
        if group is None or group.state is not GroupState.STABLE:
            yield f"the group is {group.state.value if group else 'unknown'}, not stable"
            return
        for each in members:
            who = each.identity
            if each.state is not State.STABLE or who.generation != group.generation:
                yield f"{who} is {each.state.value}, the group in generation {group.generation}"
        if group.members.keys() != {each.identity.member_id for each in members}:
            yield f"the coordinator counts {sorted(group.members)} as members"
        owners = Counter(partition for each in members for partition in each.owned)
        for partition in witness.workload.partitions:
            if owners[partition] != 1:
                yield f"{partition} has {owners[partition]} owners"


def the_group_has_read_everything(witness: Witness) -> Iterator[str]:
    """And has committed that."""
    for leader in _coordinators(witness):
        group = leader.life.groups.group(GROUP)
        for partition in witness.workload.partitions if group else ():
            stored = group.offsets.stored.get(partition) if group else None
            end = len(witness.committed[partition])
            if end and (stored is None or stored.offset != end):
                offset = stored.offset if stored else "nothing"
                yield f"of {partition} {offset} is committed, and it ends at {end}"


# -- the log ---------------------------------------------------------------------------------


def _coordinators(witness: Witness) -> Iterator[Replica]:
    """The one who coordinates by ZooKeeper's own word, if it knows that."""
    for each in witness.crowned:
        if each.role.id == COORDINATED:
            yield each


def _place(log: Log, signature: str) -> int:
    """Which of the batches has it; the newest are looked at first."""
    mark = signature.encode()
    for place in range(len(log.batches) - 1, -1, -1):
        if mark in log.batches[place].data:
            return place
    return NO_PLACE


@lru_cache(BATCHES)
def entries(batch: bytes) -> tuple[tuple[Key, Value | None], ...]:
    """What the records of one batch say."""
    found = []
    for record in unpacked(batch):
        key = decode_key(record.key or b"")
        found.append((key, None if record.value is None else decode_value(key, record.value)))
    return tuple(found)


ALWAYS = (no_partition_has_two_owners, commits_of_the_past_are_refused, committed_offsets_survive)
AT_REST = (every_partition_has_an_owner, the_group_has_read_everything)
