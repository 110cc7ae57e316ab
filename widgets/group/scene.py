"""A consumer group as a picture: who reads what, since when, and what each change cost.

    ┌────────┬──────────────────────────────────────┬──────────┐
    │ c1 ●   │ ━━━━━━━━━━━▒▒━━━━━━━━━━━━━━━━━━┄┄┄┄┄ │ 0 ▐▐ 12  │   lanes, threads, lag
    │ c2 ●   │            ▒▒━━━━━━━━━━━━━━━━━━┄┄┄┄┄ │ 1 ▐ 4    │
    ├────────┴──────────────────────────────────────┴──────────┤
    │          0 s         10 s         20 s                   │   the clock
    │ Generation 2 (range), because c2 joins: ...              │   the last rebalance in words
    └──────────────────────────────────────────────────────────┘

A pure function: the same scenery makes the same picture, with a kernel or without.
"""

from widgets.group.lag import lags
from widgets.group.plan import LEFT, MOST_THREADS, RIGHT, TOP, WIDTH, Mark, Rows, Scenery
from widgets.group.threads import arrivals, bands, sentence, threads
from widgets.scene import (
    ABOUT,
    UP_TO,
    Act,
    Scene,
    Shape,
    circle,
    fit,
    group,
    line,
    path,
    rect,
    text,
    wrap,
)

FOOT = 30  # the clock's
LINE, LEAST = 17, 2  # height of a line of words; so many a run that is over has room for
CARD = LEFT - 30
STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600)  # seconds between two ticks
DEEDS = {  # glyph, look, words
    "kill": ("▲", "bad", "killed (SIGKILL)"),
    "freeze": ("❙❙", "crown", "frozen (SIGSTOP)"),
    "thaw": ("●", "ok", "thawed (SIGCONT)"),
    "stop": ("○", "soft", "told to leave (SIGTERM)"),
}
OFFERS = {
    "reading": (
        ("kill", "kill (SIGKILL)"),
        ("freeze", "freeze (SIGSTOP)"),
        ("stop", "stop: it leaves"),
    ),
    "frozen": (("thaw", "thaw (SIGCONT)"), ("kill", "kill (SIGKILL)")),
}


def picture(scenery: Scenery) -> Scene:
    rows, known = Rows(scenery), dict(lags(scenery.state, scenery.group))
    foot = _words(scenery, rows, known)
    last = scenery.history.rounds[-1:]
    says = sentence(last[0], scenery.now) if scenery.live and last and last[0].ended else ""
    shapes = [
        *(_ground(rows, lane) for lane in scenery.lanes),
        *threads(scenery, rows),
        *bands(scenery, rows),
        *arrivals(scenery, rows, known),
        *(_card(scenery, rows, lane) for lane in scenery.lanes),
        *_marks(scenery, rows),
        *_clock(scenery, rows),
        *_head(scenery, rows),
        *_state(scenery),
        *foot,
    ]
    if not scenery.lanes:
        hint = "Nobody reads yet. Add a consumer." if "add" in scenery.acts else "Nobody reads yet."
        shapes.append(text("nobody", (LEFT + RIGHT) / 2, TOP + 30, hint, ABOUT, look="soft"))
    else:
        shapes.append(
            text("to read", WIDTH - 40, TOP - 14, "still to read", UP_TO, look="soft"),
        )
    lines = max(len(foot), LEAST if scenery.whole else 0)
    height = rows.bottom + FOOT + LINE * lines + 14
    title = f"Consumer group {scenery.history.group}, {about(scenery)}"
    return Scene(WIDTH, height, shapes, title=title, says=says)


def header(scenery: Scenery) -> str:
    """A few words above the picture."""
    lag = sum(lags(scenery.state, scenery.group).values())
    return f"{scenery.history.group} · lag {lag:,}"


def about(scenery: Scenery) -> str:
    """What the picture is, read aloud."""
    told = scenery.group
    if told is None:
        return f"{scenery.history.group} · not there yet"
    count, lag = len(told.members), sum(lags(scenery.state, told).values())
    members = f"{count} consumer{'' if count == 1 else 's'}"
    strategy = f" · {told.protocol}" if told.protocol else ""
    return (
        f"{scenery.history.group} · {told.state} · generation {told.generation}{strategy} · "
        f"{members} · lag {lag:,}"
    )


def _state(scenery: Scenery) -> list[Shape]:
    """In the corner: what the coordinator has to say of the group."""
    told = scenery.group
    if told is None:
        return []
    return [
        text("state", 14, TOP - 44, told.state, look="bold small"),
        text("generation", 14, TOP - 29, f"generation {told.generation}", look="soft"),
        text("protocol", 14, TOP - 14, told.protocol or "", look="soft"),
    ]


def status(scenery: Scenery, lane: str) -> str:
    """A consumer's, in a word: what we did to it, or what the group thinks."""
    own, present = dict(scenery.statuses).get(lane, ""), lane in scenery.history.present
    if own in ("", "reading", "leaving"):
        if present:
            return own or "reading"
        if own == "reading":
            return "joining"
        return "stopped" if own else "gone"
    return own


# -- lanes --------------------------------------------------------------------------------------


def _ground(rows: Rows, lane: str) -> Shape:
    where = LEFT - 6, rows.top[lane], RIGHT - LEFT + 12, rows.height[lane], 6
    return rect(f"lane {lane}", *where, look="card")


def _card(scenery: Scenery, rows: Rows, lane: str) -> Shape:
    now, height = status(scenery, lane), rows.height[lane]
    share, present = scenery.history.share(lane), lane in scenery.history.present
    away = not present or now in ("killed", "frozen")
    count = f"{len(share)} partition{'' if len(share) == 1 else 's'}"
    words = now if now in ("gone", "stopped", "failed", "joining") else count
    if now == "killed":
        words = "killed, not missed yet" if present else "killed"
    elif now == "frozen":
        words = f"frozen, {count}" if present else "frozen, thrown out"
    shapes = [
        rect("card", 0, 0, CARD, height, 10, look="card away" if away else "card"),
        *_light(now),
        text("name", 34, 25, fit(lane, CARD - 44, 14), look="head"),
        text("words", 14, 45, fit(words, CARD - 22, 11), look="soft bad" if away else "soft"),
    ]
    read = ", ".join(share) if len(share) <= 8 else count
    label = f"consumer {lane}: {now}, has {read or 'nothing'}"
    found = OFFERS.get("reading" if now == "joining" else now, ())
    own = dict(scenery.statuses)
    acts = tuple(
        Act(name, lane, does) for name, does in found if lane in own and name in scenery.acts
    )
    return group(f"consumer {lane}", 14, rows.top[lane], shapes, label=label, acts=acts)


def _light(now: str) -> list[Shape]:
    """Reads: filled. On its way: a ring. Frozen: two bars. Gone: a cross."""
    match now:
        case "reading":
            return [circle("light", 20, 20, 6, look="alive")]
        case "joining" | "leaving":
            return [circle("light", 20, 20, 6, look="paused away")]
        case "frozen":
            return [path("light", "M17 14v12M23 14v12", look="paused thick")]
        case _:
            bars = path("cross", "M16 16l8 8m0 -8l-8 8", look="down")
            return [circle("light", 20, 20, 7, look="down"), bars]


def _marks(scenery: Scenery, rows: Rows) -> list[Shape]:
    shapes = []
    for mark in scenery.marks:
        if mark.lane in rows.top and scenery.seen(mark.at, mark.at):
            shapes.append(_mark(scenery, rows, mark))
    return shapes


def _mark(scenery: Scenery, rows: Rows, mark: Mark) -> Shape:
    glyph, look, words = DEEDS[mark.deed]
    x, y = scenery.scale.place(mark.at), rows.top[mark.lane]
    height = rows.height[mark.lane]
    label = f"{(mark.at - scenery.start) / 1000:.1f} s: {mark.lane} {words}"
    inside = [
        line("stem", 0, 6, 0, height - 4, look="tick"),
        text("glyph", 0, 5, glyph, ABOUT, look=f"mark {look}"),
    ]
    return group(f"mark {mark.deed} {mark.lane} {mark.at}", x, y, inside, label=label)


# -- below --------------------------------------------------------------------------------------


def _clock(scenery: Scenery, rows: Rows) -> list[Shape]:
    scale, y = scenery.scale, rows.bottom + 2
    shapes = [line("axis", LEFT, y, RIGHT, y, look="rule")]
    step = next((it for it in STEPS if scale.span / 1000 / it <= 8), STEPS[-1]) * 1000
    first = -(-(scale.start - scenery.start) // step) * step
    for passed in range(first, first + scale.span + 1, step):
        at = scenery.start + passed
        if scale.start <= at <= scale.start + scale.span:
            x = scale.place(at)
            shapes.append(line(f"tick {passed}", x, y, x, y + 4, look="tick"))
            words = f"{passed / 1000:g} s"
            shapes.append(text(f"time {passed}", x, y + 17, words, ABOUT, look="tiny"))
    now = scale.place(scenery.now)
    if scenery.live:
        shapes.append(line("now", now, TOP - 6, now, y, look="tick"))
    return shapes


def _head(scenery: Scenery, rows: Rows) -> list[Shape]:
    """Of a run that is over: where we are in it, to be dragged along the clock."""
    if "seek" not in scenery.acts or scenery.span:
        return []
    x, y = scenery.scale.place(scenery.now), rows.bottom + 2
    clock = f"{(scenery.now - scenery.start) / 1000:.1f} s"
    acts = Act("back", None, "step back"), Act("forward", None, "step forward")
    label = f"time: {clock} of {scenery.scale.span / 1000:.1f} s; arrows step"
    strip = LEFT, y - 12, RIGHT - LEFT, 34
    return [
        line("stem", x, TOP - 6, x, y, look="tick"),
        line("future", LEFT, y, RIGHT, y, look="future"),
        line("past", LEFT, y, x, y, look="past"),
        rect("timeline", *strip, look="clear", label=label, acts=acts, drag="seek"),
        circle("head", x, y, 8, look="handle still"),
        text("clock", WIDTH - 40, y + 4, clock, UP_TO, look="bold"),
    ]


def _words(scenery: Scenery, rows: Rows, known: dict[str, int]) -> list[Shape]:
    """The last rebalance, and what it took to notice that one was needed."""
    told = []
    if scenery.history.rounds:
        told.append(sentence(scenery.history.rounds[-1], scenery.now))
        told += _unread(scenery)
    left_out = len(scenery.partitions) - MOST_THREADS
    if left_out > 0:
        told.append(f"{MOST_THREADS} partitions are drawn, {left_out:,} more are not.")
    parts = [part for words in told for part in wrap(words, WIDTH - 40, 12)]
    return [
        text(f"words {number}", 20, rows.bottom + FOOT + 10 + LINE * number, part)
        for number, part in enumerate(parts)
    ]


def _unread(scenery: Scenery) -> list[str]:
    """For how long nobody read what a dead or frozen consumer had."""
    last = scenery.history.rounds[-1]
    found = []
    for lane in last.lost:
        since = [began for began, _ in scenery.away(lane) if began <= last.began]
        if since and last.ended:
            whole, noticed = (last.ended - since[-1]) / 1000, (last.began - since[-1]) / 1000
            found.append(
                f"What {lane} had was read by nobody for {whole:.2f} s, of which {noticed:.2f} s "
                f"passed until its session ran out."
            )
    return found
