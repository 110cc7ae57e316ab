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
from widgets.fields_table import LINE, fields_table
from widgets.log.timestamps import moment
from widgets.metadata_log.layout import MetadataLogViewState
from widgets.metadata_log.words import purpose
from widgets.panel_card import PAD, panel_card
from widgets.scene import SceneShape, fit, text
from widgets.text_column import TextColumn

LONGEST = 2  # lines of one value
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
    if not entry.fields:
        return [text("none", left, y, "it has no fields", look="soft")], y + LINE
    rows = [(name, _shown(value)) for name, value in entry.fields.items()]
    return fields_table(rows, (left, right, y), LONGEST, 14)


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
