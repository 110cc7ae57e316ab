"""Who leads a partition: the first replica, in the order of the assignment, that may.

    a live replica in the ISR       has every committed record: a clean election
    any other live replica          only if `unclean.leader.election.enable`: what it lacks is lost
    nobody                          the partition waits, and keeps its ISR for when they return

The order is that of the assignment, not of the ISR: so the preferred leader wins where it can.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

NOBODY = -1


class Elected(NamedTuple):
    leader: int
    isr: tuple[int, ...]
    clean: bool = True


def elect(
    replicas: Sequence[int], isr: Sequence[int], live: Collection[int], *, unclean: bool
) -> Elected:
    in_sync = tuple(replica for replica in isr if replica in live)
    for replica in replicas:
        if replica in in_sync:
            return Elected(replica, in_sync)
    if unclean:
        for replica in replicas:
            if replica in live:
                return Elected(replica, (replica,), clean=False)
    return Elected(NOBODY, tuple(isr))
