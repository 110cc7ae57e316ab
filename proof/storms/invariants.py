"""The invariants of a cluster, which hold under all faults. Each is a function.

An invariant reads the latest observed state and yields a text for each contradiction. It may keep
values in `observed.memory`: what it has checked already, or compares with later. All are checked
after every turn of the storm, while brokers are down or disagree. Those that hold only after all
faults are mended are checked at the end (`AT_REST`). Those of groups and transactions are in
group_invariants.py and transaction_invariants.py.
"""

from collections.abc import Callable, Iterator

from engine.model import NO_BROKER
from engine.sim.disk import MemoryLog
from engine.storage.batch import NO_SEQUENCE
from proof.storms import group_invariants, quorum_invariants, transaction_invariants
from proof.storms.observed_state import ObservedState

Invariant = Callable[[ObservedState], Iterator[str]]


class Violation(Exception):
    """An invariant does not hold."""

    def __init__(self, invariant: str, at: int, text: str) -> None:
        super().__init__(f"{invariant} does not hold {at / 1000:.3f} s after the start: {text}")
        self.invariant = invariant
        self.at = at  # ms since the world began
        self.text = text


def check(observed: ObservedState, invariants: tuple[Invariant, ...]) -> None:
    """Raise the first contradiction."""
    for invariant in invariants:
        for text in invariant(observed):
            raise Violation(invariant.__name__, observed.world.now, text)


# -- at any time -----------------------------------------------------------------------------


def no_acknowledged_record_is_lost(observed: ObservedState) -> Iterator[str]:
    """Every leader has each record that was acknowledged with acks=all, at its offset."""
    for broker, _, partition, log in observed.leaders:
        facts, key = (
            observed.acknowledged[partition.id],
            ("kept", broker, partition.id, partition.leader_epoch),
        )
        for offset, value, delivery in facts[observed.memory.get(key, 0) :]:
            at = log.before(offset)
            there = log.batches[at].data if at < len(log.batches) else b""
            if value not in there:
                yield (
                    f"{delivery.value} was acknowledged at offset {offset} of {partition.id}, "
                    f"which leader {broker} of epoch {partition.leader_epoch} does not have"
                )
        observed.memory[key] = len(facts)


def replicas_agree_below_the_high_watermark(observed: ObservedState) -> Iterator[str]:
    """Two replicas have the same records below both of their high watermarks, also if one of them
    has lost its high watermark meanwhile, or reaches it much later."""
    for broker, _, partition, log in observed.replicas:
        yield from _differs(observed, broker, log, partition.high_watermark)


def what_is_committed_is_on_every_replica_in_sync(observed: ObservedState) -> Iterator[str]:
    """Every replica that may be elected has all committed records, also if the current leader does
    not know yet which ones are committed."""
    for broker, _, partition, log in observed.leaders:
        yield from _differs(observed, broker, log, partition.high_watermark)
    for topic_partition, committed in observed.committed.items():
        if not committed:
            continue
        end = committed[-1].header.next_offset
        for broker, log in observed.electable(topic_partition):
            if log.end_offset < end:
                yield (
                    f"{topic_partition} is committed up to {end}, but the log of broker {broker}, "
                    f"which is in sync, ends at {log.end_offset}"
                )
            yield from _differs(observed, broker, log, end)


def the_leader_waits_for_all_who_may_follow_it(observed: ObservedState) -> Iterator[str]:
    """The leader counts every replica that is in the ISR by the metadata: a record is committed
    only when all of them have it."""
    for leader, _, partition, _ in observed.leaders:
        forgotten = set(observed.states[partition.id].isr) - partition.counted - {leader}
        if forgotten:
            yield (
                f"by the metadata {sorted(forgotten)} are in sync, but leader {leader} "
                f"of {partition.id} counts {sorted(partition.counted)} only"
            )


def one_leader_an_epoch(observed: ObservedState) -> Iterator[str]:
    """A leader epoch of a partition belongs to one broker only."""
    for happened in observed.news:
        kind, _, data = happened.event
        if kind == "replica.role" and data["role"] == "leader":
            epoch = data["leader_epoch"]
            key = ("leads", data["topic"], data["partition"], epoch)
            leader = observed.memory.setdefault(key, happened.broker)
            if leader != happened.broker:
                yield (
                    f"brokers {leader} and {happened.broker} both lead "
                    f"{data['topic']}-{data['partition']} in epoch {epoch}"
                )


def epochs_only_grow(observed: ObservedState) -> Iterator[str]:
    """The epochs in the metadata (of leaders, of the controller), and those that a broker knows."""
    seen: list[tuple[object, str, int]] = [
        (partition, f"the leader epoch of {partition} in the metadata", state.leader_epoch)
        for partition, state in observed.states.items()
    ]
    epoch = observed.world.metadata.controller_epoch
    if epoch is not None:
        seen.append(("controller", "the controller epoch", epoch))
    for broker, running, partition, _ in observed.replicas:
        what = f"the leader epoch of {partition.id}, as broker {broker} has heard,"
        seen.append(((running, partition.id), what, partition.leader_epoch))
        what = f"the controller epoch that broker {broker} has heard"
        seen.append((running, what, running.broker.replicas.controller_epoch))
    for key, what, now in seen:
        was = observed.memory.get(("epoch", key), now)
        if now < was:
            yield f"{what} was {was} and is {now}"
        observed.memory["epoch", key] = now


def the_high_watermark_grows_while_one_leads(observed: ObservedState) -> Iterator[str]:
    """While one broker leads without interruption, which may last several epochs."""
    for broker, running, partition, _ in observed.replicas:
        if partition.is_leader:
            key = ("high watermark", running, partition.id, partition.leader_since)
            was = observed.memory.get(key, 0)
            if partition.high_watermark < was:
                now = partition.high_watermark
                yield f"leader {broker} of {partition.id} went from {was} to {now}"
            observed.memory[key] = partition.high_watermark


def what_was_read_stays(observed: ObservedState) -> Iterator[str]:
    """A reader's records are committed at the offsets at which it got them, and its next offset is
    never out of range. (It may get a lower high watermark than before: a new or restarted leader
    knows the high watermark only after its followers have fetched.)"""
    for reader in observed.workload.readers:
        committed, partition = observed.committed[reader.partition], reader.partition
        known = observed.memory.get(("read", partition), 0)
        for row in reader.rows[known : len(committed)]:
            if row.value.encode() not in committed[row.offset].data:
                yield f"{row.value} was read at offset {row.offset} of {partition}, and not stored"
        observed.memory["read", partition] = min(len(reader.rows), len(committed))
        if reader.refused is not None:
            yield f"offset {reader.position} of {partition} comes next, and is out of range"


def sequences_are_stored_once(observed: ObservedState) -> Iterator[str]:
    """Each idempotent producer's records are committed in its own order, none of them twice."""
    for partition, committed in observed.committed.items():
        known = observed.memory.get(("sequences", partition), 0)
        for header, _ in committed[known:]:
            if header.base_sequence == NO_SEQUENCE:
                continue
            key = ("sequence", partition, header.producer_id, header.producer_epoch)
            expected = observed.memory.get(key, 0)
            if header.base_sequence != expected:
                yield (
                    f"at offset {header.base_offset} of {partition} producer "
                    f"{header.producer_id} has sequence {header.base_sequence}, not {expected}"
                )
            observed.memory[key] = header.base_sequence + header.count
        observed.memory["sequences", partition] = len(committed)


def acknowledged_in_order(observed: ObservedState) -> Iterator[str]:
    """What is sent after another record's acknowledgement lies behind that record."""
    for partition, facts in observed.acknowledged.items():
        known = observed.memory.get(("order", partition), 1)
        for before, after in zip(facts[known - 1 :], facts[known:], strict=False):
            if after.offset <= before.offset:
                yield (
                    f"{after.delivery.value} is at offset {after.offset} of {partition}, and "
                    f"{before.delivery.value}, acknowledged before, at {before.offset}"
                )
        observed.memory["order", partition] = max(1, len(facts))


# -- in the end ------------------------------------------------------------------------------


def everybody_is_back(observed: ObservedState) -> Iterator[str]:
    """All brokers and all servers of the metadata run, all replicas are in sync, there is one
    controller, every producer has an answer. A broker that has just ended is in sync until its
    session is over."""
    world = observed.world
    down = [id for id, node in world.nodes.items() if node.current is None]
    if away := [*down, *world.metadata.away]:
        yield f"{away} are down"
    for partition, state in observed.states.items():
        if set(state.isr) != observed.assigned(partition) or state.leader == NO_BROKER:
            yield f"{partition} is led by {state.leader}, and in sync are {sorted(state.isr)}"
    if world.controller is None:
        yield "there is no controller"
    left = sum(not each.done for each in observed.workload.sent)
    if left:
        yield f"{left} records are neither acknowledged nor refused"


def all_logs_are_alike(observed: ObservedState) -> Iterator[str]:
    """All records are committed, on every replica, and every reader has read them."""
    for partition, committed in observed.committed.items():
        expected = [each.data for each in committed]
        for broker in observed.assigned(partition):
            log = observed.world[broker].log(partition)
            found = [each.data for each in log.batches] if log is not None else []
            if found != expected:
                yield (
                    f"broker {broker} has {len(found)} records of {partition}, which are not the "
                    f"{len(expected)} that are committed"
                )
    for reader in observed.workload.readers:
        if reader.position != len(observed.committed[reader.partition]):
            yield f"the reader of {reader.partition} is stuck at offset {reader.position}"


def _differs(observed: ObservedState, broker: int, log: MemoryLog, below: int) -> Iterator[str]:
    """Compare a log with the committed records. Those that are new are added to them."""
    committed, count = observed.committed[log.partition], log.before(below)
    key = ("agrees", log, log.cuts)
    for at in range(observed.memory.get(key, 0), count):
        mine = log.batches[at]
        if at == len(committed):
            committed.append(mine)
        elif mine.data != committed[at].data:
            yield (
                f"offset {at} of {log.partition} is committed, and broker {broker} has something "
                f"else there, of epoch {mine.header.leader_epoch} and not "
                f"{committed[at].header.leader_epoch}"
            )
    observed.memory[key] = max(count, observed.memory.get(key, 0))


ALWAYS: tuple[Invariant, ...] = (
    no_acknowledged_record_is_lost,
    what_is_committed_is_on_every_replica_in_sync,
    replicas_agree_below_the_high_watermark,
    the_leader_waits_for_all_who_may_follow_it,
    one_leader_an_epoch,
    epochs_only_grow,
    the_high_watermark_grows_while_one_leads,
    what_was_read_stays,
    sequences_are_stored_once,
    acknowledged_in_order,
    *group_invariants.ALWAYS,
    *transaction_invariants.ALWAYS,
    *quorum_invariants.ALWAYS,
)
AT_REST: tuple[Invariant, ...] = (
    everybody_is_back,
    all_logs_are_alike,
    *group_invariants.AT_REST,
    *transaction_invariants.AT_REST,
    *quorum_invariants.AT_REST,
)
