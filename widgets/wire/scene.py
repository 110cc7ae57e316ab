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

A pure function of the page: the same page makes the same picture, with a kernel or without.
"""

from collections.abc import Iterator
from math import hypot

from widgets.scene import ABOUT, UP_TO, Act, Scene, SceneShape, fit, group, line, path, rect, text
from widgets.wire import panel
from widgets.wire.anatomy import ANSWER
from widgets.wire.exchange import MessageArrow
from widgets.wire.page import (
    ASIDE,
    CLOCK,
    FOLD,
    HEAD,
    LINES,
    RIGHT,
    ROW,
    SLANT,
    TOP,
    WIDTH,
    WirePage,
    WireRow,
    is_machine,
    spans,
)
from widgets.wire.words import told

STRIP, BARS, BIN = 44, 24, 6.0  # the strip below, the height of its bars, their width
TIP = 7.0  # of an arrow
CROSS = 0.85  # how far along an arrow the cross of an error is
LOOP = 26  # the width of an arrow to itself
NARROW, WIDEST = 90, 130  # a party's name
NOTHING_YET = "Nobody has said anything yet. What is asked from now on appears here."

NOTHING_SUCH = "Nothing of this kind was said."
NOT_TRACED = (
    "No request is in this recording: record with cluster.trace(frames=True), or a WireView."
)


def picture(page: WirePage, first: int = 0) -> Scene:
    """`first`: the field with which the panel begins."""
    arrow = page.find(page.opened) if page.opened else None
    top = page.bottom + STRIP + 10
    below, height = panel.drawn(arrow, top, first) if arrow else ([], 0.0)
    shapes = [
        *_lifelines(page),
        *_bars(page),
        *(shape for row in page.rows for shape in _row(page, row)),
        *_strip(page),
        *below,
    ]
    if not page.rows:
        words = NOTHING_YET if page.live else NOTHING_SUCH if page.messages.arrows else NOT_TRACED
        shapes.append(text("nothing", WIDTH / 2, LINES + 60, words, ABOUT, look="soft"))
    count = len(page.parties)
    title = f"What {count} parties say to each other, {len(page.rows)} lines of {len(page.every)}"
    return Scene(WIDTH, top + height, shapes, title=title, says=_says(page))


def _says(page: WirePage) -> str:
    """The text that is read aloud: the open message, or else the last failed one."""
    arrow = page.find(page.opened) if page.opened else None
    if arrow:
        return label(page, arrow)
    failed = [row.arrow for row in page.rows if not row.folded and told(row.arrow)[1]]
    return label(page, failed[-1]) if failed else ""


# -- parties -----------------------------------------------------------------------------------


def _lifelines(page: WirePage) -> Iterator[SceneShape]:
    step = (page.x[page.parties[-1]] - page.x[page.parties[0]]) if page.parties else 0
    wide = min(step / max(len(page.parties) - 1, 1) - 6, WIDEST) if len(page.parties) > 1 else 110
    for party, x in page.x.items():
        look = "card" if is_machine(party) else "paper"
        size = 12 if wide > NARROW else 11
        name = fit(party, wide - 5, size)
        yield line(f"life {party}", x, TOP + HEAD, x, page.bottom, look="quiet")
        inside = [
            rect("box", -wide / 2, 0, wide, HEAD - 6, 8, look=look),
            text("name", 0, 18, name, ABOUT, look="bold" if wide > NARROW else "letter"),
        ]
        yield group(f"party {party}", x, TOP, inside, label=party)
    if page.left_out:
        words = f"not drawn: {', '.join(page.left_out)}"
        yield text("left out", RIGHT, TOP + 18, fit(words, RIGHT - ASIDE, 11), UP_TO, look="soft")


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
    arrow, y = row.arrow, row.y + ROW - SLANT - 4
    number = arrow.number
    is_open = bool(page.opened) and page.opened.rstrip("<>") == str(number)
    if is_open:
        look = "span" if page.opened == arrow.key else "lens"
        yield rect(f"open {arrow.key}", 8, row.y - 2, WIDTH - 16, ROW, 4, look=look)
    yield text(f"t {arrow.key}", CLOCK, y + 3, page.clock(arrow.at), UP_TO, look="tiny still")
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
    inside += _words(page, arrow, words, failed, (x1 + x2) / 2)
    acts = (Act("read", arrow.key, "open it"),)
    yield group(f"arrow {arrow.key}", 0, y, inside, label=label(page, arrow), acts=acts)


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


def _words(
    page: WirePage, arrow: MessageArrow, words: str, failed: bool, middle: float
) -> Iterator[SceneShape]:
    name, room = _name(arrow), 0.0
    cross = "✗ " if failed else ""
    look = "soft" if arrow.way == ANSWER else "small"
    look += " bad" if failed else ""
    said = cross + " · ".join(part for part in (name, words) if part)
    if page.is_pair:
        left, right = min(page.x.values()), max(page.x.values())
        yield text("words", (left + right) / 2, -2, fit(said, right - left - 70, 11.5), ABOUT,
                   look=look)  # fmt: skip
        return
    room = RIGHT - ASIDE
    yield text("words", ASIDE, 8, fit(said, room, 11.5), look=look)


def _name(arrow: MessageArrow) -> str:
    if arrow.way == ANSWER:
        return ""
    return arrow.exchange.title if arrow.exchange else arrow.kind


def _folded(page: WirePage, row: WireRow) -> SceneShape:
    """A line that counts periodic messages."""
    xs = list(page.x.values())
    y = row.y + FOLD / 2
    middle = (xs[0] + xs[-1]) / 2
    left, right = xs[0] + 6, xs[-1] - 6
    words = f"┆ {row.folded} ┆"
    inside = [
        rect("back", left, -FOLD / 2, max(right - left, 10), FOLD - 2, look="clear"),
        text("words", middle, 3.5, words, ABOUT, look="tiny"),
    ]
    acts = (Act("fold", None, "draw them one by one"),)
    told_by = f"{row.folded}, counted in one line: press to draw them one by one"
    return group(f"fold {row.arrow.key}", 0, y, inside, label=told_by, acts=acts)


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
    yield text("from", scale.x - 6, base, "0 s", UP_TO, look="tiny still")
    words = f"{scale.span / 1000:g} s"
    yield text("to", RIGHT, base + 14, words, UP_TO, look="tiny still")
    acts = (Act("back", None, "back"), Act("forward", None, "on"))
    said = f"{page.clock(first)} to {page.clock(last)} s is seen; arrows go back and on"
    box = scale.x, y - 4, scale.width, BARS + 8
    yield rect("seek", *box, look="clear", drag="seek", acts=acts, label=said)
