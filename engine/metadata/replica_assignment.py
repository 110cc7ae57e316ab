"""The replicas of a partition, also while they move. Both kinds of controllers use these steps.

from 1,2,3 to 4,5,6     replicas 4,5,6,1,2,3   adding 4,5,6   removing 1,2,3
done                    replicas 4,5,6
cancelled               replicas 1,2,3
"""

from typing import NamedTuple


class ReplicaAssignment(NamedTuple):
    """The brokers of a partition. The first replica is the preferred leader."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()  # by a reassignment
    removing: tuple[int, ...] = ()  # by a reassignment


def origin(assigned: ReplicaAssignment) -> tuple[int, ...]:
    """The replicas before the move, without those that were removed already."""
    return without(assigned.replicas, assigned.adding)


def target(assigned: ReplicaAssignment) -> tuple[int, ...]:
    return without(assigned.replicas, assigned.removing)


def toward(assigned: ReplicaAssignment, to: tuple[int, ...]) -> ReplicaAssignment:
    """The replicas during the move: the target replicas first, in the requested order."""
    before = origin(assigned)
    every = tuple(dict.fromkeys((*to, *before)))
    return ReplicaAssignment(every, without(every, before), without(every, to))


def is_moving(assigned: ReplicaAssignment) -> bool:
    return bool(assigned.adding or assigned.removing)


def without(brokers: tuple[int, ...], others: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(each for each in brokers if each not in others)
