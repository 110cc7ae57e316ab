"""A log as one ribbon: its segments to scale, the active one open at the right.

    base offset   0         4,711          9,204        13,377
                ┌╌╌╌╌╌╌┐ ┌───────────┐ ┌────────────┐ ┌────────
                ╎ gone ╎ │ compacted │ │   closed   │ │ active
                └╌╌╌╌╌╌┘ └───────────┘ └────────────┘ └────────
    index entries         ' '   '  '    '   ' '   '    '  '

Widths show bytes, with a minimum width. A log of many segments shows its first and last ones and
those that are asked for; the others are folded into one piece with their number. The narrower the
page, the more are folded.

Invariant: pieces never overlap, and together they have the width of the ribbon.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from widgets.log.segment_history import SegmentPiece, SegmentState
from widgets.scene import ABOUT, Act, SceneShape, fit, line, path, rect, text, width_of, wrap

LEFT = 16  # and as much is free at the right
TOP, HEIGHT = 50, 46
TICKS = TOP + HEIGHT + 3
BOTTOM = TICKS + 8
APART = 4  # pixels between two ticks at least


class Density(NamedTuple):
    """How many segments are drawn one by one, and how wide."""

    first: int  # segments that are never folded, at the start
    last: int  # and at the end
    least: float = 14  # the least width of a segment
    gone: float = 54  # the width of one that is gone; the least of the active one
    fold: float = 64  # the width of a fold
    gap: float = 4
    folds_gone: bool = False  # also what is gone is folded


DENSITIES = (  # the first that fits is taken
    *(Density(3, last) for last in (18, 14, 10, 7, 5)),
    *(Density(2, last, 12, 46) for last in (4, 3, 2)),
    Density(1, 1, 12, 40, 40, 3),
    Density(1, 1, 10, 36, 30, 3, folds_gone=True),
    Density(1, 1, 8, 24, 8, 2, folds_gone=True),
)

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


def slabs(
    pieces: Sequence[SegmentPiece], asked: Collection[int] = (), right: float = 944
) -> list[Slab]:
    """The position of each piece; `asked`: base offsets that must be visible."""
    for density in DENSITIES:
        groups = list(_folded(pieces, asked, density))
        room = right - LEFT - density.gap * (len(groups) - 1)
        if sum(_fixed(it, density) or _least(it, density) for it in groups) <= room:
            break
    fixed = {n: _fixed(group, density) for n, group in enumerate(groups)}
    shared = room - sum(fixed.values())
    sizes = {n: group[0].segment.size for n, group in enumerate(groups) if not fixed[n]}
    while sizes:  # small pieces get the minimum, and the others share the rest
        total = sum(sizes.values())
        least = {n: _least(groups[n], density) for n in sizes}
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
        x += width + density.gap
    return found


def _fixed(group: tuple[SegmentPiece, ...], density: Density) -> float:
    if len(group) > 1:
        return density.fold
    return 0 if group[0].state.there else density.gone


def _least(group: tuple[SegmentPiece, ...], density: Density) -> float:
    return density.gone if group[0].state is SegmentState.ACTIVE else density.least


def _folded(
    pieces: Sequence[SegmentPiece], asked: Collection[int], density: Density
) -> Iterator[tuple[SegmentPiece, ...]]:
    seen = {*range(density.first), *range(len(pieces) - density.last, len(pieces))}
    seen |= {n for n, it in enumerate(pieces) if it.segment.base_offset in asked}
    if not density.folds_gone:
        seen |= {n for n, it in enumerate(pieces) if not it.state.there}
    numbers = range(len(pieces))
    for shown, run in groupby(numbers, key=lambda n: n in seen):
        group = tuple(pieces[n] for n in run)
        if shown or len(group) == 1:
            yield from ((piece,) for piece in group)
        else:
            yield group


def draw(found: Sequence[Slab], facts: str = "", right: float = 944) -> list[SceneShape]:
    lines = wrap(facts, right - LEFT, 11) if facts else []
    shapes = [
        text(
            f"facts{row}" if row else "facts",
            LEFT,
            24 - 6 * len(lines) + 13 * row,
            part,
            look="soft",
        )
        for row, part in enumerate(lines)
    ]
    free = 0.0  # the end of the texts above the ribbon
    for slab in found:
        shapes += _fold(slab) if slab.is_fold else _piece(slab)
        base = f"{slab.piece.segment.base_offset:,}"
        width = width_of(base, 11)
        x = min(slab.x, right - width)
        if x >= free:
            key = f"b{slab.piece.segment.base_offset}"
            shapes.append(text(key, x, TOP - 12, base, look="tiny"))
            free = x + width + 8
    return shapes


def _fold(slab: Slab) -> list[SceneShape]:
    size = bytes_in_words(sum(piece.segment.size for piece in slab.pieces))
    count, middle = len(slab.pieces), slab.x + slab.width / 2
    label = f"{count} more segments, {size}"
    more = f"{count} more" if width_of(f"{count} more", 11) + 6 < slab.width else f"+{count}"
    shapes = [rect("fold", slab.x, TOP, slab.width, HEIGHT, 6, look="segment folded", label=label)]
    for row, (key, words) in enumerate((("foldn", more), ("folds", size))):
        if width_of(words, 11) + 4 < slab.width:
            y = TOP + 20 + 15 * row
            shapes.append(text(key, middle, y, words, ABOUT, look="tiny still"))
    return shapes


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
        least = min(width_of(said, 11), width_of(said[:6] + "…", 11))
        if said and least + 8 < width:
            shown, middle = fit(said, width - 8, 11), x + width / 2
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
