"""The names of topics, and the brokers of their replicas.

Kafka assigns replicas in a ring: the first replica of each partition is one broker further than
that of the partition before, from a random start. The distance of the other replicas grows by one
with every round, so that the load of a failed broker goes to many others.

    brokers 0..4, start 0, shift 0     p0: 0 1 2   p1: 1 2 3   p2: 2 3 4   p3: 3 4 0   p4: 4 0 1
    after one round: the shift is 1    p5: 0 2 3   p6: 1 3 4   ...

If every broker has a rack, the ring has the brokers of each rack in turn, and a partition gets a
second replica in a rack only when it has one in each (KIP-36):

    racks a: 1 2   b: 3 4   c: 5    the ring: 1 3 5 2 4    p0: 1 3 5   p1: 3 5 2   p2: 5 2 4 ...
"""

import itertools
import re
from collections.abc import Iterable, Sequence

from engine.errors import ApiException, ErrorCode
from engine.model import NO_RACKS, Racks

MAX_PARTITIONS = 10_000  # added at once; a topic is one znode of at most a megabyte
MAX_NAME = 249  # a directory name is a topic's name, a dash, and up to five digits
INTERNAL = frozenset({"__consumer_offsets", "__transaction_state"})

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+", re.ASCII)


def check_name(name: str) -> None:
    """Refuse a name that cannot be the name of a directory or a metric."""
    if fault := name_fault(name):
        raise ApiException(ErrorCode.invalid_topic_exception, fault)


def is_legal(name: str) -> bool:
    return not name_fault(name)


def name_fault(name: str) -> str:
    """Why a topic cannot have a name; empty if it can."""
    if not name:
        return "Topic name is illegal, it can't be empty"
    if name in (".", ".."):
        return 'Topic name cannot be "." or ".."'
    if len(name) > MAX_NAME:
        return (
            f"Topic name is illegal, it can't be longer than {MAX_NAME} characters, "
            f"topic name: {name}"
        )
    if not _LEGAL.fullmatch(name):
        return (
            f'Topic name "{name}" is illegal, it contains a character other than '
            "ASCII alphanumerics, '.', '_' and '-'"
        )
    return ""


def check_new_name(name: str, existing: Iterable[str]) -> None:
    """Refuse an illegal name, a taken one, and one that differs from it only by '.' for '_'."""
    check_name(name)
    alike = [other for other in existing if other.replace(".", "_") == name.replace(".", "_")]
    if name in alike:
        raise ApiException(ErrorCode.topic_already_exists, f"Topic '{name}' already exists.")
    if alike:
        raise ApiException(
            ErrorCode.invalid_topic_exception,
            f"Topic '{name}' collides with existing topics: {', '.join(sorted(alike))}",
        )


def spread(
    partitions: int,
    replication: int,
    brokers: Sequence[int],
    *,
    racks: Racks = NO_RACKS,
    start: int = 0,
    shift: int = 0,
    first_partition: int = 0,
    fenced: Sequence[int] = (),
) -> dict[int, list[int]]:
    """The replicas of each partition, the preferred leader first. `start`, `shift`: any numbers.
    Fenced brokers get those for which there are not enough others."""
    check_counts(partitions, replication, len(brokers) + len(fenced))
    if not brokers:
        raise ApiException(
            ErrorCode.invalid_replication_factor, "All brokers are currently fenced."
        )
    more = max(replication - len(brokers), 0)
    count, ring, known = len(brokers), brokers, {broker: racks.get(broker) for broker in brokers}
    if in_racks := None not in known.values():
        ring = _in_turn(known)
    step = len({*known.values()}) if in_racks else 1  # by which each round shifts the ring
    assignment = {}
    for number in range(first_partition, first_partition + partitions):
        if number and number % count == 0:
            shift += 1
        first = (number + start) % count
        others = [
            ring[(first + 1 + (shift * step + nth) % (count - 1)) % count]
            for nth in range(count - 1)
        ]
        replicas = [ring[first], *others]
        assignment[number] = _spread_out(replicas, known) if in_racks else replicas
        del assignment[number][replication:]
        assignment[number] += [fenced[(number + nth) % len(fenced)] for nth in range(more)]
    return assignment


def _in_turn(racks: Racks) -> list[int]:
    """The first broker of each rack, then the second of each, and so on."""
    of_rack: dict[str, list[int]] = {}
    for broker, rack in racks.items():
        of_rack.setdefault(rack or "", []).append(broker)
    rows = itertools.zip_longest(*(of_rack[rack] for rack in sorted(of_rack)))
    return [broker for row in rows for broker in row if broker is not None]


def _spread_out(replicas: Sequence[int], racks: Racks) -> list[int]:
    """The same brokers, those first that are in a rack without a replica before them. When each
    rack has one, the others follow in their order."""
    seen, chosen, last = set[str | None](), list[int](), 0
    for place, broker in enumerate(replicas):
        if racks[broker] not in seen:
            seen.add(racks[broker])
            chosen.append(broker)
            last = place
    ring = [*replicas[last:], *replicas[:last]]
    return [*chosen, *(broker for broker in ring if broker not in chosen)]


def spread_further(
    partitions: int,
    first: Sequence[int],
    brokers: Sequence[int],
    *,
    racks: Racks = NO_RACKS,
    first_partition: int,
    fenced: Sequence[int] = (),
) -> dict[int, list[int]]:
    """The replicas of more partitions, up to this number: in the ring that starts at the leader of
    partition 0, whose replicas are `first`."""
    start = next((place for place, each in enumerate(brokers) if each >= first[0]), 0)
    return spread(
        partitions - first_partition,
        len(first),
        brokers,
        racks=racks,
        start=start,
        shift=start,
        first_partition=first_partition,
        fenced=fenced,
    )


def check_added(partitions: int) -> None:
    """Refuse too many partitions at once."""
    if partitions > MAX_PARTITIONS:
        raise ApiException(
            ErrorCode.policy_violation,
            f"Excessively large number of partitions per request: {partitions}.",
        )


def check_counts(partitions: int, replication: int, brokers: int) -> None:
    if partitions <= 0:
        raise ApiException(
            ErrorCode.invalid_partitions,
            f"Number of partitions must be larger than 0, not {partitions}.",
        )
    check_added(partitions)
    if replication <= 0:
        raise ApiException(
            ErrorCode.invalid_replication_factor,
            f"Replication factor must be larger than 0, not {replication}.",
        )
    if replication > brokers:
        raise ApiException(
            ErrorCode.invalid_replication_factor,
            f"Replication factor: {replication} larger than available brokers: {brokers}.",
        )


def check_assignment(
    assignment: dict[int, list[int]], live: Iterable[int], first_partition: int = 0
) -> None:
    """Refuse an assignment by hand that names a partition or a broker wrongly."""
    expected = list(range(first_partition, first_partition + len(assignment)))
    widths = {len(replicas) for replicas in assignment.values()}
    unknown = sorted(
        {broker for replicas in assignment.values() for broker in replicas} - set(live)
    )
    fault = ""
    if sorted(assignment) != expected:
        fault = f"partitions must be numbered {expected}, not {sorted(assignment)}"
    elif len(widths) != 1 or 0 in widths:
        fault = "all partitions must have the same number of replicas, at least one"
    elif any(len(set(replicas)) != len(replicas) for replicas in assignment.values()):
        fault = "a partition has two replicas on one broker"
    elif unknown:
        fault = f"brokers {unknown} do not exist"
    if fault:
        raise ApiException(
            ErrorCode.invalid_replica_assignment, f"Invalid replica assignment: {fault}"
        )
