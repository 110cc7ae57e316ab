"""The flow of rows: sources on the left, operators with their state, and the sink.

    ┌ orders ────────┐  80 rows   ┌ aggregate ──────┐  12 rows  ┌ memory ───┐
    │ 0 ▓▓▓▓█░  60   │───●──●────>│ one result a key│───●──────>│ 10 rows/s │
    │ 1 ▓▓▓▓█░  60   │   63/s     └───┬─────────────┘           └───────────┘
    └ 80 wait ───────┘            ( state: 17 rows )

The bar of a partition is all of it: read before, read in this batch, not read yet.
Invariant: the numbers of a batch are Spark's; an unknown number is a "?".
"""

from widgets.scene import (
    ABOUT,
    UP_TO,
    SceneShape,
    fit,
    group,
    line,
    path,
    rect,
    text,
    travel,
    width_of,
)
from widgets.stream import flow, words
from widgets.stream.flow import AXIS, SINK, SOURCE, Box
from widgets.stream.history import BatchMoment, OperatorState, PartitionShare, SourceProgress
from widgets.stream.layout import LEFT, RIGHT, StreamViewState

TOP = 14
PART, DEEP = 17, 62  # heights of a partition and of an operator
STORE, DOWN = 86, 24  # how high a state store is, and how far below its operator
BOLD = 13  # as wide as this is a bold text of 12 pixels
WAY, BENT = 82, 130  # the least that an arrow is long, and one from a lower source
MOST_PARTS, MOST_SOURCES, MOST_OPERATORS = 4, 3, 3  # that are drawn


def drawn(view_state: StreamViewState) -> tuple[list[SceneShape], float]:
    """The shapes, and where they end."""
    moment = view_state.moment
    if moment is None:
        return _waiting(view_state), TOP + 90
    shapes, y = [], float(TOP)
    places: list[flow.Place] = []
    for number, source in enumerate(moment.sources[:MOST_SOURCES]):
        shapes.append(_source(moment, number, source, y))
        places.append((source, y, y + _height(source)))
        y += _height(source) + 10
    if len(moment.sources) > MOST_SOURCES:
        more = f"and {words.many(len(moment.sources) - MOST_SOURCES, 'more source')}"
        shapes.append(text("more sources", LEFT, y + 8, more, look="soft"))
        y += 18
    boxes = _boxes(moment)
    shapes += [_operator(moment, at, it, *box) for at, (it, box) in enumerate(boxes)]
    shapes += flow.drawn(moment, places, [box for _, box in boxes])
    shapes.append(_sink(view_state, moment))
    if len(moment.states) > MOST_OPERATORS:
        more = f"and {words.many(len(moment.states) - MOST_OPERATORS, 'more operator')}"
        shapes.append(text("more operators", RIGHT - SINK, AXIS + 60, more, look="soft"))
    low = TOP + DEEP + DOWN + STORE + 22 if moment.states else AXIS + 50
    return shapes, max(low, y)


def _waiting(view_state: StreamViewState) -> list[SceneShape]:
    ended, middle = view_state.history.ended, (LEFT + RIGHT) / 2
    yet = "No batch was done." if ended else "No batch is done yet."
    told = fit(ended or view_state.status or "Spark is starting the query", RIGHT - LEFT, 11)
    look = "bad" if view_state.history.failed else "soft"
    return [
        text("nothing", middle, AXIS, yet, ABOUT, look="head"),
        text("status", middle, AXIS + 24, told, ABOUT, look=look),
    ]


# -- sources -----------------------------------------------------------------------------------


def _height(source: SourceProgress) -> float:
    count = len(source.shares)
    rows = min(count, MOST_PARTS) + (count > MOST_PARTS)
    return 60 + PART * rows


def _source(moment: BatchMoment, number: int, source: SourceProgress, y: float) -> SceneShape:
    height = _height(source)
    several = len({share.topic for share in source.shares}) > 1
    shapes = [
        rect("card", 0, 0, SOURCE, height, 10, look="card"),
        text("name", 14, 24, fit(source.name, SOURCE - 28, 14), look="head"),
    ]
    for row, share in enumerate(source.shares[:MOST_PARTS]):
        shapes.append(_share(share, 32 + PART * row, several))
    if len(source.shares) > MOST_PARTS:
        more = f"and {words.many(len(source.shares) - MOST_PARTS, 'more partition')}"
        shapes.append(text("more", 14, 45 + PART * MOST_PARTS, more, look="soft"))
    lags = [share.lag for share in source.shares]
    told = [lag for lag in lags if lag is not None]
    lag = f"{words.many(sum(told), 'record')} still to read" if told else ""
    label = f"{source.name}: {words.many(source.rows, 'row')} read"
    if told:
        shapes.append(text("lag", 14, height - 11, lag, look="soft bold" if sum(told) else "soft"))
        label += f", {lag}"
    elif not source.shares:
        arriving = f"{words.rate(moment.arriving)} rows/s arrive"
        shapes.append(text("lag", 14, height - 11, arriving, look="soft"))
    return group(f"source {number}", LEFT, y, shapes, label=label)


def _share(share: PartitionShare, y: float, several: bool) -> SceneShape:
    """The shares of a partition: read before, read in this batch, not read yet."""
    start = share.end if share.start is None else share.start
    name = str(share) if several else str(share.partition)
    x, long = (84, 52) if several else (32, 78)
    scale = long / max(share.latest or 0, share.end, 1)
    before, now = start * scale, (share.end - start) * scale
    shapes = [
        text("name", 14, 12, fit(name, x - 18, 11), look="small"),
        rect("all", x, 4, long, 9, 2, look="paper"),
        rect("before", x, 4, before, 9, 2, look="span now"),
        rect("now", x + before, 4, now, 9, 2, look="hop"),
        text("end", x + long + 8, 12, words.amount(share.end), look="small"),
    ]
    if share.lag:
        shapes.append(
            text("lag", SOURCE - 12, 12, f"+{words.amount(share.lag)}", UP_TO, look="bold small")
        )
    begun = "where the query began" if share.start is None else f"{share.start:,}"
    wait = "" if share.lag is None else f"; {words.many(share.lag, 'record')} behind the end"
    label = f"{share}: read from {begun} to {share.end:,}{wait}"
    return group(f"partition {share}", 0, y, shapes, label=label)


# -- operators and their state -------------------------------------------------------------------


def _boxes(moment: BatchMoment) -> list[tuple[OperatorState | None, Box]]:
    states: list[OperatorState | None] = list(moment.states[:MOST_OPERATORS])
    states = states or [None]
    count, gap = len(states), 34
    first = LEFT + SOURCE + (WAY if len(moment.sources) < 2 else BENT)
    last = RIGHT - SINK - WAY
    width = min((last - first - gap * (count - 1)) / count, 200)
    x = (first + last - width * count - gap * (count - 1)) / 2
    return [(state, (x + place * (width + gap), width)) for place, state in enumerate(states)]


def _operator(
    moment: BatchMoment, at: int, state: OperatorState | None, x: float, width: float
) -> SceneShape:
    name, does = words.STATELESS if state is None else words.operator(state.operator)
    shapes = [
        rect("card", 0, 0, width, DEEP, 10, look="card"),
        text("name", width / 2, 27, fit(name, width - 12, 14), ABOUT, look="head"),
        text("does", width / 2, 46, fit(does, width - 12, 11), ABOUT, look="soft"),
    ]
    label = f"{name}: {does}"
    if state is not None:
        label += f" (Spark's {state.operator})"
        shapes += _store(moment.key, state, width)
    return group(f"operator {at}", x, AXIS - DEEP / 2, shapes, label=label)


def _store(key: str, state: OperatorState, width: float) -> list[SceneShape]:
    """A cylinder, as databases are drawn."""
    wide, half = width - 24, (width - 24) / 2
    top, foot = f"A{half:g} 9 0 0 1 {wide:g} 9", f"A{half:g} 9 0 0 1 0 {STORE - 9}"
    drum = f"M0 9{top}V{STORE - 9}{foot}ZM0 9A{half:g} 9 0 0 0 {wide:g} 9"
    facts = f"{words.many(state.rows, 'row')} of state"
    short = facts if width_of(facts, BOLD) < wide else words.many(state.rows, "row")
    updated = f"{words.amount(state.updated)} updated"
    removed = f", {words.amount(state.removed)} dropped" if state.removed else ""
    shapes = [
        path("drum", drum, look="card"),
        text("rows", half, 40, short, ABOUT, look="bold"),
        text("changes", half, 57, fit(updated + removed, wide - 8, 11), ABOUT, look="soft"),
        text("memory", half, 73, words.size(state.memory), ABOUT, look="soft"),
    ]
    label = f"State: {facts}, {updated}{removed}, {words.size(state.memory)} of memory"
    below = [
        line("down", width / 2, DEEP, width / 2, DEEP + DOWN, look="link"),
        group("store", 12, DEEP + DOWN, shapes, label=label),
    ]
    if state.late:
        told = f"▲ {words.many(state.late, 'row')} too late"
        y = DEEP + DOWN + STORE + 15
        below.append(text("late", width / 2, y, told, ABOUT, look="bad bold"))
    if state.updated:
        drop = f"M{width / 2:g} {DEEP}V{DEEP + DOWN}"
        below.append(travel(f"kept {key}", drop))
    return below


# -- the sink ----------------------------------------------------------------------------------


def _sink(view_state: StreamViewState, moment: BatchMoment) -> SceneShape:
    name = view_state.into or view_state.name or moment.name or moment.sink
    kind = moment.sink if name != moment.sink else "the sink"
    told = moment.rate_out
    rate = "rows are not counted" if told is None else f"{words.rate(told)} rows/s"
    shapes = [
        rect("card", 0, 0, SINK, 80, 10, look="card"),
        text("name", 14, 24, fit(name, SINK - 28, 14), look="head"),
        text("kind", 14, 43, fit(kind, SINK - 28, 11), look="soft"),
        text("rate", 14, 66, rate, look="soft"),
    ]
    count = "?" if moment.rows_out is None else words.amount(moment.rows_out)
    label = f"{name} ({moment.sink}): {count} rows written in batch {moment.batch}"
    return group("sink", RIGHT - SINK, AXIS - 38, shapes, label=label)
