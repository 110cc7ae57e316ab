"""The election of a leader: the first eligible replica, in the order of the assignment.

    a live replica in the ISR       has every committed record: a clean election
    any other live replica          only if `unclean.leader.election.enable`: some records are lost
    none                            the partition waits, and keeps its ISR

The order is that of the assignment, not of the ISR: so the preferred leader is elected if it can
be. The new ISR, and the candidates, depend on the reason for the election:

    OFFLINE        the leader is gone            the ISR keeps its live members
    PREFERRED      back to the first replica     the only candidate; the ISR stays
    REASSIGNMENT   the leader is removed         the ISR keeps the target replicas
    SHUTDOWN       the leader wants to stop      the ISR loses the brokers that want to stop
"""

from collections.abc import Callable, Collection, Sequence
from enum import Enum
from typing import NamedTuple

from engine.model import NO_BROKER


class Rule(Enum):
    """The reason for an election, which decides the candidates and the new ISR."""

    OFFLINE = "offline"
    PREFERRED = "preferred"
    REASSIGNMENT = "reassignment"
    SHUTDOWN = "shutdown"


class Elected(NamedTuple):
    """The result of an election; NO_BROKER if no replica may lead."""

    leader: int
    isr: tuple[int, ...]
    clean: bool = True


Elect = Callable[..., Elected]  # with the arguments of `elect`


def elect(
    replicas: Sequence[int],
    isr: Sequence[int],
    live: Collection[int],
    *,
    unclean: bool = False,
    rule: Rule = Rule.OFFLINE,
    stopping: Collection[int] = (),
) -> Elected:
    """Choose the leader and the ISR of a partition.

    `live` are the brokers that may lead, without those that are `stopping`.
    """
    stay: dict[Rule, Collection[int]] = {
        Rule.OFFLINE: live,
        Rule.PREFERRED: isr,
        Rule.REASSIGNMENT: replicas,
        Rule.SHUTDOWN: set(isr).difference(stopping),
    }
    candidates = replicas[:1] if rule is Rule.PREFERRED else replicas
    for replica in candidates:
        if replica in live and replica in isr:
            return Elected(replica, tuple(each for each in isr if each in stay[rule]))
    if unclean:
        for replica in candidates:
            if replica in live:
                return Elected(replica, (replica,), clean=False)
    return Elected(NO_BROKER, tuple(isr))
