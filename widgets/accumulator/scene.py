"""The picture of a producer's buffer: each partition a row, each batch a card that goes right.

    buffer.memory  ▇▇▇▇───────────────  1.2 of 33.6 MB
                   fills and waits      in flight      done
    orders-0       │○ 12 │● 81│         │→ 81│         │✓ 81│✓ 79│✗ 4│
                          size           size           size  linger
    closed by      size ▇▇▇▇ 12   linger ▇ 3   flush 1
    ━━━━━━━━○──────────────────         a step for each event

The bar at the foot of a card is its size, compared with batch.size.
"""

from dataclasses import dataclass
from typing import Any

from engine.client.producing.batch_log import BatchEvent, Cause
from engine.model import TopicPartition
from widgets.accumulator.history import AccumulatorHistory, AccumulatorMoment, BatchThen
from widgets.scene import (
    ABOUT,
    UP_TO,
    Act,
    Scene,
    SceneShape,
    circle,
    fit,
    group,
    line,
    rect,
    text,
    width_of,
)
from widgets.text_column import TextColumn

MARGIN, NARROW, NAME = 16, 700, 108  # px
CARD, HIGH, GAP = 70, 42, 6  # the least width of a card, its height, the space beside it
ROW = 60  # px from one partition to the next
ROWS = 8  # partitions on a page
GLYPHS = {
    BatchEvent.CREATED: ("○", "paper away", "bold"),
    BatchEvent.CLOSED: ("●", "card", "bold"),
    BatchEvent.SENT: ("→", "follower", "bold lead"),
    BatchEvent.RETRIED: ("!", "offline", "bold bad"),
    BatchEvent.SPLIT: ("✂", "card", "bold"),
    BatchEvent.ACKNOWLEDGED: ("✓", "paper", "bold ok"),
    BatchEvent.GIVEN_UP: ("✗", "offline", "bold bad"),
}
ZONES = ("fills and waits", "in flight", "done, the newest first")
WHY = {
    Cause.SIZE: "batch.size: the next record did not fit",
    Cause.LINGER: "linger.ms had passed",
    Cause.FLUSH: "flush()",
    Cause.MEMORY: "buffer.memory was full",
    Cause.SPLIT: "it is a piece of a batch that was too large",
    Cause.GIVEN_UP: "it was given up before it was sent",
}
NO_BATCH = "No record yet. Batches appear here with the first produce()."


@dataclass(frozen=True)
class AccumulatorViewState:
    history: AccumulatorHistory
    moment: AccumulatorMoment
    index: int | None  # of the event; None: now
    page: int  # of partitions
    chosen: int  # the number of a batch; 0: none
    width: float

    @property
    def narrow(self) -> bool:
        return self.width < NARROW

    @property
    def left(self) -> float:
        return MARGIN if self.narrow else MARGIN + NAME

    @property
    def seen(self) -> list[TopicPartition]:
        return self.moment.partitions[self.page * ROWS : (self.page + 1) * ROWS]

    @property
    def zones(self) -> list[tuple[float, float, int]]:
        """Of each zone the left end, the width of a card and the number of cards."""
        room = self.width - MARGIN - self.left
        cards = max(int((room + GAP) // (CARD + GAP)), 3)
        pitch = (room + GAP) / cards
        sizes = [cards - 2 * (cards // 3), cards // 3, cards // 3]
        starts = [0, sizes[0], sizes[0] + sizes[1]]
        return [
            (self.left + start * pitch, pitch - GAP, size)
            for start, size in zip(starts, sizes, strict=True)
        ]


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:,.1f} ms" if seconds < 1 else f"{seconds:,.2f} s"


def count(number: int, noun: str) -> str:
    plural = f"{noun}es" if noun.endswith("ch") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def header(it: AccumulatorViewState) -> str:
    moment = it.moment
    waits = len(moment.with_event(BatchEvent.CREATED, BatchEvent.CLOSED, BatchEvent.RETRIED))
    flies, done = (
        len(moment.with_event(event)) for event in (BatchEvent.SENT, BatchEvent.ACKNOWLEDGED)
    )
    failed = len(moment.with_event(BatchEvent.GIVEN_UP))
    words = f"{count(waits, 'batch')} in queues, {flies} in flight, {done} acknowledged"
    end = " · the producer is closed" if moment.buffer.closed and moment.live else ""
    past = "" if moment.live else " · looking back"
    return f"{words}, {failed} failed{end}{past}"


def picture(it: AccumulatorViewState) -> Scene:
    shapes = _memory(it)
    y = 54.0
    if not it.moment.partitions:
        words = "The producer is closed; it sent nothing." if it.moment.buffer.closed else NO_BATCH
        column = TextColumn(MARGIN, y + 24, it.width - 2 * MARGIN)
        shapes += column.write("empty", words, "soft", size=12).shapes
        return Scene(it.width, y + 70, shapes, title="a producer without a batch", says=words)
    for number, (x, wide, cards) in enumerate(it.zones):
        room = (wide + GAP) * cards - GAP
        words = fit(ZONES[number] if room > 140 else ZONES[number].split(",")[0], room, 11)
        shapes.append(text(f"zone {number}", x, y + 10, words, look="tiny"))
        shapes.append(line(f"rule {number}", x, y + 16, x + room, y + 16, look="rule"))
    y += 24
    for partition in it.seen:
        shapes += _row(it, partition, y)
        y += ROW + (20 if it.narrow else 0)
    y = _causes(it, shapes, y + 8)
    y = _told(it, shapes, y)
    shapes += _timeline(it, y + 16)
    return Scene(it.width, y + 66, shapes, title="the batches of a producer", says=header(it))


def _memory(it: AccumulatorViewState) -> list[SceneShape]:
    used, memory = it.moment.used, it.moment.buffer.memory
    words = f"buffer.memory: {used:,} of {memory:,} bytes used"
    room = it.width - 2 * MARGIN
    full = max(room * min(used / memory, 1), 2 if used else 0)
    return [
        text("memory words", MARGIN, 16, fit(words, room), look="bold small"),
        rect("memory", MARGIN, 24, room, 10, 3, look="rule", label=words),
        rect("memory used", MARGIN, 24, full, 10, 3, look="watermark still"),
    ]


def _row(it: AccumulatorViewState, partition: TopicPartition, y: float) -> list[SceneShape]:
    batches = [each for each in it.moment.batches if each.batch.partition == partition]
    waits = [e for e in batches if not e.done and e.event is not BatchEvent.SENT]
    open_ones = [e for e in waits if e.event is BatchEvent.CREATED]
    queued = [e for e in waits if e.event is not BatchEvent.CREATED]
    flies = [e for e in batches if e.event is BatchEvent.SENT]
    done = sorted((e for e in batches if e.done), key=lambda e: -e.steps[-1].at)
    first = it.zones[0][2]
    oldest = queued[: first - len(open_ones[-1:])]
    # The open batch stands left; the next to be sent, right.
    rows = [open_ones[-1:] + oldest[::-1], flies[: it.zones[1][2]], done[: it.zones[2][2]]]
    hidden = len(waits) - len(rows[0]), len(flies) - len(rows[1])
    more = [f"+{n} {word}" for n, word in zip(hidden, ("wait", "in flight"), strict=True) if n > 0]
    name = fit(str(partition), NAME - 8 if not it.narrow else it.width / 2, 12, bold=True)
    shapes = [text(f"name {partition}", MARGIN, y + (12 if it.narrow else 19), name, look="bold")]
    if more:
        words, key = ", ".join(more), f"more {partition}"
        if it.narrow:
            shapes.append(text(key, it.width - MARGIN, y + 12, words, UP_TO, look="tiny"))
        else:
            shapes.append(text(key, MARGIN, y + 36, fit(words, NAME - 8, 11), look="tiny"))
    y += 20 if it.narrow else 0
    for (x, wide, _), cards in zip(it.zones, rows, strict=True):
        for place, each in enumerate(cards):
            shapes.append(_card(it, each, x + place * (wide + GAP), y, wide))
    return shapes


def _card(
    it: AccumulatorViewState, batch: BatchThen, x: float, y: float, wide: float
) -> SceneShape:
    glyph, box, look = GLYPHS[batch.event]
    number = "?" if batch.records is None else f"{batch.records:,}"
    under = batch.cause
    if batch.event in (BatchEvent.RETRIED, BatchEvent.GIVEN_UP):
        under = batch.steps[-1].why
    elif batch.event is BatchEvent.CREATED:
        under = "fills"
    if batch.attempts > 1 and batch.event is not BatchEvent.GIVEN_UP:
        under = f"attempt {batch.attempts}"
    full = (wide - 8) * min(batch.bytes / it.moment.buffer.batch_size, 1)
    shapes = [
        rect("box", 0, 0, wide, HIGH, 6, look="handle" if batch.batch.number == it.chosen else box),
        text("records", 6, 16, fit(f"{glyph} {number}", wide - 10, 12, bold=True), look=look),
        text("cause", 6, 30, fit(under, wide - 10, 11), look="tiny"),
        rect("size", 4, HIGH - 7, max(full, 1), 4, 1, look="span now still"),
    ]
    acts = (Act("choose", batch.batch.number, "say more"),)
    key = f"batch {batch.batch.number}"
    return group(key, x, y, shapes, label=sentence(batch), acts=acts)


def sentence(batch: BatchThen) -> str:
    """What happened to a batch, step by step."""
    told, first = [], batch.steps[0].at
    for step in batch.steps[1:]:
        words = str(step.event)
        if step.event is BatchEvent.CLOSED:
            words = f"closed by {WHY[Cause(step.why)]}"
        elif step.event is BatchEvent.RETRIED:
            words = f"not stored ({step.why}), so it is sent again"
        elif step.why:
            words = f"{words} ({step.why})"
        told.append(f"after {milliseconds(step.at - first)} {words}")
    size = "" if batch.records is None else f": {count(batch.records, 'record')}"
    size += f", {count(batch.bytes, 'byte')}" if size else ""
    offset = f", at offset {batch.batch.offset:,}" if batch.batch.offset >= 0 and batch.done else ""
    number = f"batch {batch.batch.number} of {batch.batch.partition}"
    return f"{number}{size}; {', '.join(told) or 'it fills'}{offset}"


def _causes(it: AccumulatorViewState, shapes: list[SceneShape], y: float) -> float:
    """How many batches each cause has closed, as bars."""
    numbers = {cause: it.moment.closed_by(cause) for cause in Cause}
    numbers = {c: n for c, n in numbers.items() if n or c in (Cause.SIZE, Cause.LINGER)}
    most = max([*numbers.values(), 1])
    shapes.append(text("closed by", MARGIN, y + 12, "closed by", look="bold small"))
    y += 0 if not it.narrow else 18
    room = it.width - MARGIN - it.left - 130
    for cause, number in numbers.items():
        shapes.append(text(f"cause {cause}", it.left, y + 12, cause, look="tiny"))
        x = it.left + 66
        bar = room * number / most
        label = f"{count(number, 'batch')} closed by {WHY[cause]}"
        shapes.append(rect(f"bar {cause}", x, y + 3, bar, 10, 2, look="lead ok", label=label))
        shapes.append(text(f"number {cause}", x + bar + 6, y + 12, f"{number:,}", look="tiny"))
        y += 18
    return y + 8


def _told(it: AccumulatorViewState, shapes: list[SceneShape], y: float) -> float:
    found = it.moment.with_event(BatchEvent.ACKNOWLEDGED)
    lines = []
    if found:
        records, size = sum(e.records or 0 for e in found), sum(e.bytes for e in found)
        mean, most = sum(e.lasted for e in found) / len(found), max(e.lasted for e in found)
        lines.append(
            f"Acknowledged: {count(len(found), 'batch')}, {count(records, 'record')}, "
            f"{count(size, 'byte')}; from the first record to the answer {milliseconds(mean)} on "
            f"average, {milliseconds(most)} at most."
        )
    if it.history.missed:
        lines.append(f"Not seen: {count(it.history.missed, 'batch')}, done before the first look.")
    chosen = [e for e in it.moment.batches if e.batch.number == it.chosen]
    lines += [sentence(e).capitalize() + "." for e in chosen]
    column = TextColumn(MARGIN, y + 14, it.width - 2 * MARGIN)
    for number, words in enumerate(lines):
        column.write(f"told {number}", words, "small", size=12)
    shapes += column.shapes
    return column.y - 14


def _timeline(it: AccumulatorViewState, y: float) -> list[SceneShape]:
    left, right, level = MARGIN + 8, it.width - MARGIN - 8, y + 12
    last = len(it.history.times) - 1
    place = last if it.index is None else it.index
    head = left + (right - left) * (place / last if last > 0 else 1)
    clock = milliseconds(it.moment.at)
    half = width_of(clock, 12, bold=True) / 2
    about = min(max(head, left + half), right - half)
    acts = (Act("back", None, "an event back"), Act("forward", None, "an event on"))
    label = f"event {place + 1} of {last + 1}, {clock}; arrows step"
    more: dict[str, Any] = {"drag": "seek", "acts": acts, "label": label}
    return [
        line("future", left, level, right, level, look="future"),
        line("past", left, level, head, level, look="past"),
        rect("timeline", left, level - 14, right - left, 28, look="clear", **more),
        circle("head", head, level, 8, look="handle still"),
        text("clock", about, level + 25, clock, ABOUT, look="bold"),
    ]
