"""The metadata log as a picture.

    ( all 31 )( brokers 9 )( topics 2 )( partitions 5 ) ...      what the records are about
    [2]   12  RegisterBroker     broker 2   epoch 12, fenced ...
    [2]   17  Topic              teas       id 9bJ...
    ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ high watermark 18 ▾━━━
    [2]   18  PartitionChange    teas-0     leader 2, isr 2 3      written, and not committed
    ┌────────────────────────────────────────────────────────┐
    │ PartitionChangeRecord, offset 18                     ✕ │      if one is opened
    └────────────────────────────────────────────────────────┘
    ━━━━●━━━━━━━▲━━━━━━★━━━━━━━━○────────                          the time of the run

The number in a cell is the record's epoch; a filled cell is committed. A pure function: the same
state makes the same picture.
"""

from engine.cluster.kraft.metadata_log_reader import MetadataLogEntry
from widgets import event_list, timeline
from widgets.log.fields import count
from widgets.metadata_log.layout import CELL, CHIP, CHIP_GAP, MetadataLogViewState
from widgets.metadata_log.panel import panel
from widgets.metadata_log.rows import LogRow, LogRowKind
from widgets.metadata_log.words import name_of, purpose, short_name, summary, told
from widgets.scene import (
    ABOUT,
    UP_TO,
    Act,
    Scene,
    SceneShape,
    fit,
    group,
    line,
    path,
    rect,
    text,
    width_of,
)
from widgets.text_column import TextColumn

EDGE = 20  # px, beside the timeline
LINES = 4  # of what happened, below the timeline
LEGEND = (
    "In a cell: the epoch. Filled: committed, a majority has it. Not filled: written, and a leader "
    "that dies may take it along."
)
UNRECORDED = (
    "This recording knows nothing of the log: cluster.record(path, metadata_log=True) makes one "
    "that does."
)
NOTHING = "No record yet."
HISTORY = 4  # records of a thing that are shown, folded


def picture(state: MetadataLogViewState) -> Scene:
    chips, y = _chips(state)
    shapes = list(chips)
    for row in state.rows:
        shapes += _row(state, row, y)
        y += state.row
    if not state.rows:
        words = NOTHING if state.is_recorded else UNRECORDED
        shapes.append(text("nothing", state.left, y + 14, words, look="soft"))
        y += state.row
    opened, y = panel(state, y + 6)
    y += 10
    width = state.width
    shapes += [
        *opened,
        line("edge", 0, y, width, y, look="rule"),
        *timeline.drawn(state, EDGE, y + 6, width - 2 * EDGE),
    ]
    story, y = _story(state, y + 6 + timeline.HEIGHT)
    legend = TextColumn(state.left, y + 18, width - 2 * state.left, 15)
    legend.write("legend", LEGEND, "soft")
    shapes += [*story, *legend.shapes]
    newest = state.history.entries[state.log.number - 1] if state.log.number else None
    says = told(newest, state.history.topics) if newest and newest.record != "NoOpRecord" else ""
    return Scene(width, legend.y, shapes, title=f"The metadata log: {about(state)}", says=says)


def about(state: MetadataLogViewState) -> str:
    """Who leads, how far, and how much there is."""
    if not state.log.records:
        return "no record yet"
    leads = [id for id, it in state.state.controllers.items() if it.is_active]
    who = f"{name_of(leads[-1])} leads" if leads else "nobody leads"
    records = count(len(state.log.records), "record")
    return f"epoch {state.epoch} · {who} · {records} · committed up to offset {state.mark}"


# -- what the records are about -----------------------------------------------------------------


def _chips(state: MetadataLogViewState) -> tuple[list[SceneShape], float]:
    """A button for each group."""
    total = sum(state.counted.values())
    shapes: list[SceneShape] = []
    x, y = state.left, 10.0
    for name, number in [("", total), *state.counted.items()]:
        words = f"{name or 'all'} {number}"
        width = width_of(words, 12, bold=True) + 20
        if x + width > state.right and x > state.left:
            x, y = state.left, y + CHIP + CHIP_GAP
        is_chosen = name == state.choice.group
        inside = [
            rect("chip", 0, 0, width, CHIP, CHIP / 2, look="card lit" if is_chosen else "card"),
            text("words", width / 2, 17, words, ABOUT, look="bold" if is_chosen else ""),
        ]
        label = f"{count(number, 'record')} about {name or 'anything'}"
        label += ", shown" if is_chosen else ""
        acts = (Act("only", name, "show only these" if name else "show all"),)
        shapes.append(group(f"group {name}", x, y, inside, label=label, acts=acts))
        x += width + CHIP_GAP
    return shapes, y + CHIP + CHIP_GAP + 4


# -- rows ---------------------------------------------------------------------------------------


def _row(state: MetadataLogViewState, row: LogRow, y: float) -> list[SceneShape]:
    match row.kind:
        case LogRowKind.RECORD | LogRowKind.LOST:
            return [_record(state, row, y)]
        case LogRowKind.THING:
            return _thing(state, row, y)
        case LogRowKind.MARK:
            return _mark(state, row, y)
        case LogRowKind.SNAPSHOT:
            return [_snapshot(state, row.entries[-1], y)]
        case LogRowKind.IDLE:
            return _idle(state, row, y)
        case LogRowKind.MORE:
            return [_more(state, row, y)]


def _record(state: MetadataLogViewState, row: LogRow, y: float) -> SceneShape:
    (entry,) = row.entries
    is_lost, is_dropped = row.kind is LogRowKind.LOST, entry.offset < state.start
    struck = " bad struck" if is_lost else " soft" if is_dropped else ""
    says = "truncated: no majority had it" if is_lost else summary(entry)
    committed = entry.offset < state.mark and not is_lost
    name_room = (state.about if state.wide else state.right - 110) - state.record - 10
    shapes = [
        *_glow(state, entry),
        rect("back", -6, 1, state.right - state.left + 12, state.row - 2, 5, look="clear"),
        *_cell(entry, committed=committed),
        text("offset", state.offset - state.left, 16, str(entry.offset), UP_TO, look="tiny"),
        text("record", state.record - state.left, 16,
             fit(short_name(entry), name_room, 12, bold=True), look=f"bold{struck}"),
        *_subject(state, row.about.name, struck),
        *_says(state, says, struck),
    ]  # fmt: skip
    label = f"{told(entry, state.history.topics)}. Epoch {entry.epoch}, "
    label += "truncated" if is_lost else "committed" if committed else "not committed"
    label += ", only in the snapshot now" if is_dropped else ""
    acts = (Act("choose", entry.number, "show all fields"),)
    return group(f"record {entry.number}", state.left, y, shapes, label=label, acts=acts)


def _glow(state: MetadataLogViewState, entry: MetadataLogEntry) -> list[SceneShape]:
    """Behind a row, and moving with it: what is new is highlighted once."""
    if not state.is_news(entry):
        return []
    width = state.right - state.left + 12
    return [rect(f"glow {entry.number}", -6, 0, width, state.row, 5, look="glow")]


def _cell(entry: MetadataLogEntry, *, committed: bool) -> list[SceneShape]:
    look, top = "leader" if committed else "follower", 3
    return [
        rect("cell", 0, top, CELL, CELL, 3, look=look),
        text("epoch", CELL / 2, top + 12.5, str(entry.epoch), ABOUT, look=f"letter {look} still"),
    ]


def _subject(state: MetadataLogViewState, name: str, struck: str) -> list[SceneShape]:
    if state.wide:
        x, room = state.about - state.left, state.words - state.about - 10
        return [text("about", x, 16, fit(name, room, 12), look=struck.strip())]
    room = state.right - state.record - 150
    x = state.right - state.left
    return [text("about", x, 16, fit(name, room, 12), UP_TO, look=struck.strip())]


def _says(state: MetadataLogViewState, words: str, struck: str = "") -> list[SceneShape]:
    x, y = state.words - state.left, 16 if state.wide else 31
    room = state.right - state.words
    look = "soft" + (" bad" if "bad" in struck else "")
    return [text("says", x, y, fit(words, room, 11), look=look)] if words else []


def _thing(state: MetadataLogViewState, row: LogRow, y: float) -> list[SceneShape]:
    """One thing: its last records, each a button, and what the newest says."""
    newest, name = row.entries[-1], row.about.name
    room = state.record - state.left + 100
    inside = [
        *_glow(state, newest),
        text("thing", 0, 16, fit(name, room, 12, bold=True), look="bold", label=purpose(newest)),
    ]
    chips: list[SceneShape] = []
    shown = row.entries[-HISTORY:]
    x = state.about if state.wide else state.right - sum(_offset_width(it) + 4 for it in shown)
    if earlier := len(row.entries) - len(shown):
        words = f"{earlier} earlier"
        inside.append(text("earlier", x - 6 - state.left, 16, words, UP_TO, look="tiny"))
    for entry in shown:
        words = str(entry.offset)
        wide, committed = _offset_width(entry), entry.offset < state.mark
        look = "leader" if committed else "follower"
        chip = [
            rect("cell", 0, 3, wide, CELL, 3, look=look),
            text("offset", wide / 2, 15.5, words, ABOUT, look=f"letter {look} still"),
        ]
        label = told(entry, state.history.topics)
        acts = (Act("choose", entry.number, "show all fields"),)
        chips.append(group(f"record {entry.number}", x, y, chip, label=label, acts=acts))
        x += wide + 4
    says = f"{short_name(newest)}: {summary(newest)}"
    start = max(state.words, x + 10) if state.wide else state.left
    words = fit(says, state.right - start, 11)
    inside.append(text("says", start - state.left, 16 if state.wide else 31, words, look="soft"))
    return [group(f"thing {name}", state.left, y, inside), *chips]


def _offset_width(entry: MetadataLogEntry) -> float:
    return width_of(str(entry.offset), 11, bold=True) + 10


def _mark(state: MetadataLogViewState, row: LogRow, y: float) -> list[SceneShape]:
    """Everything above this line is committed."""
    words = f"high watermark {row.number}"
    level, wide = y + state.row / 2, width_of(words, 11) + 12
    x = state.right - wide
    label = f"high watermark {row.number}: all records before it are committed"
    inside = [
        rect("line", state.left - 6, level - 1, x - state.left, 2, look="watermark still"),
        path("arrow", f"M{x - 14} {level - 7}h10l-5 6z", look="watermark still"),
        text("words", x + 2, level + 4, words, look="small bold"),
    ]
    return [group("mark", 0, 0, inside, label=label)]


def _snapshot(state: MetadataLogViewState, entry: MetadataLogEntry, y: float) -> SceneShape:
    kept = sum(entry.fields.values())
    words = f"snapshot {entry.offset}-{entry.epoch}: {count(kept, 'record')} for these"
    words += f" {entry.offset}"
    if state.start >= entry.offset:
        words += ", which are deleted"
    half = state.row / 2
    shapes = [
        *_glow(state, entry),
        rect("back", -6, 1, state.right - state.left + 12, state.row - 2, 5, look="folded"),
        text("words", state.record - state.left, half + 4,
             fit(words, state.right - state.record, 11, bold=True), look="small bold"),
    ]  # fmt: skip
    acts = (Act("choose", entry.number, "show what it holds"),)
    return group(f"record {entry.number}", state.left, y, shapes, label=words, acts=acts)


def _idle(state: MetadataLogViewState, row: LogRow, y: float) -> list[SceneShape]:
    first, last = row.entries[0].offset, row.entries[-1].offset
    offsets = str(first) if first == last else f"{first} … {last}"
    words = f"NoOp, {len(row.entries)} of them" if len(row.entries) > 1 else "NoOp"
    level = y + 16
    inside = [
        text("offset", state.offset, level, str(last), UP_TO, look="tiny"),
        text("words", state.record, level, words, look="soft"),
    ]
    label = f"offsets {offsets}: nothing has changed"
    return [group(f"idle {first}", 0, 0, inside, label=label)]


def _more(state: MetadataLogViewState, row: LogRow, y: float) -> SceneShape:
    is_above = row is state.rows[0]
    sign, where = ("▴", "above") if is_above else ("▾", "below")
    words = f"{sign} {count(row.number, 'row')} {where}"
    shapes = [
        rect("back", -6, 1, width_of(words, 11) + 12, state.row - 2, 5, look="clear"),
        text("words", 0, state.row / 2 + 4, words, look="soft"),
    ]
    acts = (Act("scroll", row.first, "show them"),)
    return group(f"more {where}", state.record, y, shapes, label=words, acts=acts)


def _story(state: MetadataLogViewState, y: float) -> tuple[list[SceneShape], float]:
    """What happened last: with the times of all views of this run."""
    foot = y + 20 + LINES * (event_list.LINE + event_list.PAD)
    shapes = event_list.newest(state, state.left, y + 8, state.right - state.left, foot)
    return shapes, foot if shapes else y
