"""One record of the metadata log in full: its fields in Kafka's names, and what it is for.

PartitionChangeRecord                                        ✕
Only what has changed: a new leader, another ISR ...
offset 31, epoch 3, written at 12:01:07.123 UTC
partitionId   0
leader        3
"""

import json
from typing import Any

from engine.cluster.kraft.metadata_log_reader import MetadataEntryKind, MetadataLogEntry
from widgets.log.timestamps import moment
from widgets.metadata_log.layout import MetadataLogViewState
from widgets.metadata_log.words import purpose
from widgets.panel_card import PAD, panel_card
from widgets.scene import SceneShape, fit, text, width_of, wrap
from widgets.text_column import TextColumn

LINE = 17
MOST = 12  # lines of fields
LONGEST = 2  # lines of one value
SIZE = 11.5  # of a value
SNAPSHOT = (
    "The state itself, as records: each thing once, as it was at this offset. With it the records "
    "before are of no use any more."
)


def panel(state: MetadataLogViewState, top: float) -> tuple[list[SceneShape], float]:
    """The shapes, and their lower end."""
    entry = state.opened
    if entry is None:
        return [], top
    left = state.left - 6 + PAD
    right = state.width - left
    is_snapshot = entry.kind is MetadataEntryKind.SNAPSHOT
    title = f"Snapshot {entry.offset}-{entry.epoch}" if is_snapshot else entry.record
    about = TextColumn(left, top + 40, right - left, 15)
    about.write("purpose", SNAPSHOT if is_snapshot else purpose(entry), "soft")
    where = f"offset {entry.offset}, epoch {entry.epoch}, written at {moment(entry.at)[11:]} UTC"
    line = text("where", left, about.y + 2, fit(where, right - left, 11), look="soft")
    fields, y = _fields(entry, left, right, about.y + 22)
    place = state.left - 6, top, state.width
    return panel_card(str(entry.number), title, [*about.shapes, line, *fields], place, y)


def _fields(
    entry: MetadataLogEntry, left: float, right: float, y: float
) -> tuple[list[SceneShape], float]:
    shapes: list[SceneShape] = []
    names = [*entry.fields] or [""]
    at = left + min(max(width_of(name, 11) for name in names) + 14, (right - left) * 0.45)
    last = y + MOST * LINE
    for name, value in entry.fields.items():
        if y >= last:
            shapes.append(text("cut", left, y, "and more, which is left out here", look="soft"))
            return shapes, y + LINE
        shown = _shown(value)
        shapes.append(text(f"field {name}", left, y, fit(name, at - left - 8, 11), look="soft"))
        lines = wrap(shown, right - at, SIZE, mono=True) or [""]
        if len(lines) > LONGEST:
            rest = fit(lines[LONGEST - 1], right - at - 2 * SIZE, SIZE, mono=True)
            lines = [*lines[: LONGEST - 1], f"{rest.rstrip('…')} …"]
        for part in lines:
            shapes.append(text(f"value {y}", at, y, part, look="mono small", label=shown))
            y += LINE
    if not entry.fields:
        shapes.append(text("none", left, y, "it has no fields", look="soft"))
        y += LINE
    return shapes, y


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
