"""A log as one ribbon: its segments to scale, the active one open at the right.

    base offset   0         4,711          9,204        13,377
                ┌╌╌╌╌╌╌┐ ┌───────────┐ ┌────────────┐ ┌────────
                ╎ gone ╎ │ compacted │ │   closed   │ │ active
                └╌╌╌╌╌╌┘ └───────────┘ └────────────┘ └────────
    index entries         ' '   '  '    '   ' '   '    '  '

Widths show bytes, with a minimum width. A log of many segments shows its first and last ones and
those that are asked for; the others are folded into one piece with their number.

Invariant: pieces never overlap, and together they have the width of the ribbon.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from widgets.log.segment_history import SegmentPiece, SegmentState
from widgets.scene import ABOUT, Act, SceneShape, fit, line, path, rect, text, width_of

LEFT, RIGHT = 16, 944
GAP = 4
LEAST, GONE, FOLD = 14, 54, 64  # widths: the least, of what is gone (or active), of a fold
FIRST, LAST = 3, 18  # segments that are never folded
TOP, HEIGHT = 50, 46
TICKS = TOP + HEIGHT + 3
BOTTOM = TICKS + 8
APART = 4  # pixels between two ticks at least

LOOKS = {
    SegmentState.ACTIVE: "segment open",
    SegmentState.CLOSED: "segment closed",
    SegmentState.COMPACTED: "segment squeezed",
    SegmentState.DELETED: "segment gone",
    SegmentState.MERGED: "segment gone",
    SegmentState.CUT: "segment gone",
}
SHORT = {
    SegmentState.DELETED: "deleted",
    SegmentState.MERGED: "merged",
    SegmentState.CUT: "cut off",
}


class Slab(NamedTuple):
    """A piece, or several that are folded, and its position."""

    x: float
    width: float
    pieces: tuple[SegmentPiece, ...]

    @property
    def piece(self) -> SegmentPiece:
        return self.pieces[0]

    @property
    def is_fold(self) -> bool:
        return len(self.pieces) > 1

    @property
    def end(self) -> float:
        return self.x + self.width


def bytes_in_words(size: float) -> str:
    for unit in ("B", "KB", "MB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GB"


def slabs(pieces: Sequence[SegmentPiece], asked: Collection[int] = ()) -> list[Slab]:
    """The position of each piece; `asked`: base offsets that must be visible."""
    groups = list(_folded(pieces, asked))
    room = RIGHT - LEFT - GAP * (len(groups) - 1)
    fixed = {n: _fixed(group) for n, group in enumerate(groups)}
    shared = room - sum(fixed.values())
    sizes = {n: group[0].segment.size for n, group in enumerate(groups) if not fixed[n]}
    while sizes:  # small pieces get the minimum, and the others share the rest
        total = sum(sizes.values())
        least = {n: _least(groups[n]) for n in sizes}
        small = [n for n, size in sizes.items() if shared * size < least[n] * max(total, 1)]
        if not small or len(small) == len(sizes):
            break
        shared -= sum(least[n] for n in small)
        fixed |= {n: least[n] for n in small}
        sizes = {n: size for n, size in sizes.items() if n not in small}
    total = sum(sizes.values())
    found, x = [], float(LEFT)
    for n, group in enumerate(groups):
        share = shared * sizes[n] / total if n in sizes and total else shared / max(len(sizes), 1)
        width = fixed[n] or share
        found.append(Slab(x, width, group))
        x += width + GAP
    return found


def _fixed(group: tuple[SegmentPiece, ...]) -> float:
    if len(group) > 1:
        return FOLD
    return 0 if group[0].state.there else GONE


def _least(group: tuple[SegmentPiece, ...]) -> float:
    return GONE if group[0].state is SegmentState.ACTIVE else LEAST


def _folded(
    pieces: Sequence[SegmentPiece], asked: Collection[int]
) -> Iterator[tuple[SegmentPiece, ...]]:
    seen = {*range(FIRST), *range(len(pieces) - LAST, len(pieces))}
    seen |= {n for n, it in enumerate(pieces) if it.segment.base_offset in asked}
    seen |= {n for n, it in enumerate(pieces) if not it.state.there}
    numbers = range(len(pieces))
    for shown, run in groupby(numbers, key=lambda n: n in seen):
        group = tuple(pieces[n] for n in run)
        if shown or len(group) == 1:
            yield from ((piece,) for piece in group)
        else:
            yield group


def draw(found: Sequence[Slab], facts: str = "") -> list[SceneShape]:
    shapes = [text("facts", LEFT, 18, facts, look="soft")] if facts else []
    free = 0.0  # the end of the texts above the ribbon
    for slab in found:
        shapes += _fold(slab) if slab.is_fold else _piece(slab)
        base = f"{slab.piece.segment.base_offset:,}"
        width = width_of(base, 10)
        x = min(slab.x, RIGHT - width)
        if x >= free:
            key = f"b{slab.piece.segment.base_offset}"
            shapes.append(text(key, x, TOP - 12, base, look="tiny"))
            free = x + width + 8
    return shapes


def _fold(slab: Slab) -> list[SceneShape]:
    size = bytes_in_words(sum(piece.segment.size for piece in slab.pieces))
    label, middle = f"{len(slab.pieces)} more segments, {size}", slab.x + slab.width / 2
    return [
        rect("fold", slab.x, TOP, slab.width, HEIGHT, 6, look="segment folded", label=label),
        text("foldn", middle, TOP + 20, f"{len(slab.pieces)} more", ABOUT, look="tiny still"),
        text("folds", middle, TOP + 35, size, ABOUT, look="tiny still"),
    ]


def _piece(slab: Slab) -> list[SceneShape]:
    (segment, state, was), base = slab.piece, slab.piece.segment.base_offset
    look, label = LOOKS[state], _label(slab.piece)
    acts = (Act("open_segment", str(base), "open in hex"),) if state.there else ()
    known = {"look": look, "label": label, "acts": acts}
    x, width = slab.x, slab.width
    if state is SegmentState.ACTIVE:
        drawn = f"M{width:.0f} 0H6Q0 0 0 6V{HEIGHT - 6}Q0 {HEIGHT} 6 {HEIGHT}H{width:.0f}"
        shapes = [path(f"s{base}", drawn, x, TOP, **known)]
    else:
        shapes = [rect(f"s{base}", x, TOP, width, HEIGHT, min(6, width / 3), **known)]
    if state is SegmentState.COMPACTED and was:
        left = max(width * segment.size / was, 2)
        shapes.append(
            line(f"q{base}", x, TOP + HEIGHT - 3, x + left, TOP + HEIGHT - 3, look="kept")
        )
    words = SHORT.get(state, state.value)
    size = bytes_in_words(segment.size)
    if state is SegmentState.COMPACTED and was:
        size = f"{size} of {bytes_in_words(was)}"
    for row, said in enumerate((words, size if state.there else "")):
        if said and width_of(said[:6], 10) + 8 < width:
            shown, middle = fit(said, width - 6, 10), x + width / 2
            shapes.append(
                text(f"w{row}{base}", middle, TOP + 20 + 15 * row, shown, ABOUT, look="tiny still")
            )
    if state.there:
        shapes += _ticks(slab)
    return shapes


def _label(piece: SegmentPiece) -> str:
    segment, state, was = piece
    label = f"segment {segment.base_offset:,}: {state.value}, {bytes_in_words(segment.size)}"
    if was:
        label += f", {bytes_in_words(was)} before it was compacted"
    if state.there:
        label += f", {len(segment.offsets):,} index entries"
    return label


def _ticks(slab: Slab) -> list[SceneShape]:
    """The positions in the index; of many entries, only as many as fit."""
    segment = slab.piece.segment
    entries = segment.offsets
    step = max(1, -(-len(entries) * APART // int(max(slab.width, 1))))
    places = [slab.width * position / max(segment.size, 1) for _, position in entries[::step]]
    if not places:
        return []
    drawn = "".join(f"M{place:.0f} 0v6" for place in places if 0 <= place <= slab.width)
    return [path(f"t{segment.base_offset}", drawn, slab.x, TICKS, look="tick")]
