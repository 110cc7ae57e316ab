"""Answers to the exercises of 04_streams. Try them yourself first; there are others."""

from collections.abc import Mapping, Sequence

from streams import stand
from streams.exercises import SEATS, Paper

from engine import Cluster


def seats(cluster: Cluster) -> None:
    """A table is a topic whose last record of each key counts."""
    cluster.admin.create_topic(SEATS, 1, 1, {"cleanup.policy": "compact"})
    moves = [("Mei", "terrace"), ("Tom", "garden"), ("Lisi", "window"), ("Tom", "bar")]
    stand.send(cluster, SEATS, [*moves, ("Lisi", None)])


def fold(changes: Sequence[tuple[str, int | None]]) -> dict[str, int]:
    table: dict[str, int] = {}
    for key, value in changes:
        if value is None:
            table.pop(key, None)
        else:
            table[key] = value
    return table


def changes(before: Mapping[str, int], after: Mapping[str, int]) -> list[tuple[str, int | None]]:
    found = []
    for key in sorted(before.keys() | after.keys()):
        if before.get(key) != after.get(key):
            found.append((key, after.get(key)))
    return found


def windows(at: int, size: int, every: int) -> list[int]:
    return [start for start in range(0, at + 1, every) if start <= at < start + size]


def late(batches: Sequence[Sequence[int]], delay: int) -> list[int]:
    found, newest = [], None
    for batch in batches:
        for at in batch:
            if newest is not None and at < newest - delay:
                found.append(at)
        for at in batch:
            newest = at if newest is None else max(newest, at)
    return found


def publish(epoch: int, rows: Sequence[str], topic: Paper) -> None:
    """What is there of this epoch is there in order, so its number says where to go on."""
    done = sum(number == epoch for number, _ in topic.read())
    for row in rows[done:]:
        topic.write(epoch, row)


def thirsty() -> str:
    return """
        SELECT guest, sum(cups) AS cups FROM orders WHERE tea = 'oolong'
        GROUP BY guest HAVING sum(cups) > 2 ORDER BY cups DESC
    """
