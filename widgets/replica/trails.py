"""The lines of a partition: the end of each log, the high watermark, the last stable offset.

    lead  ━━━━━━━   solid, heavy      the leader
    sync  ───────   solid, thin       a follower in sync
    lag   ─ ─ ─ ─   dashed            a follower out of the ISR
    gone  · · · ·   dotted            it does not answer: its last known state
    high  ▬▬▬▬▬▬▬   amber, heaviest   the high watermark: it is below all of them
    lso   ━ · ━ ·   dash and dot      the last stable offset, once a transaction has held it back;
          ░░░░░░░   shaded            from it to the high watermark: read_committed waits

A line is horizontal without changes, and vertical at a change. It is one path for each time in
which the replica's state was the same; where it falls, the log was truncated.
"""

from collections.abc import Iterable
from typing import NamedTuple

from widgets.replica.layout import BOTTOM, STEM, ReplicaViewState
from widgets.replica.partition_history import Sample
from widgets.scene import SceneShape, group, line, path, text

LABEL = 16  # from one label to the next
WORDS = {"lead": "leader", "sync": "in sync", "lag": "out of sync"}


class Point(NamedTuple):
    """The height of a line from here on."""

    x: float
    y: float
    stands: str  # "": there is none


def trails(view: ReplicaViewState) -> list[SceneShape]:
    shapes = [*_held_back(view), *_high(view)]
    order = sorted(view.brokers, key=lambda it: it == view.now.state.leader)
    for broker in order:  # the leader's above the others
        shapes += _pieces(f"trail {broker}", _points(view, broker), view.x)
    return shapes + (_stable(view) if view.past.transactional else [])


def _high(view: ReplicaViewState) -> list[SceneShape]:
    points, last = [], None
    for x, sample in view.stairs:
        committed = sample.committed if sample.committed is not None else last
        last = committed
        if committed is not None:
            points.append(Point(x, view.offsets.y(committed), "high"))
    return _pieces("high watermark", points, view.x)


def _stable(view: ReplicaViewState) -> list[SceneShape]:
    points = [
        Point(x, view.offsets.y(sample.stable), "lso")
        for x, sample in view.stairs
        if sample.stable is not None
    ]
    return _pieces("last stable offset", points, view.x)


def _held_back(view: ReplicaViewState) -> list[SceneShape]:
    """The records that read_committed readers do not get yet."""
    stairs, drawn = view.stairs, ""
    ends = [x for x, _ in stairs[1:]] + [view.x]
    for (x, sample), end in zip(stairs, ends, strict=True):
        if sample.waits and sample.stable is not None and sample.committed is not None:
            low, high = map(view.offsets.y, (sample.stable, sample.committed))
            drawn += f"M{x:.0f} {high:.0f}H{end:.0f}V{low:.0f}H{x:.0f}z"
    return [path("held back", drawn, look="held-back still")] if drawn else []


def _points(view: ReplicaViewState, broker: int) -> list[Point]:
    found = []
    for x, sample in view.stairs:
        replica = sample.state.replicas.get(broker)
        if replica is not None:
            y = view.offset_y(replica.log_end, broker)
            found.append(Point(x, y, sample.stands(broker)))
        elif found:
            found.append(Point(x, found[-1].y, ""))
    return found


def _pieces(key: str, points: Iterable[Point], end: float) -> list[SceneShape]:
    """A path for each time in which the replica's state was the same."""
    shapes: list[SceneShape] = []
    drawn: list[str] = []
    last: Point | None = None  # the end of the path so far, and its state

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
    short: str  # where there is no room for the words
    stands: str


def named(view: ReplicaViewState) -> list[Label]:
    """What each line is at the head, from above."""
    sample, found = view.now, list[Label]()
    for broker in view.brokers:
        replica = sample.state.replicas.get(broker)
        if replica is not None:
            stands = sample.stands(broker)
            words = f"broker {broker} · {word(view, sample, broker)} · LEO {replica.log_end:,}"
            y = view.offset_y(replica.log_end, broker)
            found.append(Label(y, f"label {broker}", words, str(broker), stands))
    if sample.committed is not None:
        words = f"HW {sample.committed:,} · committed"
        y = view.offsets.y(sample.committed)
        found.append(Label(y, "label HW", words, "HW", "high"))
    if view.past.transactional and sample.stable is not None:
        words = f"LSO {sample.stable:,} · stable"
        y = view.offsets.y(sample.stable) + 0.1  # below the HW if both are the same
        found.append(Label(y, "label LSO", words, "LSO", "lso"))
    return sorted(found)


def labels(view: ReplicaViewState) -> list[SceneShape]:
    """A label at the end of each line, as near to it as the others allow."""
    found = named(view)
    ys = spread([label.y for label in found], LABEL)
    return [_label(view, label, y) for label, y in zip(found, ys, strict=True)]


def word(view: ReplicaViewState, sample: Sample, broker: int) -> str:
    """The state of a replica in a word; if it does not answer, the reason."""
    stands = sample.stands(broker)
    if stands != "gone":
        return WORDS[stands]
    known = broker in view.state.brokers and sample is view.now
    status = view.status(broker) if known else ""
    return status if status not in ("", "up") else "no answer"


def spread(wanted: list[float], apart: float) -> list[float]:
    """The positions with a minimum distance, each as near as possible to its own."""
    blocks: list[list[float]] = []  # each a run of labels that touch: their own positions
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


def _label(view: ReplicaViewState, label: Label, y: float) -> SceneShape:
    words = label.words if view.wide else label.short
    shapes = [
        line("stem", 3, label.y - y, 13, 0, look=f"trail {label.stands}"),
        text("words", STEM, 4, words, look=f"small name {label.stands}"),
    ]
    return group(label.key, view.x, y, shapes, look="still")
