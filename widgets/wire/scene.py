"""The messages as a picture: lifelines, and slanted arrows between them.

    ┌──────────────┬──────────────────────────────────────┐
    │ producer-1      broker 1                            │   parties
    │     │ ─────────────> ┃    Produce v9 · orders-0 ...  │   a request: a solid line
    │     │ <┄┄┄┄┄┄┄┄┄┄┄┄┄ ┃    orders-0 offset 42         │   a response: a dashed one
    │     │ <┄┄┄┄┄┄┄┄┄┄┄✗┄ ┃    ✗ NOT_LEADER_OR_FOLLOWER   │   with an error: a cross, too
    ├──────────────┴──────────────────────────────────────┤
    │ ▁▂▁▁▅▁▁▁▁▁▂▁[▁▁▇▁]                                  │   how much was said when
    ├─────────────────────────────────────────────────────┤
    │ fields                        bytes                 │   of the message that is open
    └─────────────────────────────────────────────────────┘

On a narrow page the words of an arrow stand above it. A pure function of the page: the same page
makes the same picture, with a kernel or without.
"""

from collections.abc import Iterator
from math import hypot

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
from widgets.wire import panel
from widgets.wire.anatomy import ANSWER
from widgets.wire.exchange import MessageArrow
from widgets.wire.page import (
    APART,
    CLOCK,
    FOLD,
    HEAD,
    SLANT,
    TOP,
    WirePage,
    WireRow,
    is_machine,
    spans,
)
from widgets.wire.words import told

STRIP, BARS, BIN = 54, 24, 6.0  # the strip below, the height of its bars, their width
TIP = 7.0  # of an arrow
CROSS = 0.85  # how far along an arrow the cross of an error is
LOOP = 26  # the width of an arrow to itself
WIDEST = 150  # a party's name
NOTHING_YET = "Nobody has said anything yet. What is asked from now on appears here."

NOTHING_SUCH = "Nothing of this kind was said."
NOT_TRACED = (
    "No request is in this recording: record with cluster.trace(frames=True), or a WireView."
)


def picture(page: WirePage, first: int = 0) -> Scene:
    """`first`: the field with which the panel begins."""
    arrow = page.find(page.opened) if page.opened else None
    top = page.bottom + STRIP + 10
    below, height = panel.drawn(arrow, page.width, top, first) if arrow else ([], 0.0)
    shapes = [
        *_lifelines(page),
        *_bars(page),
        *(shape for row in page.rows for shape in _row(page, row)),
        *_strip(page),
        *below,
    ]
    if not page.rows:
        words = NOTHING_YET if page.live else NOTHING_SUCH if page.messages.arrows else NOT_TRACED
        column = TextColumn(page.width / 2, page.lines + 60, page.right - page.left, 16, ABOUT)
        shapes += column.write("nothing", words, "soft").shapes
    count = len(page.parties)
    title = f"What {count} parties say to each other, {len(page.rows)} lines of {len(page.every)}"
    return Scene(page.width, top + height, shapes, title=title, says=_says(page))


def _says(page: WirePage) -> str:
    """The text that is read aloud: the open message, or else the last failed one."""
    arrow = page.find(page.opened) if page.opened else None
    if arrow:
        return label(page, arrow)
    failed = [row.arrow for row in page.rows if not row.folded and told(row.arrow)[1]]
    return label(page, failed[-1]) if failed else ""


# -- parties -----------------------------------------------------------------------------------


def _lifelines(page: WirePage) -> Iterator[SceneShape]:
    look, size, bold = _letters(page)
    for at, (party, x) in enumerate(page.x.items()):
        low = page.levels > 1 and at % 2
        top = TOP + HEAD * low
        room = _room(page, x)
        wide = min(max(width_of(party, size, bold) + 24, 60), room)
        name = fit(party, wide - 4, size, bold)
        yield line(f"life {party}", x, top + HEAD - 6, x, page.bottom, look="quiet")
        inside = [
            rect("box", -wide / 2, 0, wide, HEAD - 6, 8,
                 look="card" if is_machine(party) else "paper"),
            text("name", 0, 18, name, ABOUT, look=look),
        ]  # fmt: skip
        yield group(f"party {party}", x, top, inside, label=party)
    if page.left_out:
        words = f"not drawn: {', '.join(page.left_out)}"
        room = page.right - (page.aside if page.wide else page.left)
        y = TOP + 18 if page.wide else TOP + HEAD * page.levels + 8
        said = fit(words, room, 11)
        yield text("left out", page.right, y, said, UP_TO, look="soft", label=words)


def _room(page: WirePage, x: float) -> float:
    """For a name: up to its neighbours on this level, and to the edge."""
    edge = 2 * min(x - 4, page.width - 4 - x)
    return min(page.levels * page.step - APART, edge, WIDEST)


def _letters(page: WirePage) -> tuple[str, float, bool]:
    """The look of the names, their size, and whether they are bold: the largest that fit."""
    looks = [("bold", 12.0, True), ("letter", 11.0, True), ("tiny", 11.0, False)]
    return next(
        (
            each
            for each in looks
            if all(width_of(it, *each[1:]) + 4 <= _room(page, x) for it, x in page.x.items())
        ),
        looks[-1],
    )


def _bars(page: WirePage) -> Iterator[SceneShape]:
    """The times in which a broker serves a request."""
    for it in spans(page):
        x = page.x[it.server] - 3 + min(it.level, 4) * 5
        box = x, it.begin, 6, max(it.end - it.begin, 3), 2
        yield rect(f"bar {it.number}", *box, look="span now still")


# -- rows --------------------------------------------------------------------------------------


def _row(page: WirePage, row: WireRow) -> Iterator[SceneShape]:
    if row.folded:
        yield _folded(page, row)
        return
    arrow, number = row.arrow, row.arrow.number
    is_open = bool(page.opened) and page.opened.rstrip("<>") == str(number)
    if is_open:
        look = "span" if page.opened == arrow.key else "lens"
        box = page.left - 8, row.y - 2, page.width - 2 * page.left + 16, row.height, 4
        yield rect(f"open {arrow.key}", *box, look=look)
    words, failed = told(arrow)
    x1, x2 = page.x[arrow.source], page.x[arrow.target]
    drawn, head = _loop(x1) if x1 == x2 else _slanted(x1, x2, arrow.lost)
    look = "down" if failed else "link"
    broken = " away" if arrow.way == ANSWER else ""
    inside = [
        path("reach", drawn, look="reach"),
        path("line", drawn, look=f"{look}{broken}"),
        path("head", head, look=look),
    ]
    if failed:
        at = x1 + (x2 - x1) * CROSS if x1 != x2 else x1 + LOOP
        down = SLANT * CROSS - 4 if x1 != x2 else 0
        inside.append(path("cross", f"M{at - 4:.0f} {down:.1f}l8 8m0 -8l-8 8", look="down"))
    said = " · ".join(part for part in (_name(arrow), words) if part)
    said = f"✗ {said}" if failed else said
    look = "soft" if arrow.way == ANSWER else "small"
    inside += _words(page, row, said, f"{look} bad" if failed else look, is_open)
    acts = (Act("read", arrow.key, "open it"),)
    key = f"arrow {arrow.key}"
    yield group(key, 0, row.level, inside, label=label(page, arrow), acts=acts)


def _words(
    page: WirePage, row: WireRow, said: str, look: str, is_open: bool
) -> Iterator[SceneShape]:
    """The time of an arrow, and what it carries: beside it, or above it on a narrow page."""
    clock = page.clock(row.arrow.at)
    if page.wide:
        yield text("time", CLOCK, 3, clock, UP_TO, look="tiny still")
        if page.is_pair:
            left, right = min(page.x.values()), max(page.x.values())
            words = fit(said, right - left - 70, 11.5)
            yield text("words", (left + right) / 2, -2, words, ABOUT, look=look)
        else:
            words = fit(said, page.right - page.aside, 11.5)
            yield text("words", page.aside, 8, words, look=look)
        return
    x, y = page.left + width_of(page.clock(page.rows[-1].arrow.at), 11) + 8, -10
    words = fit(said, page.right - x, 11.5)
    if not is_open:  # the lifelines end here, and go on below
        wide = x - page.left + width_of(words, 11.5) + 4
        yield rect("blank", page.left - 2, y - 11, wide, 15, look="blank")
    yield text("time", page.left, y, clock, look="tiny still")
    yield text("words", x, y, words, look=look)


def _slanted(x1: float, x2: float, lost: bool) -> tuple[str, str]:
    side = 1 if x2 > x1 else -1
    end = x2 - 4 * side if not lost else (x1 + x2) / 2
    y = SLANT if not lost else SLANT / 2
    far = hypot(end - x1, y)
    dx, dy = (end - x1) / far * TIP, y / far * TIP
    head = f"M{end - dx - dy * 0.6:.1f} {y - dy + dx * 0.6:.1f}L{end:.1f} {y}"
    head += f"L{end - dx + dy * 0.6:.1f} {y - dy - dx * 0.6:.1f}"
    return f"M{x1 + 4 * side:.1f} 0L{end:.1f} {y}", head


def _loop(x: float) -> tuple[str, str]:
    """An arrow to itself: a controller is a broker, too."""
    drawn = f"M{x + 4} -3h{LOOP - 6}q6 0 6 {SLANT / 2 + 2}t-6 {SLANT / 2 + 2}h{-LOOP + 8}"
    return drawn, f"M{x + 12} {SLANT - 3}l-6 4l6 4"


def _name(arrow: MessageArrow) -> str:
    if arrow.way == ANSWER:
        return ""
    return arrow.exchange.title if arrow.exchange else arrow.kind


def _folded(page: WirePage, row: WireRow) -> SceneShape:
    """A line that counts periodic messages."""
    xs = list(page.x.values())
    left, right = (xs[0] + 6, xs[-1] - 6) if page.wide else (page.left, page.right)
    middle, room = (left + right) / 2, max(right - left, 10)
    words = fit(f"┆ {row.folded} ┆", room, 11)
    wide = width_of(words, 11) + 4
    inside = [
        rect("back", left, -FOLD / 2, room, FOLD - 2, look="clear"),
        rect("blank", middle - wide / 2, -FOLD / 2 + 1, wide, FOLD - 3, look="blank"),
        text("words", middle, 3.5, words, ABOUT, look="tiny"),
    ]
    acts = (Act("fold", None, "draw them one by one"),)
    told_by = f"{row.folded}, counted in one line: press to draw them one by one"
    return group(f"fold {row.arrow.key}", 0, row.y + FOLD / 2, inside, label=told_by, acts=acts)


def label(page: WirePage, arrow: MessageArrow) -> str:
    """An arrow in a sentence."""
    words, failed = told(arrow)
    verb = "answers" if arrow.way == ANSWER else "asks" if arrow.exchange else "tells"
    if failed and arrow.exchange:
        verb = "refuses"
    kind = arrow.exchange.title if arrow.exchange else arrow.kind
    about = f"{kind} · {words}" if words else kind
    took = ""
    if arrow.way == ANSWER and arrow.exchange:
        took = f", after {arrow.exchange.left - arrow.exchange.came:.1f} ms"
    seconds = page.clock(arrow.at)
    return f"{seconds} s: {arrow.source} {verb} {arrow.target}: {about}{took}"


# -- messages over time --------------------------------------------------------------------


def _strip(page: WirePage) -> Iterator[SceneShape]:
    """The whole run, with a frame around the page, which can be dragged."""
    if not page.every:
        return
    scale, y = page.scale, page.bottom + 8
    bins: dict[int, int] = {}
    for row in page.every:
        at = int((scale.place(row.arrow.at) - scale.x) / BIN)
        bins[at] = bins.get(at, 0) + 1
    most, base = max(bins.values()), y + BARS
    drawn = "".join(
        f"M{scale.x + BIN * at:.0f} {base}v{-max(BARS * number / most, 2):.1f}h{BIN - 1:.0f}V{base}"
        for at, number in sorted(bins.items())
    )
    yield line("strip", scale.x, base, scale.x + scale.width, base, look="rule")
    yield path("bins", drawn, look="span now")
    first, last = page.rows[0].arrow.at, page.rows[-1].arrow.at
    left, right = scale.place(first) - 3, scale.place(last) + BIN + 2
    yield rect("frame", left, y - 4, right - left, BARS + 8, 4, look="follower still")
    yield text("from", scale.x, base + 16, "0 s", look="tiny still")
    words = f"{scale.span / 1000:g} s"
    yield text("to", page.right, base + 16, words, UP_TO, look="tiny still")
    acts = (Act("back", None, "back"), Act("forward", None, "on"))
    said = f"{page.clock(first)} to {page.clock(last)} s is seen; arrows go back and on"
    box = scale.x, y - 4, scale.width, BARS + 8
    yield rect("seek", *box, look="clear", drag="seek", acts=acts, label=said)
