"""A consumer group as a picture: the partitions of each member over time, and each change's cost.

    ┌────────┬──────────────────────────────────────┬──────────┐
    │ c1 ●   │ ━━━━━━━━━━━▒▒━━━━━━━━━━━━━━━━━━┄┄┄┄┄ │ 0 ▐▐ 12  │   lanes, threads, lag
    │ c2 ●   │            ▒▒━━━━━━━━━━━━━━━━━━┄┄┄┄┄ │ 1 ▐ 4    │
    │ till   │               ├──┤✓  ├──┤✗           │          │   transactions, if there are any
    ├────────┴──────────────────────────────────────┴──────────┤
    │          0 s         10 s         20 s                   │   the clock
    │ Generation 2 (range), because c2 joins: ...              │   the last rebalance in words
    └──────────────────────────────────────────────────────────┘

On a narrow page each lane has a heading instead of a card beside it.

A pure function: the same view makes the same picture, with a kernel or without.
"""

from widgets.broker_card import light
from widgets.group.lag import lags
from widgets.group.layout import EDGE, HEADER, MOST_THREADS, NAMES, DeedMark, GroupViewState, Rows
from widgets.group.threads import arrivals, bands, end_of_lags, sentence, threads
from widgets.group.transaction_marks import id_rows, lane_marks, last_sentence, legend
from widgets.log.fields import count
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
    wrap,
)
from widgets.text_column import TextColumn

FOOT = 30  # the clock's
LINE, LEAST = 17, 2  # height of a line of words; so many a run that is over has room for
CARD = NAMES - 30
MARGIN = 20
TICK = 64  # px from one time on the clock to the next, at least
STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600)  # seconds between two ticks
DEEDS = {  # glyph, look, words
    "kill": ("▲", "bad", "killed (SIGKILL)"),
    "freeze": ("❙❙", "crown", "frozen (SIGSTOP)"),
    "thaw": ("●", "ok", "thawed (SIGCONT)"),
    "stop": ("○", "soft", "told to leave (SIGTERM)"),
}
LIGHTS = {"reading": "up", "joining": "starting", "leaving": "starting", "frozen": "paused"}
OFFERS = {
    "reading": (
        ("kill", "kill (SIGKILL)"),
        ("freeze", "freeze (SIGSTOP)"),
        ("stop", "stop: it leaves"),
    ),
    "frozen": (("thaw", "thaw (SIGCONT)"), ("kill", "kill (SIGKILL)")),
}


def picture(view: GroupViewState) -> Scene:
    rows, known = Rows(view), dict(lags(view.state, view.group))
    foot = _words(view, rows, known)
    last = view.history.rounds[-1:]
    says = sentence(last[0], view.now) if view.live and last and last[0].ended else ""
    shapes = [
        *(_ground(view, rows, lane) for lane in view.lanes),
        *threads(view, rows),
        *bands(view, rows),
        *arrivals(view, rows, known),
        *(_consumer(view, rows, lane) for lane in view.lanes),
        *_marks(view, rows),
        *id_rows(view, rows),
        *lane_marks(view, rows),
        *_clock(view, rows),
        *_head(view, rows),
        *_state(view),
        *foot,
    ]
    if not view.lanes:
        middle, y = (view.left + view.right) / 2, view.top + 30
        shapes.append(text("nobody", middle, y, _nobody(view), ABOUT, look="soft"))
    else:
        x, y = end_of_lags(view), view.top - 14
        shapes.append(text("to read", x, y, "still to read", UP_TO, look="soft"))
    lines = max(len(foot), LEAST if view.whole else 0)
    height = rows.bottom + FOOT + LINE * lines + 14
    title = f"Consumer group {view.history.group}, {about(view)}"
    return Scene(view.width, height, shapes, title=title, says=says)


def _nobody(view: GroupViewState) -> str:
    """The text of an empty picture: before the first consumer, or after the last."""
    words = "Nobody reads now." if view.history.rounds else "Nobody reads yet."
    return f"{words} Add a consumer." if "add" in view.acts else words


def header(view: GroupViewState) -> str:
    """A few words above the picture."""
    lag = sum(lags(view.state, view.group).values())
    return f"{view.history.group} · lag {lag:,}"


def about(view: GroupViewState) -> str:
    """The description of the picture, for screen readers."""
    told = view.group
    if told is None:
        return f"{view.history.group} · not there yet"
    lag = sum(lags(view.state, told).values())
    members = count(len(told.members), "consumer")
    strategy = f" · {told.protocol}" if told.protocol else ""
    return (
        f"{view.history.group} · {told.state} · generation {told.generation}{strategy} · "
        f"{members} · lag {lag:,}"
    )


def _state(view: GroupViewState) -> list[SceneShape]:
    """In the corner: the group's state by its coordinator."""
    told = view.group
    if told is None:
        return []
    generation = f"generation {told.generation}"
    if view.narrow:
        words = " · ".join(filter(None, (generation, told.protocol)))
        x = EDGE + width_of(told.state, 11.5, bold=True) + 10
        return [
            text("state", EDGE, 22, told.state, look="bold small"),
            text("generation", x, 22, words, look="soft"),
        ]
    top = view.top
    return [
        text("state", 14, top - 44, told.state, look="bold small"),
        text("generation", 14, top - 29, generation, look="soft"),
        text("protocol", 14, top - 14, told.protocol or "", look="soft"),
    ]


def status(view: GroupViewState, lane: str) -> str:
    """The status of a consumer: our last act on it, or its state in the group."""
    own, present = dict(view.statuses).get(lane, ""), lane in view.history.present
    if own in ("", "reading", "leaving"):
        if present:
            return own or "reading"
        if own == "reading":
            return "joining"
        return "stopped" if own else "gone"
    return own


# -- lanes --------------------------------------------------------------------------------------


def _ground(view: GroupViewState, rows: Rows, lane: str) -> SceneShape:
    left, right = view.left - 6, view.right + 6
    if view.narrow:
        left, right = 8, view.width - 8
    where = left, rows.top[lane], right - left, rows.height[lane], 6
    return group(f"lane {lane}", 0, 0, [rect("ground", *where, look="card")])


def _consumer(view: GroupViewState, rows: Rows, lane: str) -> SceneShape:
    now = status(view, lane)
    share, present = view.history.share(lane), lane in view.history.present
    away = not present or now in ("killed", "frozen")
    has = count(len(share), "partition")
    words = now if now in ("gone", "stopped", "failed", "joining") else has
    if now == "killed":
        words = "killed, not missed yet" if present else "killed"
    elif now == "frozen":
        words = f"frozen, {has}" if present else "frozen, thrown out"
    read = ", ".join(share) if len(share) <= 8 else has
    label = f"consumer {lane}: {now}, has {read or 'nothing'}"
    found = OFFERS.get("reading" if now == "joining" else now, ())
    own = dict(view.statuses)
    acts = tuple(Act(name, lane, does) for name, does in found if lane in own and name in view.acts)
    look = "soft bad" if away else "soft"
    if view.narrow:
        x, shapes = 8.0, _heading(view.width - 16, lane, now, words, look)
    else:
        x, shapes = 14.0, _card(rows.height[lane], lane, now, words, look, away)
    return group(f"consumer {lane}", x, rows.top[lane], shapes, label=label, acts=acts)


def _card(
    height: float, lane: str, now: str, words: str, look: str, away: bool
) -> list[SceneShape]:
    """Beside the threads."""
    return [
        rect("card", 0, 0, CARD, height, 10, look="card away" if away else "card"),
        *_light(now),
        text("name", 34, 25, fit(lane, CARD - 44, 14, bold=True), look="head"),
        text("words", 14, 45, fit(words, CARD - 22, 11), look=look),
    ]


def _heading(width: float, lane: str, now: str, words: str, look: str) -> list[SceneShape]:
    """Above the threads; those that move run behind the name."""
    name = fit(lane, width - 34 - width_of(words, 11) - 36, 14, bold=True)
    tag = [
        rect("box", 6, 7.5, 38 + width_of(name, 14, bold=True), 25, 12, look="paper"),
        *_light(now),
        text("name", 34, 25, name, look="head"),
    ]
    return [
        rect("back", 0, 0, width, HEADER, 6, look="clear"),
        group("who", 0, -2, tag),
        text("words", width - 12, 22, words, UP_TO, look=look),
    ]


def _light(now: str) -> list[SceneShape]:
    return light(LIGHTS.get(now, "down"), 20, 20)


def _marks(view: GroupViewState, rows: Rows) -> list[SceneShape]:
    """Two glyphs in a lane that have no room are side by side; their stems show the times."""
    shapes = []
    free: dict[str, float] = {}  # the end of the last glyph, by lane
    for mark in view.marks:
        if mark.lane in rows.top and view.seen(mark.at, mark.at):
            x, half = view.scale.place(mark.at), width_of(DEEDS[mark.deed][0], 13) / 2
            aside = max(free.get(mark.lane, 0) + half - x, 0)
            free[mark.lane] = x + aside + half
            shapes.append(_mark(view, rows, mark, aside))
    return shapes


def _mark(view: GroupViewState, rows: Rows, mark: DeedMark, aside: float) -> SceneShape:
    glyph, look, words = DEEDS[mark.deed]
    x, y = view.scale.place(mark.at), rows.top[mark.lane] + rows.header
    height = rows.height[mark.lane] - rows.header
    label = f"{(mark.at - view.start) / 1000:.1f} s: {mark.lane} {words}"
    inside = [
        line("stem", 0, 6, 0, height - 4, look="tick"),
        text("glyph", aside, 5, glyph, ABOUT, look=f"mark {look}"),
    ]
    return group(f"mark {mark.deed} {mark.lane} {mark.at}", x, y, inside, label=label)


# -- below --------------------------------------------------------------------------------------


def _clock(view: GroupViewState, rows: Rows) -> list[SceneShape]:
    scale, y = view.scale, rows.bottom + 2
    left, right = view.left, view.right
    shapes = [line("axis", left, y, right, y, look="rule")]
    most = min((right - left) / TICK, 8)
    step = next((it for it in STEPS if scale.span / 1000 / it <= most), STEPS[-1]) * 1000
    first = -(-(scale.start - view.start) // step) * step
    for passed in range(first, first + scale.span + 1, step):
        at = view.start + passed
        if scale.start <= at <= scale.start + scale.span:
            x = scale.place(at)
            shapes.append(line(f"tick {passed}", x, y, x, y + 4, look="tick"))
            words = f"{passed / 1000:g} s"
            shapes.append(text(f"time {passed}", x, y + 17, words, ABOUT, look="tiny"))
    now = scale.place(view.now)
    if view.live and view.lanes:
        shapes.append(line("now", now, view.top - 6, now, y, look="tick"))
    return shapes


def _head(view: GroupViewState, rows: Rows) -> list[SceneShape]:
    """In a finished run: the current moment, which can be dragged along the clock."""
    if "seek" not in view.acts or view.span:
        return []
    x, y = view.scale.place(view.now), rows.bottom + 2
    clock = f"{(view.now - view.start) / 1000:.1f} s"
    acts = Act("back", None, "step back"), Act("forward", None, "step forward")
    label = f"time: {clock} of {view.scale.span / 1000:.1f} s; arrows step"
    left, right = view.left, view.right
    strip = left, y - 12, right - left, 34
    return [
        line("stem", x, view.top - 6, x, y, look="tick"),
        line("future", left, y, right, y, look="future"),
        line("past", left, y, x, y, look="past"),
        rect("timeline", *strip, look="clear", label=label, acts=acts, drag="seek"),
        circle("head", x, y, 8, look="handle still"),
        text("clock", end_of_lags(view), y + 4, clock, UP_TO, look="bold"),
    ]


def _words(view: GroupViewState, rows: Rows, known: dict[str, int]) -> list[SceneShape]:
    """The last rebalance, and the time until the group noticed that one was needed."""
    told = []
    if view.history.rounds:
        told.append(sentence(view.history.rounds[-1], view.now))
        told += _unread(view)
    told += last_sentence(view)
    left_out = len(view.partitions) - MOST_THREADS
    if left_out > 0:
        told.append(f"{MOST_THREADS} partitions are drawn, {left_out:,} more are not.")
    parts = [part for words in told for part in wrap(words, view.width - 2 * MARGIN)]
    column = TextColumn(MARGIN, rows.bottom + FOOT + 10, view.width - 2 * MARGIN, LINE)
    column.put("words", parts)
    return column.write("legend", legend(view), "soft").shapes


def _unread(view: GroupViewState) -> list[str]:
    """How long the partitions of a dead or frozen consumer were not read."""
    last = view.history.rounds[-1]
    found = []
    for lane in last.lost:
        since = [began for began, _ in view.away(lane) if began <= last.began]
        if since and last.ended:
            whole, noticed = (last.ended - since[-1]) / 1000, (last.began - since[-1]) / 1000
            found.append(
                f"What {lane} had was read by nobody for {whole:.2f} s, of which {noticed:.2f} s "
                f"passed until its session ran out."
            )
    return found
