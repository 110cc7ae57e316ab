"""The replicas on one broker, in as much detail as there is room for.

    rows     orders-1 [L] ▮▮▮▮▮▮▯▯ 118     a cell is so many records; paler: not committed yet
    cells    [ 0]━━ [ 1]━━ [ 2]━           sixty partitions at a glance
    counts   leads 334, in sync 640 ...    a thousand, topic by topic

    filled: leader      outlined: follower in sync      dashed: out of sync

The cells of all replicas of a partition show the same offsets, so that who is behind is seen.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from engine.cluster.state import PartitionState, ReplicaState
from engine.model import TopicPartition
from widgets.scene import UP_TO, Shape, chip, fit, group, path, rect, text, width_of

ROWS = 12  # partitions with a line of their own
TALLIED = 150  # so wide a card must be to tell of a topic what is led and what is here
ROW, CELL_HEIGHT = 26, 17
NAME = 11.5  # size of a partition's name
CELLS, CELL = 8, 11
NARROWEST = 190  # a card with lines
MINI = 48  # width of a small cell, with its bar
HIGHEST = 430  # of a card's content, before it counts instead
COUNTED = 8  # topics, in words

Partitions = Mapping[TopicPartition, PartitionState]


@dataclass(frozen=True, slots=True)
class Window:
    """Which offsets the cells of a partition stand for."""

    first: int
    unit: int  # records in a cell

    @classmethod
    def over(cls, state: PartitionState) -> "Window":
        """The smallest round unit that shows the slowest and the fastest replica together."""
        ends = [it.log_end for it in state.replicas.values()] or [0]
        marks = [it.high_watermark for it in state.replicas.values()] or [0]
        last, least = max(ends), min(*ends, *marks)
        unit, factors = 1, [2, 2.5, 2]
        while (last - least) > (CELLS - 3) * unit:
            unit = int(unit * factors[0])
            factors = [*factors[1:], factors[0]]
        return cls(max(0, -(-last // unit) - (CELLS - 1)) * unit, unit)

    def x(self, offset: int) -> float:
        """Where an offset begins; the gap between cells belongs to the one before."""
        return CELL * min(max((offset - self.first) / self.unit, 0), CELLS)


def role_of(number: int, state: PartitionState, replica: ReplicaState) -> str:
    if replica.role == "offline":
        return "offline"
    if state.leader == number:
        return "leader"
    return "follower" if number in state.isr else "out"


LETTERS = {"leader": "L", "follower": "F", "out": "F", "offline": "×"}
BARS = {"leader": "lead", "follower": "sync", "out": "lag", "offline": "lag"}
WORDS = {
    "leader": "leader",
    "follower": "in sync",
    "out": "out of sync",
    "offline": "its disk is offline",
}


def described(partition: TopicPartition, role: str, replica: ReplicaState) -> str:
    return f"{partition}: {WORDS[role]}, end {replica.log_end}, committed {replica.high_watermark}"


def density(partitions: Partitions, width: float) -> str:
    """rows, cells or counts"""
    if len(partitions) <= ROWS and width >= NARROWEST:
        return "rows"
    return "cells" if _cells_height(partitions, width) <= HIGHEST else "counts"


def height(partitions: Partitions, width: float) -> float:
    match density(partitions, width):
        case "rows":
            return ROW * max(len(partitions), 1)
        case "cells":
            return _cells_height(partitions, width)
        case _:
            return 74 + 17 * (min(len(_by_topic(partitions)), COUNTED) + 1)


def drawn(number: int, partitions: Partitions, width: float) -> list[Shape]:
    """What stands on a broker's card, from its origin on."""
    draw = {"rows": _rows, "cells": _cells, "counts": _counts}[density(partitions, width)]
    return draw(number, partitions, width)


# -- one line a partition -----------------------------------------------------------------------


def _rows(number: int, partitions: Partitions, width: float) -> list[Shape]:
    return [
        group(
            str(partition),
            0,
            ROW * place,
            _row(partition, state, number, width),
            label=described(partition, role_of(number, state, it), it),
        )
        for place, (partition, state) in enumerate(partitions.items())
        if (it := state.replicas.get(number)) is not None
    ]


def _row(
    partition: TopicPartition, state: PartitionState, number: int, width: float
) -> list[Shape]:
    replica, window = state.replicas[number], Window.over(state)
    role = role_of(number, state, replica)
    cells = width - 28 - CELLS * CELL  # where they begin
    badge = cells - 26
    end, mark = window.x(replica.log_end), window.x(min(replica.high_watermark, replica.log_end))
    bar = f"cells {BARS[role]}"
    shapes = [
        text("name", 0, 11.5, _name(partition, badge - 4), look="small"),
        chip("role", (badge, 0), (20, 15), LETTERS[role], look=role),
        path("empty", f"M0 7.5h{CELLS * CELL - 2}", cells, look="cells empty"),
        path("committed", f"M0 7.5h{max(mark - 2, 0):g}", cells, look=bar),
        path("mark", "M0 -3v21M-3.5 -4h7l-3.5 5z", cells + mark - 1, 0, look="watermark"),
        text("end", width, 11.5, _count(replica.log_end), UP_TO, look="soft"),
    ]
    if end > mark:  # below the committed ones, of which more is seen as the mark moves on
        pale = path("written", f"M0 7.5h{end - 2:g}", cells, look=f"{bar} written")
        shapes.insert(4, pale)
    return shapes


def _name(partition: TopicPartition, width: float) -> str:
    """The partition's number is never cut off."""
    tail = f"-{partition.partition}"
    return fit(partition.topic, width - width_of(tail, NAME), NAME) + tail


def _count(number: int) -> str:
    for size, letter in ((1_000_000, "M"), (10_000, "k")):
        if number >= size:
            return f"{number / min(size, 1000 if letter == 'k' else size):.3g}{letter}"
    return str(number)


# -- one cell a partition -----------------------------------------------------------------------


def _by_topic(partitions: Partitions) -> dict[str, list[TopicPartition]]:
    topics: dict[str, list[TopicPartition]] = {}
    for partition in partitions:
        topics.setdefault(partition.topic, []).append(partition)
    return topics


def _columns(width: float) -> int:
    return max(int(width // MINI), 1)


def _cells_height(partitions: Partitions, width: float) -> float:
    columns = _columns(width)
    lines = [-(-len(each) // columns) for each in _by_topic(partitions).values()]
    return sum(16 + CELL_HEIGHT * count + 4 for count in lines)


def _cells(number: int, partitions: Partitions, width: float) -> list[Shape]:
    columns, y = _columns(width), 0.0
    shapes: list[Shape] = []
    for topic, members in _by_topic(partitions).items():
        shapes.append(text(topic, 0, y + 9, fit(topic, width, 11), look="soft"))
        cells: list[Shape] = []
        for place, partition in enumerate(members):
            if number in partitions[partition].replicas:
                x, below = place % columns * MINI, place // columns * CELL_HEIGHT
                cells.append(_cell(partition, partitions[partition], number, x, below))
        shapes.append(group(f"{topic} cells", 0, y + 16, cells))
        y += 16 + CELL_HEIGHT * -(-len(members) // columns) + 4
    return shapes


def _cell(partition: TopicPartition, state: PartitionState, number: int, x: int, y: int) -> Shape:
    """One shape with a short key, for there are many of them."""
    replica, window = state.replicas[number], Window.over(state)
    role, scale = role_of(number, state, replica), (MINI - 30) / (CELL * CELLS)
    end, mark = (round(window.x(it) * scale) for it in (replica.log_end, replica.high_watermark))
    bar = (mark, max(end - mark, 0)) if end > mark else (mark,) if mark else ()
    key, label = str(partition.partition), described(partition, role, replica)
    return chip(key, (x, y), (23, 13), key, *bar, look=role, label=label)


# -- counts -------------------------------------------------------------------------------------

TALLIES = (
    ("leader", "leads", "cells lead"),
    ("follower", "in sync", "cells sync"),
    ("out", "out of sync", "cells lag"),
)


def tally(number: int, partitions: Partitions) -> dict[str, int]:
    """How many replicas of each role a broker has."""
    counts = dict.fromkeys(LETTERS, 0)
    for state in partitions.values():
        replica = state.replicas.get(number)
        if replica is not None:
            counts[role_of(number, state, replica)] += 1
    return counts


def _counts(number: int, partitions: Partitions, width: float) -> list[Shape]:
    counts = tally(number, partitions)
    counts["out"] += counts["offline"]
    whole = max(len(partitions), 1)
    shapes: list[Shape] = []
    for place, (role, words, look) in enumerate(TALLIES):
        y, length = 22 * place, (width - 110) * counts[role] / whole
        label = f"broker {number}: {words} {counts[role]} of {whole} partitions"
        bar = [
            text("words", 0, 11.5, words),
            text("count", 104, 11.5, str(counts[role]), UP_TO, look="bold"),
            rect("all", 110, 1, width - 110, 12, 2, look="rule"),
            path("bar", f"M110 7h{length:.1f}", look=f"{look} tally"),
        ]
        shapes.append(group(role, 0, y, bar, label=label))
    topics = _by_topic(partitions)
    for place, topic in enumerate(list(topics)[:COUNTED]):
        own = tally(number, {it: partitions[it] for it in topics[topic]})
        led, here = f"{own['leader']} led", f"{sum(own.values())} here"
        words = f"{led} · {here}" if width >= TALLIED else here
        y = 86 + 17 * place
        room = width - width_of(words, 11) - 8
        shapes.append(text(topic, 0, y, fit(topic, room, 11), look="soft"))
        shapes.append(text(f"{topic} led", width, y, words, UP_TO, look="soft"))
    if len(topics) > COUNTED:
        words = f"and {len(topics) - COUNTED} topics more"
        y = 86 + 17 * COUNTED
        shapes.append(text("more topics", 0, y, words, look="soft"))
    return shapes
