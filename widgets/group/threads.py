"""Partitions as threads through the lanes of a group, and rebalances as bands across them.

    solid   its consumer reads it            ━━━━━━━━━━
    pale    its consumer is dead or frozen,  ──────────
            and the group has not noticed
    cross   it moves to another lane         ━━━━╲━━━━━

Colours repeat after four, dashed; and each thread has its number where it begins in a lane.
"""

from itertools import pairwise

from widgets.group.history import RebalanceRound, Spell
from widgets.group.layout import GroupViewState, Rows
from widgets.log.fields import count
from widgets.scene import ABOUT, UP_TO, SceneShape, fit, group, line, path, rect, text, width_of

HUES = ("lead thick", "paused thick", "kept", "follower thick")
CLOSE = 1500  # ms without an owner, except in rebalances, after which it does not count as a move
NARROW = 3.0  # the least width of a band
CAUSE = 150  # the longest text about its cause


def hue(number: int) -> str:
    """The colour of the thread with this number: solid, then dashed, and so on."""
    dashed = " away" if number // len(HUES) % 2 else ""
    return HUES[number % len(HUES)] + dashed


def threads(view: GroupViewState, rows: Rows) -> list[SceneShape]:
    shapes: list[SceneShape] = []
    numbers: list[SceneShape] = []  # above all threads
    for partition in view.threads:
        look, spells = hue(view.places[partition]), rows.spells.get(partition, [])
        read, unread = _drawn(view, rows, spells)
        if read:
            owner = next((it.lane for it in spells if it.end is None), "nobody")
            label = f"{partition}: {owner} has it now"
            shapes.append(path(f"thread {partition}", read, look=look, label=label))
        if unread:
            label = f"{partition}: its consumer does not read"
            shapes.append(path(f"unread {partition}", unread, look=f"{look} written", label=label))
        if rows.pitch > 10:
            numbers += _numbers(view, rows, partition, spells)
    return shapes + numbers


def _drawn(view: GroupViewState, rows: Rows, spells: list[Spell]) -> tuple[str, str]:
    """The times in which it is read, and not read, as paths."""
    scale, read, unread = view.scale, "", ""
    for spell in spells:
        y, at = rows.y(spell), spell.start
        end = view.now if spell.end is None else spell.end
        for began, over in view.away(spell.lane):
            began, over = max(began, at), min(over, end)
            if began < over:
                read += _run(scale.place(at), scale.place(began), y)
                unread += _run(scale.place(began), scale.place(over), y)
                at = over
        read += _run(scale.place(at), scale.place(end), y)
    for one, other in pairwise(spells):
        if one.end is not None and _moves(view, one.end, other.start):
            x, to = scale.place(one.end), scale.place(other.start)
            if to > view.left:
                bend, y = (x + to) / 2, rows.y(other)
                read += f"M{x:.1f} {rows.y(one):.1f}C{bend:.1f} {rows.y(one):.1f} "
                read += f"{bend:.1f} {y:.1f} {to:.1f} {y:.1f}"
    return read, unread


def _run(x: float, to: float, y: float) -> str:
    return f"M{x:.1f} {y:.1f}H{to:.1f}" if to - x > 0.05 else ""


def _moves(view: GroupViewState, end: int, start: int) -> bool:
    """Moves to another consumer, with no time between except a rebalance."""
    covered = sum(
        max(min(it.ended or view.now, start) - max(it.began, end), 0) for it in view.history.rounds
    )
    return start - end - covered < CLOSE


def _numbers(
    view: GroupViewState, rows: Rows, partition: str, spells: list[Spell]
) -> list[SceneShape]:
    shapes = []
    for spell in spells:
        x = view.scale.place(spell.start) + 5
        end = view.scale.place(view.now if spell.end is None else spell.end)
        word, y = view.short(partition), rows.y(spell)
        width = width_of(word, 11, bold=True) + 7
        if end - x > width + 8:
            inside = [
                rect("box", 0, -6.5, width, 13, 4, look="paper"),
                text("word", width / 2, 3.6, word, ABOUT, look="letter"),
            ]
            shapes.append(group(f"number {partition} {spell.start}", x, y, inside))
    return shapes


# -- bands --------------------------------------------------------------------------------------


def bands(view: GroupViewState, rows: Rows) -> list[SceneShape]:
    """The texts are placed from the newest on; those without room are tooltips only."""
    shapes: list[SceneShape] = []
    taken: list[tuple[float, float]] = []
    for it in reversed(view.rounds):
        x = view.scale.place(it.began)
        end = view.scale.place(view.now if it.ended is None else it.ended)
        width = max(end - x, NARROW)
        top = view.top - 6
        inside = [rect("band", 0, top, width, rows.bottom - top - 4, look="lens")]
        inside += [
            line(key, at, top, at, rows.bottom - 4, look="quiet")
            for key, at in (("from", 0.0), ("to", width))
        ]
        inside += _words(view, it, x, width, taken)
        key = f"round {it.began}"
        shapes.append(group(key, x, 0, inside, label=sentence(it, view.now)))
    return shapes[::-1]


def _words(
    view: GroupViewState,
    it: RebalanceRound,
    x: float,
    width: float,
    taken: list[tuple[float, float]],
) -> list[SceneShape]:
    """How many moved, and the pause; if there is more room, the cause."""
    moved = f"{len(it.moved)} moved" if it.ended else "..."
    told = [
        ("moved", moved, "bold small", width_of(moved, 11.5, bold=True)),
        ("lasted", lasted := f"{it.lasted(view.now):.2f} s", "small", width_of(lasted, 11.5)),
        ("cause", cause := fit(it.causes[-1], CAUSE, 11), "tiny", width_of(cause, 11)),
    ]
    while not (place := _room(view, x + width / 2, max(it[-1] for it in told), taken)):
        told.pop()
        if len(told) < 2:
            return []
    return [
        text(key, place - x, view.top - 46 + 14 * row, words, ABOUT, look=look)
        for row, (key, words, look, _) in enumerate(told)
    ]


def _room(
    view: GroupViewState, middle: float, width: float, taken: list[tuple[float, float]]
) -> float:
    """Where the middle of so wide a text can be, about there; 0: nowhere."""
    half = width / 2 + 3
    middle = min(max(middle, view.left + half), view.right - half)
    if any(middle + half > left and middle - half < right for left, right in taken):
        return 0
    taken.append((middle - half, middle + half))
    return middle


def sentence(it: RebalanceRound, now: int) -> str:
    why = "; ".join(dict.fromkeys(it.causes))
    if it.ended is None:
        return f"Rebalance, because {why}: {it.lasted(now):.2f} s so far."
    if not it.shared:
        return f"The group is empty, because {why}."
    pause = "who keeps a partition may read on" if it.cooperative else "everybody stands still"
    return (
        f"Generation {it.generation} ({it.protocol}), because {why}: {pause} for "
        f"{it.lasted(now):.2f} s, {len(it.moved)} of {it.shared} partitions move."
    )


# -- lag -------------------------------------------------------------------

NAME, BAR = 24, 60  # where the name ends, and the longest bar


def arrivals(view: GroupViewState, rows: Rows, lags: dict[str, int]) -> list[SceneShape]:
    """At the right edge, beside each thread: which partition it is, and its lag."""
    shapes: list[SceneShape] = []
    most = max([*lags.values(), 1])
    right, now = view.right, view.scale.place(view.now)
    room = 0 if view.narrow else BAR
    for partition in view.threads:
        spells = rows.spells.get(partition, [])
        if not spells or spells[-1].end is not None or rows.pitch < 10:
            continue
        y, lag = rows.y(spells[-1]), lags.get(partition, 0)
        word = view.short(partition)
        inside = [text("name", NAME, 4, word, UP_TO, look="bold small")]
        if right - now > 2:
            inside.append(line("to come", now - right - 6, 0, -6, 0, look="quiet"))
        if lag and room:
            bar = max(room * lag / most, 2)
            inside.append(rect("bar", NAME + 8, -4, bar, 8, 2, look="watermark"))
        number = end_of_lags(view) - right - 6
        told = fit(f"{lag:,}", number - NAME - room - 8, 11)
        inside.append(text("lag", number, 4, told, UP_TO, look="soft"))
        label = f"{partition}: {spells[-1].lane} has {count(lag, 'record')} still to read"
        shapes.append(group(f"lag {partition}", right + 6, y, inside, label=label))
    return shapes


def end_of_lags(view: GroupViewState) -> float:
    """The right end of the numbers."""
    return view.width - (18 if view.narrow else 40)
