"""The texts below the picture and beside each broker, with the numbers of the recording."""

from typing import NamedTuple

from docs.site.failover_picture.failover import Failover
from docs.site.failover_picture.layout import CAUGHT_UP


class Caption(NamedTuple):
    start: float
    end: float
    says: str
    more: str


class RoleLabel(NamedTuple):
    start: float
    end: float
    words: str
    look: str


def captions_of(failover: Failover, end: float) -> list[Caption]:
    first, second = f"Broker {failover.first}", f"Broker {failover.second}"
    waited = (failover.elected - failover.killed) / 1000
    lines = [
        (0, "A producer writes with acks=all.",
         "A record counts as stored once every replica in sync has it."),
        (failover.killed, f"{first}, the leader, is killed.",
         "Its copies of the records are out of reach, and the producer waits."),
        (failover.killed + 1500, "Its session with ZooKeeper runs out.",
         "Until then nobody leads; then the controller, who has the crown, names another."),
        (failover.elected, f"{second} leads, {waited:.1f} s after the kill.",
         f"It has all {failover.kept} records that were stored: nothing is lost, "
         "and writing goes on."),
        (failover.started, f"{first} is started again.",
         f"It will follow {second.lower()}, and fetch what it missed."),
        (failover.whole + CAUGHT_UP, "All three are in sync again.",
         "Recorded on a real cluster, and shown as fast as it was."),
    ]  # fmt: skip
    ends = [start for start, *_ in lines[1:]] + [end]
    return [Caption(start, till, *rest) for (start, *rest), till in zip(lines, ends, strict=True)]


def roles(failover: Failover, broker: int, end: float) -> list[RoleLabel]:
    if broker == failover.first:
        return [
            RoleLabel(0, failover.killed, "leader", "role"),
            RoleLabel(failover.killed, failover.started, "killed", "bad"),
            RoleLabel(failover.started, failover.whole + CAUGHT_UP, "out of sync", "soft"),
            RoleLabel(failover.whole + CAUGHT_UP, end, "in sync", "soft"),
        ]
    if broker == failover.second:
        return [
            RoleLabel(0, failover.elected, "in sync", "soft"),
            RoleLabel(failover.elected, end, "leader", "role"),
        ]
    return [RoleLabel(0, end, "in sync", "soft")]


def summary(failover: Failover) -> str:
    """The description for screen readers."""
    return " ".join(f"{line.says} {line.more}" for line in captions_of(failover, failover.length))
