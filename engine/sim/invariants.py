"""What must hold in every cluster, whatever goes wrong around it: each a function with a name.

An invariant looks at what the witness knows just now and tells what contradicts it; it may keep a
note in `witness.memory`, of what it has checked already or has to compare with later. It is asked
after every turn of the storm, while half of the cluster is down or of two minds. Those that only
hold once everything is mended are asked at the end (`AT_REST`). Those of groups are in promises.py.
"""

from collections.abc import Callable, Iterator

from engine.broker.metadata import NO_BROKER
from engine.controller import znodes
from engine.sim import promises
from engine.sim.disk import Log
from engine.sim.witness import Witness
from engine.storage.batch import NO_PRODUCER_ID

Invariant = Callable[[Witness], Iterator[str]]


class Violation(Exception):
    """An invariant does not hold."""

    def __init__(self, invariant: str, at: int, text: str) -> None:
        super().__init__(f"{invariant} does not hold {at / 1000:.3f} s after the start: {text}")
        self.invariant = invariant
        self.at = at  # ms since the world began
        self.text = text


def check(witness: Witness, invariants: tuple[Invariant, ...]) -> None:
    """Raise the first contradiction."""
    for invariant in invariants:
        for text in invariant(witness):
            raise Violation(invariant.__name__, witness.world.now, text)


# -- at any time -----------------------------------------------------------------------------


def no_acknowledged_record_is_lost(witness: Witness) -> Iterator[str]:
    """What a producer with acks=all was told to be stored, every leader has at that offset."""
    for broker, _, role, log in witness.crowned:
        facts, key = witness.acknowledged[role.id], ("kept", broker, role.id, role.leader_epoch)
        for offset, value, delivery in facts[witness.memory.get(key, 0) :]:
            at = log.before(offset)
            there = log.batches[at].data if at < len(log.batches) else b""
            if value not in there:
                yield (
                    f"{delivery.value} was acknowledged at offset {offset} of {role.id}, which "
                    f"leader {broker} of epoch {role.leader_epoch} does not have"
                )
        witness.memory[key] = len(facts)


def replicas_agree_below_the_high_watermark(witness: Witness) -> Iterator[str]:
    """What one replica takes for committed is on any other the same, as far as that one takes it
    for committed, too; also if one of them has forgotten it meanwhile, or learns it much later."""
    for broker, _, role, log in witness.replicas:
        yield from _differs(witness, broker, log, role.high_watermark)


def what_is_committed_is_on_every_replica_in_sync(witness: Witness) -> Iterator[str]:
    """Whoever may be elected has everything that was ever committed, also if the leader of today
    does not know yet how far that was."""
    for broker, _, role, log in witness.crowned:
        yield from _differs(witness, broker, log, role.high_watermark)
    for partition, committed in witness.committed.items():
        if not committed:
            continue
        end = committed[-1].header.next_offset
        for broker, log in witness.trusted(partition):
            if log.end_offset < end:
                yield (
                    f"{partition} is committed up to {end}, but the log of broker {broker}, which "
                    f"is in sync, ends at {log.end_offset}"
                )
            yield from _differs(witness, broker, log, end)


def the_leader_waits_for_all_who_may_follow_it(witness: Witness) -> Iterator[str]:
    """Everybody who is in the ISR in ZooKeeper counts for the leader: before it takes a record
    for committed, they must have it."""
    for leader, _, role, _ in witness.crowned:
        forgotten = set(witness.states[role.id].isr) - role.counted - {leader}
        if forgotten:
            yield (
                f"in ZooKeeper {sorted(forgotten)} are in sync, but leader {leader} of {role.id} "
                f"counts {sorted(role.counted)} only"
            )


def one_leader_an_epoch(witness: Witness) -> Iterator[str]:
    """A leader epoch of a partition belongs to one broker, for ever."""
    for happened in witness.news:
        kind, _, data = happened.event
        if kind == "replica.role" and data["role"] == "leader":
            epoch = data["leader_epoch"]
            key = ("leads", data["topic"], data["partition"], epoch)
            leader = witness.memory.setdefault(key, happened.broker)
            if leader != happened.broker:
                yield (
                    f"brokers {leader} and {happened.broker} both lead "
                    f"{data['topic']}-{data['partition']} in epoch {epoch}"
                )


def epochs_only_grow(witness: Witness) -> Iterator[str]:
    """Those in ZooKeeper (of leaders, of the controller), and what a broker has heard of them."""
    seen: list[tuple[object, str, int]] = [
        (partition, f"the leader epoch of {partition} in ZooKeeper", state.leader_epoch)
        for partition, state in witness.states.items()
    ]
    epoch = witness.world.zookeeper.tree.get(znodes.CONTROLLER_EPOCH)
    if epoch is not None:
        seen.append(("controller", "the controller epoch", znodes.decode_epoch(epoch.data)))
    for broker, life, role, _ in witness.replicas:
        what = f"the leader epoch of {role.id}, as broker {broker} has heard,"
        seen.append(((life, role.id), what, role.leader_epoch))
        what = f"the controller epoch that broker {broker} has heard"
        seen.append((life, what, life.replicas.controller_epoch))
    for key, what, now in seen:
        was = witness.memory.get(("epoch", key), now)
        if now < was:
            yield f"{what} was {was} and is {now}"
        witness.memory["epoch", key] = now


def the_high_watermark_grows_while_one_leads(witness: Witness) -> Iterator[str]:
    """In one reign, which may have several epochs."""
    for broker, life, role, _ in witness.replicas:
        if role.is_leader:
            key = ("high watermark", life, role.id, role.reign)
            was = witness.memory.get(key, 0)
            if role.high_watermark < was:
                yield f"leader {broker} of {role.id} went from {was} to {role.high_watermark}"
            witness.memory[key] = role.high_watermark


def what_was_read_stays(witness: Witness) -> Iterator[str]:
    """A reader's records are committed, at the offsets at which it got them, and it never hears
    that what comes next is not there. (It may hear of a lower high watermark than before: a leader
    that came back, or a new one, knows it again only after its followers have asked.)"""
    for reader in witness.workload.readers:
        committed, partition = witness.committed[reader.partition], reader.partition
        known = witness.memory.get(("read", partition), 0)
        for row in reader.rows[known : len(committed)]:
            if row.value.encode() not in committed[row.offset].data:
                yield f"{row.value} was read at offset {row.offset} of {partition}, and not stored"
        witness.memory["read", partition] = min(len(reader.rows), len(committed))
        if reader.refused is not None:
            yield f"offset {reader.position} of {partition} comes next, and is out of range"


def sequences_are_stored_once(witness: Witness) -> Iterator[str]:
    """Each idempotent producer's records are committed in its own order, none of them twice."""
    for partition, committed in witness.committed.items():
        known = witness.memory.get(("sequences", partition), 0)
        for header, _ in committed[known:]:
            if header.producer_id == NO_PRODUCER_ID:
                continue
            key = ("sequence", partition, header.producer_id)
            expected = witness.memory.get(key, 0)
            if header.base_sequence != expected:
                yield (
                    f"at offset {header.base_offset} of {partition} producer "
                    f"{header.producer_id} has sequence {header.base_sequence}, not {expected}"
                )
            witness.memory[key] = header.base_sequence + header.count
        witness.memory["sequences", partition] = len(committed)


def acknowledged_in_order(witness: Witness) -> Iterator[str]:
    """What is sent after another record's acknowledgement lies behind that record."""
    for partition, facts in witness.acknowledged.items():
        known = witness.memory.get(("order", partition), 1)
        for before, after in zip(facts[known - 1 :], facts[known:], strict=False):
            if after.offset <= before.offset:
                yield (
                    f"{after.delivery.value} is at offset {after.offset} of {partition}, and "
                    f"{before.delivery.value}, acknowledged before, at {before.offset}"
                )
        witness.memory["order", partition] = max(1, len(facts))


# -- in the end ------------------------------------------------------------------------------


def everybody_is_back(witness: Witness) -> Iterator[str]:
    """All replicas in sync, one controller, every producer answered."""
    for partition, state in witness.states.items():
        if set(state.isr) != witness.assigned(partition) or state.leader == NO_BROKER:
            yield f"{partition} is led by {state.leader}, and in sync are {sorted(state.isr)}"
    if witness.world.controller is None:
        yield "there is no controller"
    left = sum(not each.done for each in witness.workload.sent)
    if left:
        yield f"{left} records are neither acknowledged nor refused"


def all_logs_are_alike(witness: Witness) -> Iterator[str]:
    """All that is there is committed, on every replica, and every reader has read it."""
    for partition, committed in witness.committed.items():
        expected = [each.data for each in committed]
        for broker in witness.assigned(partition):
            log = witness.world[broker].log(partition)
            found = [each.data for each in log.batches] if log is not None else []
            if found != expected:
                yield (
                    f"broker {broker} has {len(found)} records of {partition}, which are not the "
                    f"{len(expected)} that are committed"
                )
    for reader in witness.workload.readers:
        if reader.position != len(witness.committed[reader.partition]):
            yield f"the reader of {reader.partition} is stuck at offset {reader.position}"


def _differs(witness: Witness, broker: int, log: Log, below: int) -> Iterator[str]:
    """From what was committed; what nobody else has taken for committed yet is noted."""
    committed, count = witness.committed[log.partition], log.before(below)
    key = ("agrees", log, log.cuts)
    for at in range(witness.memory.get(key, 0), count):
        mine = log.batches[at]
        if at == len(committed):
            committed.append(mine)
        elif mine.data != committed[at].data:
            yield (
                f"offset {at} of {log.partition} is committed, and broker {broker} has something "
                f"else there, of epoch {mine.header.leader_epoch} and not "
                f"{committed[at].header.leader_epoch}"
            )
    witness.memory[key] = max(count, witness.memory.get(key, 0))


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
    *promises.ALWAYS,
)
AT_REST: tuple[Invariant, ...] = (everybody_is_back, all_logs_are_alike, *promises.AT_REST)
