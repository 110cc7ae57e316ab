"""Who leads a partition: the first replica, in the order of the assignment, that may.

    a live replica in the ISR       has every committed record: a clean election
    any other live replica          only if `unclean.leader.election.enable`: what it lacks is lost
    nobody                          the partition waits, and keeps its ISR for when they return

The order is that of the assignment, not of the ISR: so the preferred leader wins where it can.
What becomes of the ISR, and who may stand, depends on why there is an election:

    OFFLINE        the leader is gone            the ISR is those who are alive
    PREFERRED      back to the first replica     nobody else may stand; the ISR stays
    REASSIGNMENT   the leader has to move out    of the replicas to come; the ISR stays
    SHUTDOWN       the leader wants to stop      the ISR is those who are not about to stop
"""

from collections.abc import Collection, Sequence
from enum import Enum
from typing import NamedTuple

NOBODY = -1


class Rule(Enum):
    OFFLINE = "offline"
    PREFERRED = "preferred"
    REASSIGNMENT = "reassignment"
    SHUTDOWN = "shutdown"


class Elected(NamedTuple):
    leader: int
    isr: tuple[int, ...]
    clean: bool = True


def elect(
    replicas: Sequence[int],
    isr: Sequence[int],
    live: Collection[int],
    *,
    unclean: bool = False,
    rule: Rule = Rule.OFFLINE,
    stopping: Collection[int] = (),
) -> Elected:
    """`live` are those who may lead: who is stopping is not among them."""
    standing = replicas[:1] if rule is Rule.PREFERRED else replicas
    for replica in standing:
        if replica in live and replica in isr:
            return Elected(replica, _remaining(isr, live, rule, stopping))
    if unclean:
        for replica in standing:
            if replica in live:
                return Elected(replica, (replica,), clean=False)
    return Elected(NOBODY, tuple(isr))


def _remaining(
    isr: Sequence[int], live: Collection[int], rule: Rule, stopping: Collection[int]
) -> tuple[int, ...]:
    match rule:
        case Rule.OFFLINE:
            return tuple(replica for replica in isr if replica in live)
        case Rule.SHUTDOWN:
            return tuple(replica for replica in isr if replica not in stopping)
        case _:
            return tuple(isr)
