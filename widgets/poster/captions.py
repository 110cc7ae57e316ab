"""What is said below the poster, and beside each broker: in the numbers of the recording."""

from typing import NamedTuple

from widgets.poster.plan import CAUGHT_UP
from widgets.poster.tale import Tale


class Caption(NamedTuple):
    start: float
    end: float
    says: str
    more: str


class Role(NamedTuple):
    start: float
    end: float
    words: str
    look: str


def told(tale: Tale, end: float) -> list[Caption]:
    first, second = f"Broker {tale.first}", f"Broker {tale.second}"
    waited = (tale.elected - tale.killed) / 1000
    lines = [
        (0, "A producer writes with acks=all.",
         "A record counts as stored once every replica in sync has it."),
        (tale.killed, f"{first}, the leader, is killed.",
         "Its copies of the records are out of reach, and the producer waits."),
        (tale.killed + 1500, "Its session with ZooKeeper runs out.",
         "Until then nobody leads; then the controller, who has the crown, names another."),
        (tale.elected, f"{second} leads, {waited:.1f} s after the kill.",
         f"It has all {tale.kept} records that were stored: nothing is lost, and writing goes on."),
        (tale.started, f"{first} is started again.",
         f"It will follow {second.lower()}, and fetch what it missed."),
        (tale.whole + CAUGHT_UP, "All three are in sync again.",
         "Recorded on a real cluster, and shown as fast as it was."),
    ]  # fmt: skip
    ends = [start for start, *_ in lines[1:]] + [end]
    return [Caption(start, till, *rest) for (start, *rest), till in zip(lines, ends, strict=True)]


def roles(tale: Tale, broker: int, end: float) -> list[Role]:
    if broker == tale.first:
        return [
            Role(0, tale.killed, "leader", "role"),
            Role(tale.killed, tale.started, "killed", "bad"),
            Role(tale.started, tale.whole + CAUGHT_UP, "out of sync", "soft"),
            Role(tale.whole + CAUGHT_UP, end, "in sync", "soft"),
        ]
    if broker == tale.second:
        return [Role(0, tale.elected, "in sync", "soft"), Role(tale.elected, end, "leader", "role")]
    return [Role(0, end, "in sync", "soft")]


def summary(tale: Tale) -> str:
    """For who does not see it."""
    return " ".join(f"{line.says} {line.more}" for line in told(tale, tale.length))
