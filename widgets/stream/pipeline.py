"""The flow of rows: sources on the left, operators with their state, and the sink.

    ┌ orders ────────┐  80 rows   ┌ aggregate ──────┐  12 rows  ┌ memory ───┐
    │ 0 ▓▓▓▓█░  60   │───●──●────>│ one result a key│───●──────>│ 10 rows/s │
    │ 1 ▓▓▓▓█░  60   │   63/s     └───┬─────────────┘           └───────────┘
    └ 80 wait ───────┘            ( state: 17 rows )

Where there is no room for this, rows flow downwards, and a state is beside its operator.

The bar of a partition is all of it: read before, read in this batch, not read yet.
Invariant: the numbers of a batch are Spark's; an unknown number is a "?".
"""

from widgets.scene import (
    ABOUT,
    UP_TO,
    SceneShape,
    fit,
    group,
    path,
    rect,
    text,
    travel,
    width_of,
    wrap,
)
from widgets.stream import flow, words
from widgets.stream.flow import AXIS, PipelineBox
from widgets.stream.history import BatchMoment, OperatorState, PartitionShare, SourceProgress
from widgets.stream.layout import StreamViewState
from widgets.text_column import TextColumn

TOP = 14
SOURCE, SINK, HIGH = 200, 164, 80  # widths of the cards at both ends, and the sink's height
PART, DEEP = 17, 62  # heights of a partition and of an operator
STORE, DOWN = 86, 24  # how high a state store is, and how far from its operator
WAY, BENT, BETWEEN = 96, 136, 34  # the least that an arrow is long, one from a lower source, others
FALL = 38  # how long an arrow down is
LEAST, WIDEST = 120, 200  # the width of an operator
MOST_PARTS, MOST_SOURCES, MOST_OPERATORS = 4, 3, 3  # that are drawn


def drawn(view: StreamViewState) -> tuple[list[SceneShape], float]:
    """The shapes, and where they end."""
    moment = view.moment
    if moment is None:
        return _waiting(view)
    boxes = _boxes(view, moment)
    return _across(view, moment, boxes) if boxes else _down(view, moment)


def _boxes(view: StreamViewState, moment: BatchMoment) -> list[PipelineBox]:
    """The operators, side by side; none if there is no room for that."""
    count = len(_operators(moment))
    first = view.left + SOURCE + (WAY if len(moment.sources) < 2 else BENT)
    last = view.right - SINK - WAY
    width = min((last - first - BETWEEN * (count - 1)) / count, WIDEST)
    if width < LEAST:
        return []
    x = (first + last - width * count - BETWEEN * (count - 1)) / 2
    places = (x + place * (width + BETWEEN) for place in range(count))
    return [PipelineBox(place, AXIS - DEEP / 2, width, DEEP) for place in places]


def _operators(moment: BatchMoment) -> list[OperatorState | None]:
    """Those that are drawn; None: one without a state."""
    return [*moment.states[:MOST_OPERATORS]] or [None]


def _across(
    view: StreamViewState, moment: BatchMoment, boxes: list[PipelineBox]
) -> tuple[list[SceneShape], float]:
    shapes, sources, y = _sources(view, moment, SOURCE)
    sink = PipelineBox(view.right - SINK, AXIS - 38, SINK, HIGH)
    for at, (state, box) in enumerate(zip(_operators(moment), boxes, strict=True)):
        shapes.append(_operator(at, state, box))
        if state is not None:
            place = 12, DEEP + DOWN, box.width - 24
            pipe = f"M{box.width / 2:g} {DEEP}V{DEEP + DOWN}"
            shapes.append(group(f"state {at}", box.x, box.y, _store(moment, state, place, pipe)))
    shapes += flow.across(moment, sources, boxes, sink)
    shapes.append(_sink(view, moment, sink))
    shapes += _more_operators(moment, sink.x, AXIS + 60)
    low = TOP + DEEP + DOWN + STORE + 22 if moment.states else AXIS + 50
    return shapes, max(low, y)


def _down(view: StreamViewState, moment: BatchMoment) -> tuple[list[SceneShape], float]:
    room, half = view.room, (view.room - DOWN) / 2
    shapes, _, y = _sources(view, moment, room)
    boxes = list[PipelineBox]()
    source = PipelineBox(view.left, TOP, room, max(y - 10, TOP) - TOP)  # all of them
    y = source.bottom
    for at, state in enumerate(_operators(moment)):
        box = PipelineBox(view.left, y + FALL, room if state is None else half, STORE)
        boxes.append(box)
        shapes.append(_operator(at, state, box))
        if state is not None:
            pipe = f"M{half:g} {STORE / 2:g}H{half + DOWN:g}"
            inside = _store(moment, state, (half + DOWN, 0, half), pipe)
            shapes.append(group(f"state {at}", box.x, box.y, inside))
        y = box.bottom + (16 if state is not None and state.late else 0)
    sink = PipelineBox(view.left, y + FALL, room, HIGH)
    shapes += flow.down(moment, view.left + half / 2, source, boxes, sink)
    shapes.append(_sink(view, moment, sink))
    shapes += _more_operators(moment, view.left + half + DOWN, sink.y - FALL / 2 + 4)
    return shapes, sink.bottom + 6


def _more_operators(moment: BatchMoment, x: float, y: float) -> list[SceneShape]:
    count = len(moment.states) - MOST_OPERATORS
    more = f"and {words.many(count, 'more operator')}"
    return [text("more operators", x, y, more, look="soft")] if count > 0 else []


def _sources(
    view: StreamViewState, moment: BatchMoment, width: float
) -> tuple[list[SceneShape], list[PipelineBox], float]:
    """The cards of the sources, and where the next one would be."""
    shapes, boxes, y = list[SceneShape](), list[PipelineBox](), float(TOP)
    told = width > SOURCE and len(moment.sources) > 1  # else it is beside the arrow
    for number, source in enumerate(moment.sources[:MOST_SOURCES]):
        box = PipelineBox(view.left, y, width, _height(source))
        shapes.append(_source(moment, number, source, box, told))
        boxes.append(box)
        y = box.bottom + 10
    if len(moment.sources) > MOST_SOURCES:
        more = f"and {words.many(len(moment.sources) - MOST_SOURCES, 'more source')}"
        shapes.append(text("more sources", view.left, y + 8, more, look="soft"))
        y += 18
    return shapes, boxes, y


def _waiting(view: StreamViewState) -> tuple[list[SceneShape], float]:
    ended, middle = view.history.ended, view.width / 2
    yet = "No batch was done." if ended else "No batch is done yet."
    told = ended or view.status or "Spark is starting the query"
    look = "bad" if view.history.failed else "soft"
    column = TextColumn(middle, AXIS + 24, view.room, 17, ABOUT)
    column.write("status", told, look, size=12)
    shapes = [text("nothing", middle, AXIS, yet, ABOUT, look="head"), *column.shapes]
    return shapes, column.y + 14


# -- sources -----------------------------------------------------------------------------------


def _height(source: SourceProgress) -> float:
    count = len(source.shares)
    rows = min(count, MOST_PARTS) + (count > MOST_PARTS)
    return 60 + PART * rows


def _source(
    moment: BatchMoment, number: int, source: SourceProgress, box: PipelineBox, told: bool
) -> SceneShape:
    """`told`: its rows are counted in its card."""
    several = len({share.topic for share in source.shares}) > 1
    rows, rate = flow.came_in(moment, source)
    facts = f"{rows}, {rate}" if told else ""
    name = fit(source.name, box.width - 38 - width_of(facts, 11), 14, bold=True)
    shapes = [
        rect("card", 0, 0, box.width, box.height, 10, look="card"),
        text("name", 14, 24, name, look="head"),
    ]
    if facts:
        shapes.append(text("rows", box.width - 14, 23, facts, UP_TO, look="soft"))
    for row, share in enumerate(source.shares[:MOST_PARTS]):
        shapes.append(_share(share, 32 + PART * row, several, box.width))
    if len(source.shares) > MOST_PARTS:
        more = f"and {words.many(len(source.shares) - MOST_PARTS, 'more partition')}"
        shapes.append(text("more", 14, 45 + PART * MOST_PARTS, more, look="soft"))
    known = [share.lag for share in source.shares if share.lag is not None]
    lag = f"{words.many(sum(known), 'record')} still to read" if known else ""
    label = f"{source.name}: {rows} read"
    if known:
        look = "soft bold" if sum(known) else "soft"
        shapes.append(text("lag", 14, box.height - 11, lag, look=look))
        label += f", {lag}"
    elif not source.shares:
        arriving = f"{words.rate(moment.arriving)} rows/s arrive"
        shapes.append(text("lag", 14, box.height - 11, arriving, look="soft"))
    return group(f"source {number}", box.x, box.y, shapes, label=label)


def _share(share: PartitionShare, y: float, several: bool, width: float) -> SceneShape:
    """The shares of a partition: read before, read in this batch, not read yet."""
    start = share.end if share.start is None else share.start
    name = str(share) if several else str(share.partition)
    x = 84 if several else 38
    long = width - x - 104
    scale = long / max(share.latest or 0, share.end, 1)
    before, now = start * scale, (share.end - start) * scale
    bar = [
        rect("all", 0, 4, long, 9, 2, look="paper"),
        rect("before", 0, 4, before, 9, 2, look="span now"),
        rect("now", before, 4, now, 9, 2, look="hop"),
    ]
    shapes = [
        text("name", 14, 12, fit(name, x - 18, 11.5), look="small"),
        group("bar", x, 0, bar),
        text("end", x + long + 8, 12, words.amount(share.end), look="small"),
    ]
    if share.lag:
        lag = f"+{words.amount(share.lag)}"
        shapes.append(text("lag", width - 10, 12, lag, UP_TO, look="bold small"))
    begun = "where the query began" if share.start is None else f"{share.start:,}"
    wait = "" if share.lag is None else f"; {words.many(share.lag, 'record')} behind the end"
    label = f"{share}: read from {begun} to {share.end:,}{wait}"
    return group(f"partition {share}", 0, y, shapes, label=label)


# -- operators and their state -------------------------------------------------------------------


def _operator(at: int, state: OperatorState | None, box: PipelineBox) -> SceneShape:
    name, does = words.STATELESS if state is None else words.operator(state.operator)
    room, middle = box.width - 16, box.width / 2
    lines = wrap(does, room, 11)[:2]
    y = box.height / 2 - 4 - 7 * (len(lines) - 1)
    shapes = [
        rect("card", 0, 0, box.width, box.height, 10, look="card"),
        text("name", middle, y, fit(name, room, 14, bold=True), ABOUT, look="head"),
    ]
    column = TextColumn(middle, y + 19, room, 14, ABOUT)
    column.put("does", lines, "soft")
    spark = f" (Spark's {state.operator})" if state else ""
    label = f"{name}: {does}{spark}"
    return group(f"operator {at}", box.x, box.y, shapes + column.shapes, label=label)


def _store(
    moment: BatchMoment, state: OperatorState, place: tuple[float, float, float], pipe: str
) -> list[SceneShape]:
    """A cylinder, as databases are drawn, at an x and a y with a width; and the pipe to it."""
    x, y, wide = place
    half = wide / 2
    top, foot = f"A{half:g} 9 0 0 1 {wide:g} 9", f"A{half:g} 9 0 0 1 0 {STORE - 9}"
    drum = f"M0 9{top}V{STORE - 9}{foot}ZM0 9A{half:g} 9 0 0 0 {wide:g} 9"
    facts = f"{words.many(state.rows, 'row')} of state"
    fits = width_of(facts, 12, bold=True) < wide - 8
    updated = f"{words.amount(state.updated)} updated"
    removed = f", {words.amount(state.removed)} dropped" if state.removed else ""
    rows = facts if fits else words.many(state.rows, "row")
    shapes = [
        path("drum", drum, look="card"),
        text("rows", half, 40, rows, ABOUT, look="bold"),
        text("changes", half, 57, fit(updated + removed, wide - 8, 11), ABOUT, look="soft"),
        text("memory", half, 73, words.size(state.memory), ABOUT, look="soft"),
    ]
    label = f"State: {facts}, {updated}{removed}, {words.size(state.memory)} of memory"
    found = [path("down", pipe, look="link"), group("store", x, y, shapes, label=label)]
    if state.late:
        told = f"▲ {words.many(state.late, 'row')} too late"
        found.append(text("late", x + half, y + STORE + 15, told, ABOUT, look="bad bold"))
    if state.updated:
        found.append(travel(f"kept {moment.key}", pipe))
    return found


# -- the sink ----------------------------------------------------------------------------------


def _sink(view: StreamViewState, moment: BatchMoment, box: PipelineBox) -> SceneShape:
    name = view.into or view.name or moment.name or moment.sink
    kind = moment.sink if name != moment.sink else "the sink"
    told = moment.rate_out
    rate = "rows are not counted" if told is None else f"{words.rate(told)} rows/s"
    room = box.width - 28
    shapes = [
        rect("card", 0, 0, box.width, box.height, 10, look="card"),
        text("name", 14, 24, fit(name, room, 14, bold=True), look="head"),
        text("kind", 14, 43, fit(kind, room, 11), look="soft"),
        text("rate", 14, 66, rate, look="soft"),
    ]
    count = "? rows" if moment.rows_out is None else words.many(moment.rows_out, "row")
    label = f"{name} ({moment.sink}): {count} written in batch {moment.batch}"
    return group("sink", box.x, box.y, shapes, label=label)
