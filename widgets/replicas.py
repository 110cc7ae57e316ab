"""The replicas on one broker, in as much detail as there is room for.

    rows     orders-1 [L] ▮▮▮▮▮▮▯▯ 118     a cell is some records; paler: not committed yet
    lean     1 [L] ▮▮▯ 118                 in a narrow card; the topic is named once, above; where
                                           it has one partition, with its number
    cells    [ 0]━━ [ 1]━━ [ 2]━           for up to sixty partitions
    counts   leads 334, in sync 640 ...    for a thousand, topic by topic

    filled: leader      outlined: follower in sync      dashed: out of sync

The cells of all replicas of a partition show the same offsets, so the picture shows which replica
is behind.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from engine.cluster.state import PartitionState, ReplicaState
from engine.model import TopicPartition
from widgets.scene import UP_TO, SceneShape, chip, fit, group, path, rect, text, width_of

ROWS = 12  # partitions with a line of their own
TALLIED = 150  # the least width of a card that counts leaders and replicas of a topic
ROW, CELL_HEIGHT = 26, 17
NAME = 11.5  # size of a partition's name
CELLS, CELL = 8, 11
FEWEST = 5  # cells of a line that names its topic
BADGE, COUNT = 26, 28  # widths
NARROWEST = 172  # a card with lines that name their topic
LINE, LEAN = 18, 24  # heights of a topic's name, and of a partition below it
NUMBER = 14  # width of a partition's number before its badge
LETTERED = 92  # the least width of a line with both; a narrower one has the number in the badge
MINI = 48  # width of a small cell, with its bar
HIGHEST = 430  # of a card's content; beyond it, counts are shown
COUNTED = 8  # topics that are listed
SHORTEST = 20  # a bar that tells something

Partitions = Mapping[TopicPartition, PartitionState]


@dataclass(frozen=True, slots=True)
class Window:
    """The offsets of a partition's cells."""

    first: int
    unit: int  # records in a cell
    cells: int = CELLS

    @classmethod
    def over(cls, state: PartitionState, cells: int = CELLS) -> "Window":
        """The smallest round unit that shows the slowest and the fastest replica together."""
        ends = [it.log_end for it in state.replicas.values()] or [0]
        marks = [it.high_watermark for it in state.replicas.values()] or [0]
        last, least = max(ends), min(*ends, *marks)
        unit, factors = 1, [2, 2.5, 2]
        while (last - least) > max(cells - 3, 1) * unit:
            unit = int(unit * factors[0])
            factors = [*factors[1:], factors[0]]
        return cls(max(0, -(-last // unit) - (cells - 1)) * unit, unit, cells)

    def x(self, offset: int) -> float:
        """The x of an offset; the gap between cells belongs to the one before."""
        return CELL * min(max((offset - self.first) / self.unit, 0), self.cells)


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
    """rows, lean, cells or counts"""
    if len(partitions) <= ROWS:
        return "rows" if width >= NARROWEST else "lean"
    return "cells" if _cells_height(partitions, width) <= HIGHEST else "counts"


def height(partitions: Partitions, width: float) -> float:
    match density(partitions, width):
        case "rows":
            return ROW * max(len(partitions), 1)
        case "lean":
            return max(LINE * len(_by_topic(partitions)) + LEAN * len(partitions), LEAN)
        case "cells":
            return _cells_height(partitions, width)
        case _:
            return 74 + 17 * (min(len(_by_topic(partitions)), COUNTED) + 1)


def drawn(number: int, partitions: Partitions, width: float) -> list[SceneShape]:
    """The content of a broker's card, from its origin on."""
    draw = {"rows": _rows, "lean": _lean, "cells": _cells, "counts": _counts}[
        density(partitions, width)
    ]
    return draw(number, partitions, width)


# -- one line a partition -----------------------------------------------------------------------


def _rows(number: int, partitions: Partitions, width: float) -> list[SceneShape]:
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
) -> list[SceneShape]:
    count = int(min(max((width - COUNT - BADGE - 60) // CELL, FEWEST), CELLS))
    cells = width - COUNT - count * CELL  # where they begin
    badge = cells - BADGE
    role = role_of(number, state, state.replicas[number])
    return [
        text("name", 0, 11.5, _name(partition, badge - 4), look="small"),
        chip("role", (badge, 0), (20, 15), LETTERS[role], look=role),
        *_bar(state, number, cells, count),
        text("end", width, 11.5, _count(state.replicas[number].log_end), UP_TO, look="soft"),
    ]


def _bar(state: PartitionState, number: int, x: float, count: int) -> list[SceneShape]:
    """The cells of a replica, and the high watermark in them."""
    replica, window = state.replicas[number], Window.over(state, count)
    bar = f"cells {BARS[role_of(number, state, replica)]}"
    end, mark = window.x(replica.log_end), window.x(min(replica.high_watermark, replica.log_end))
    shapes = [
        path("empty", f"M0 7.5h{count * CELL - 2}", x, look="cells empty"),
        path("committed", f"M0 7.5h{max(mark - 2, 0):g}", x, look=bar),
        path("mark", "M0 -3v21M-3.5 -4h7l-3.5 5z", x + mark - 1, 0, look="watermark"),
    ]
    if end > mark:  # drawn below the committed ones, which grow with the high watermark
        shapes.insert(1, path("written", f"M0 7.5h{end - 2:g}", x, look=f"{bar} written"))
    return shapes


def _lean(number: int, partitions: Partitions, width: float) -> list[SceneShape]:
    """A line a partition, as narrow as it can be."""
    shapes: list[SceneShape] = []
    y = 0.0
    for topic, members in _by_topic(partitions).items():
        alone = len(members) == 1  # its number stands with the topic
        left = 0 if alone or width < LETTERED else NUMBER
        count = int(min(max((width - COUNT - BADGE - 2 - left) // CELL, 2), CELLS))
        if any(number in partitions[it].replicas for it in members):
            words = _name(members[0], width) if alone else fit(topic, width, 11)
            shapes.append(text(topic, 0, y + 9, words, look="soft"))
        y += LINE
        for partition in members:
            state = partitions[partition]
            replica = state.replicas.get(number)
            if replica is not None:
                role, own = role_of(number, state, replica), str(partition.partition)
                badge = LETTERS[role] if left or alone else own
                inside = [
                    chip("role", (left, 0), (22, 15), badge, look=role),
                    *_bar(state, number, left + BADGE, count),
                    text("end", width, 11.5, _count(replica.log_end), UP_TO, look="soft"),
                ]
                if left:
                    inside.insert(0, text("number", 0, 11.5, own, look="soft"))
                label = described(partition, role, replica)
                shapes.append(group(str(partition), 0, y, inside, label=label))
            y += LEAN
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


def _cells(number: int, partitions: Partitions, width: float) -> list[SceneShape]:
    columns, y = _columns(width), 0.0
    shapes: list[SceneShape] = []
    for topic, members in _by_topic(partitions).items():
        shapes.append(text(topic, 0, y + 9, fit(topic, width, 11), look="soft"))
        cells: list[SceneShape] = []
        for place, partition in enumerate(members):
            if number in partitions[partition].replicas:
                x, below = place % columns * MINI, place // columns * CELL_HEIGHT
                cells.append(_cell(partition, partitions[partition], number, x, below))
        shapes.append(group(f"{topic} cells", 0, y + 16, cells))
        y += 16 + CELL_HEIGHT * -(-len(members) // columns) + 4
    return shapes


def _cell(
    partition: TopicPartition, state: PartitionState, number: int, x: int, y: int
) -> SceneShape:
    """One shape with a short key, since there are many of them."""
    replica, window = state.replicas[number], Window.over(state)
    role, scale = role_of(number, state, replica), (MINI - 31) / (CELL * CELLS)
    end, mark = (round(window.x(it) * scale) for it in (replica.log_end, replica.high_watermark))
    bar = (mark, max(end - mark, 0)) if end > mark else (mark,) if mark else ()
    key, label = str(partition.partition), described(partition, role, replica)
    return chip(key, (x, y), (25, 14), key, *bar, look=role, label=label)


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


def _counts(number: int, partitions: Partitions, width: float) -> list[SceneShape]:
    counts = tally(number, partitions)
    counts["out"] += counts["offline"]
    whole = max(len(partitions), 1)
    shapes: list[SceneShape] = []
    for place, (role, words, look) in enumerate(TALLIES):
        y, room = 22 * place, width - 110
        label = f"broker {number}: {words} {counts[role]} of {whole} partitions"
        bar = [
            text("words", 0, 11.5, words),
            text("count", min(104, width), 11.5, str(counts[role]), UP_TO, look="bold"),
        ]
        if room >= SHORTEST:
            length = room * counts[role] / whole
            bar.append(rect("all", 110, 1, room, 12, 2, look="rule"))
            bar.append(path("bar", f"M110 7h{length:.1f}", look=f"{look} tally"))
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
