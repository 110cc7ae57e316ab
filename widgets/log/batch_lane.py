"""The newest batches of a log, if some are transactional: what a read_committed consumer gets.

    ┌────┐ ┌────┐ ┌╲───┐ ┌───────╲  ┌────┐ ┌────────╲  ┌┄┄┄┄┐
    │ 12 │ │ 13 │ │ 14 ╲ │ 15     ╲ │ 16 │ │ 17      ╲ ┆ 18 ┆     a cell for each batch; the width
    │    │ │ ✓  │ │skip│ │ ABORT  ╱ │ ✓  │ │ COMMIT  ╱ ┆open┆     does not show bytes
    └────┘ └────┘ └───╲┘ └───────╱  └────┘ └────────╱  └┄┄┄┄┘
    plain  commit. aborted  marker                       open

Invariant: the newest batch is at the right; only whole cells are drawn.
"""

from collections.abc import Sequence

from widgets.log.ribbon import LEFT
from widgets.log.transactions import BatchFate, FatedBatch
from widgets.scene import ABOUT, UP_TO, Act, SceneShape, group, path, rect, text, width_of
from widgets.text_column import TextColumn

MOST = 32  # batches that are looked at
TOP, HEIGHT, GAP = 28, 40, 5
LEAST, POINT = 34, 9  # of a cell's width; the length of a marker's point
LINE = 15
LOOKS = {
    BatchFate.PLAIN: "folded",
    BatchFate.OPEN: "slow",
    BatchFate.COMMITTED: "hop",
    BatchFate.ABORTED: "offline",
    BatchFate.COMMIT: "segment squeezed",
    BatchFate.ABORT: "offline",
}
WORDS = {BatchFate.OPEN: "open", BatchFate.COMMITTED: "✓", BatchFate.ABORTED: "skip"}
NAME = "The newest batches, for a reader with read_committed"
SIGNS = (
    "✓: committed. skip: aborted, sent by the broker and skipped by the consumer. "
    "COMMIT, ABORT: markers, control batches that no application sees. open: the reader waits here."
)


def drawn(newest: Sequence[FatedBatch], y: float, right: float) -> tuple[list[SceneShape], float]:
    """`newest`: the last one first. Also returns the y below it; nothing without transactions."""
    if all(it.fate is BatchFate.PLAIN for it in newest):
        return [], y
    cells: list[SceneShape] = []
    x, skipped = right, 0
    for it in newest:
        width = _width(it)
        if x - width < LEFT:
            break
        cells.append(_cell(it, x - width, y + TOP, width))
        skipped += it.fate is BatchFate.ABORTED
        x -= width + GAP
    y += 8  # below the ticks of the index entries
    shapes = [text("newest", LEFT, y + 12, NAME, look="small still"), *reversed(cells)]
    free = right - LEFT - width_of(NAME, 11.5) - 16
    if skipped and width_of(said := f"{skipped} skipped", 11) < free:
        shapes.append(text("skipped", right, y + 12, said, UP_TO, look="tiny still"))
    y += TOP + HEIGHT + LINE
    signs = TextColumn(LEFT, y, right - LEFT, LINE).write("signs", SIGNS, "soft")
    return [*shapes, *signs.shapes], signs.y - LINE + 6


def _offsets(it: FatedBatch) -> str:
    return it.offsets.replace(" to ", "–")


def _word(it: FatedBatch) -> str:
    return it.fate.value if it.fate.is_marker else WORDS.get(it.fate, "")


def _width(it: FatedBatch) -> float:
    words = max(width_of(_offsets(it), 11), width_of(_word(it), 11))
    return max(LEAST, words + 12 + POINT * it.fate.is_marker)


def _cell(it: FatedBatch, x: float, y: float, width: float) -> SceneShape:
    look, middle = LOOKS[it.fate], width / 2
    if it.fate.is_marker:
        middle -= POINT / 2
        side, half = width - POINT, HEIGHT / 2
        box = path("box", f"M0 0H{side:.1f}L{width:.1f} {half:g}L{side:.1f} {HEIGHT}H0Z", look=look)
    else:
        box = rect("box", 0, 0, width, HEIGHT, 4, look=look)
    inside = [rect("back", 0, 0, width, HEIGHT, look="clear"), box]
    if it.fate is BatchFate.ABORTED:
        inside.append(path("strike", f"M3 {HEIGHT - 3}L{width - 3:.1f} 3", look="cut still"))
    inside += [
        text("offsets", middle, 16, _offsets(it), ABOUT, look="over still"),
        text("word", middle, 32, _word(it), ABOUT, look="over still"),
    ]
    acts = (Act("open_batch", it.header.base_offset, "open in hex"),)
    label = f"{it.words}; {it.header.size:,} bytes"
    return group(f"batch {it.header.base_offset}", x, y, inside, label=label, acts=acts)
