"""The lines of a partition: how long each log was, and how far it was committed.

    lead  ━━━━━━━   solid, heavy      the leader
    sync  ───────   solid, thin       a follower in sync
    lag   ─ ─ ─ ─   dashed            a follower out of the ISR
    gone  · · · ·   dotted            it does not answer: the last that was known
    high  ▬▬▬▬▬▬▬   amber, heaviest   the high watermark: it lies below all of them

A line goes level while nothing changes, and upright when something did. It is one path for each
stretch in which the replica stood the same; where it falls, the log was cut back.
"""

from collections.abc import Iterable
from typing import NamedTuple

from widgets.replica.past import Sample
from widgets.replica.plan import BOTTOM, Scenery
from widgets.scene import Shape, group, line, path, text

LABEL = 16  # from one label to the next
WORDS = {"lead": "leader", "sync": "in sync", "lag": "out of sync"}


class Point(NamedTuple):
    """From here on a line is at this height."""

    x: float
    y: float
    stands: str  # "": there is none


def trails(scenery: Scenery) -> list[Shape]:
    shapes = _high(scenery)
    order = sorted(scenery.brokers, key=lambda it: it == scenery.now.state.leader)
    for broker in order:  # the leader's above the others
        shapes += _pieces(f"trail {broker}", _points(scenery, broker), scenery.x)
    return shapes


def _high(scenery: Scenery) -> list[Shape]:
    points, last = [], None
    for x, sample in scenery.stairs:
        committed = sample.committed if sample.committed is not None else last
        last = committed
        if committed is not None:
            points.append(Point(x, scenery.offsets.y(committed), "high"))
    return _pieces("high watermark", points, scenery.x)


def _points(scenery: Scenery, broker: int) -> list[Point]:
    found = []
    for x, sample in scenery.stairs:
        replica = sample.state.replicas.get(broker)
        if replica is not None:
            y = scenery.offset_y(replica.log_end, broker)
            found.append(Point(x, y, sample.stands(broker)))
        elif found:
            found.append(Point(x, found[-1].y, ""))
    return found


def _pieces(key: str, points: Iterable[Point], end: float) -> list[Shape]:
    """A path for each stretch in which the replica stood the same."""
    shapes: list[Shape] = []
    drawn: list[str] = []
    last: Point | None = None  # where the pen is, and what it draws

    def lift(until: float) -> None:
        if last is not None and last.stands and drawn:
            drawn.append(f"H{until:.0f}")
            look = f"trail {last.stands} still"
            shapes.append(path(f"{key} {len(shapes)}", "".join(drawn), look=look))
        drawn.clear()

    for point in points:
        if last is None or point.stands != last.stands:
            lift(point.x)
            at = last.y if last and last.stands else point.y
            drawn.append(f"M{point.x:.0f} {at:.0f}V{point.y:.0f}")
        elif point.y != last.y:
            drawn.append(f"H{point.x:.0f}V{point.y:.0f}")
        last = point
    lift(end)
    return shapes


# -- labels -------------------------------------------------------------------------------------


class Label(NamedTuple):
    y: float  # of its line
    key: str
    words: str
    stands: str


def labels(scenery: Scenery) -> list[Shape]:
    """What each line is, at its end, as near to it as the others allow."""
    sample, found = scenery.now, list[Label]()
    for broker in scenery.brokers:
        replica = sample.state.replicas.get(broker)
        if replica is not None:
            stands = sample.stands(broker)
            words = f"broker {broker} · {word(scenery, sample, broker)} · LEO {replica.log_end:,}"
            y = scenery.offset_y(replica.log_end, broker)
            found.append(Label(y, f"label {broker}", words, stands))
    if sample.committed is not None:
        words = f"HW {sample.committed:,} · committed"
        found.append(Label(scenery.offsets.y(sample.committed), "label HW", words, "high"))
    found.sort()
    ys = spread([label.y for label in found], LABEL)
    return [_label(scenery, label, y) for label, y in zip(found, ys, strict=True)]


def word(scenery: Scenery, sample: Sample, broker: int) -> str:
    """How a replica stands, in a word; of one that does not answer, why."""
    stands = sample.stands(broker)
    if stands != "gone":
        return WORDS[stands]
    known = broker in scenery.state.brokers and sample is scenery.now
    status = scenery.status(broker) if known else ""
    return status if status not in ("", "up") else "no answer"


def spread(wanted: list[float], apart: float) -> list[float]:
    """The same in order, no two too close, each as near to where it should be as that allows."""
    blocks: list[list[float]] = []  # each a run of labels that touch: where they should be
    for y in wanted:
        blocks.append([y])
        while len(blocks) > 1 and _top(blocks[-1], apart) < (
            _top(blocks[-2], apart) + apart * len(blocks[-2])
        ):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    return [_top(block, apart) + apart * place for block in blocks for place in range(len(block))]


def _top(block: list[float], apart: float) -> float:
    height = apart * (len(block) - 1)
    return min(sum(block) / len(block) - height / 2, BOTTOM - height)


def _label(scenery: Scenery, label: Label, y: float) -> Shape:
    shapes = [
        line("stem", 3, label.y - y, 13, 0, look=f"trail {label.stands}"),
        text("words", 19, 4, label.words, look=f"small name {label.stands}"),
    ]
    return group(label.key, scenery.x, y, shapes, look="still")
