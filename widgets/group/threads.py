"""Partitions as threads through the lanes of a group, and rebalances as bands across them.

    solid   its consumer reads it            ━━━━━━━━━━
    pale    its consumer is dead or frozen,  ──────────
            and the group has not noticed
    cross   it moves to another lane         ━━━━╲━━━━━

Colours repeat after four, dashed; and each thread has its number where it begins in a lane.
"""

from itertools import pairwise

from widgets.group.history import Round, Spell
from widgets.group.plan import LEFT, RIGHT, TOP, Rows, Scenery
from widgets.scene import ABOUT, UP_TO, Shape, fit, group, line, path, rect, text, width_of

HUES = ("lead thick", "paused thick", "kept", "follower thick")
CLOSE = 1500  # ms without an owner, rebalances left out, after which it is not a move any more
NARROW = 3.0  # the least width of a band


def hue(number: int) -> str:
    """Of the thread at a place in the list: solid, then dashed, and so on."""
    dashed = " away" if number // len(HUES) % 2 else ""
    return HUES[number % len(HUES)] + dashed


def threads(scenery: Scenery, rows: Rows) -> list[Shape]:
    shapes: list[Shape] = []
    for partition in scenery.threads:
        look, spells = hue(scenery.places[partition]), rows.spells.get(partition, [])
        read, unread = _drawn(scenery, rows, spells)
        if read:
            owner = next((it.lane for it in spells if it.end is None), "nobody")
            label = f"{partition}: {owner} has it now"
            shapes.append(path(f"thread {partition}", read, look=look, label=label))
        if unread:
            label = f"{partition}: its consumer does not read"
            shapes.append(path(f"unread {partition}", unread, look=f"{look} written", label=label))
        if rows.pitch > 10:
            shapes += _numbers(scenery, rows, partition, spells)
    return shapes


def _drawn(scenery: Scenery, rows: Rows, spells: list[Spell]) -> tuple[str, str]:
    """What is read, and what is not, as paths."""
    scale, read, unread = scenery.scale, "", ""
    for spell in spells:
        y, at = rows.y(spell), spell.start
        end = scenery.now if spell.end is None else spell.end
        for began, over in scenery.away(spell.lane):
            began, over = max(began, at), min(over, end)
            if began < over:
                read += _run(scale.place(at), scale.place(began), y)
                unread += _run(scale.place(began), scale.place(over), y)
                at = over
        read += _run(scale.place(at), scale.place(end), y)
    for one, other in pairwise(spells):
        if one.end is not None and _moves(scenery, one.end, other.start):
            x, to = scale.place(one.end), scale.place(other.start)
            if to > LEFT:
                bend, y = (x + to) / 2, rows.y(other)
                read += f"M{x:.1f} {rows.y(one):.1f}C{bend:.1f} {rows.y(one):.1f} "
                read += f"{bend:.1f} {y:.1f} {to:.1f} {y:.1f}"
    return read, unread


def _run(x: float, to: float, y: float) -> str:
    return f"M{x:.1f} {y:.1f}H{to:.1f}" if to - x > 0.05 else ""


def _moves(scenery: Scenery, end: int, start: int) -> bool:
    """From hand to hand: but for rebalances there is no time between."""
    covered = sum(
        max(min(it.ended or scenery.now, start) - max(it.began, end), 0)
        for it in scenery.history.rounds
    )
    return start - end - covered < CLOSE


def _numbers(scenery: Scenery, rows: Rows, partition: str, spells: list[Spell]) -> list[Shape]:
    shapes = []
    for spell in spells:
        x = scenery.scale.place(spell.start) + 5
        end = scenery.scale.place(scenery.now if spell.end is None else spell.end)
        word, y = scenery.short(partition), rows.y(spell)
        width = width_of(word, 10) + 7
        if end - x > width + 8:
            inside = [
                rect("box", 0, -6.5, width, 13, 4, look="paper"),
                text("word", width / 2, 3.6, word, ABOUT, look="letter"),
            ]
            shapes.append(group(f"number {partition} {spell.start}", x, y, inside))
    return shapes


# -- bands --------------------------------------------------------------------------------------


def bands(scenery: Scenery, rows: Rows) -> list[Shape]:
    """The newest is written first: those that have no room beside it are tooltips only."""
    shapes: list[Shape] = []
    taken: list[tuple[float, float]] = []
    for it in reversed(scenery.rounds):
        x = scenery.scale.place(it.began)
        end = scenery.scale.place(scenery.now if it.ended is None else it.ended)
        width = max(end - x, NARROW)
        inside = [rect("band", 0, TOP - 6, width, rows.bottom - TOP + 2, look="lens")]
        inside += [
            line(key, at, TOP - 6, at, rows.bottom - 4, look="quiet")
            for key, at in (("from", 0.0), ("to", width))
        ]
        inside += _words(scenery, it, x, width, taken)
        key = f"round {it.began}"
        shapes.append(group(key, x, 0, inside, label=sentence(it, scenery.now)))
    return shapes[::-1]


def _words(
    scenery: Scenery, it: Round, x: float, width: float, taken: list[tuple[float, float]]
) -> list[Shape]:
    """How many moved, and the pause; if there is more room, the cause."""
    moved = f"{len(it.moved)} moved" if it.ended else "..."
    told = [("moved", moved, "bold small"), ("lasted", f"{it.lasted(scenery.now):.2f} s", "small")]
    told.append(("cause", fit(it.causes[-1], 150, 10), "tiny"))
    while told and not (place := _room(x + width / 2, [words for _, words, _ in told], taken)):
        told.pop()
        if len(told) < 2:
            return []
    return [
        text(key, place - x, TOP - 46 + 14 * row, words, ABOUT, look=look)
        for row, (key, words, look) in enumerate(told)
    ]


def _room(middle: float, words: list[str], taken: list[tuple[float, float]]) -> float:
    """Where the middle of these lines can be, about there; 0: nowhere."""
    half = max(width_of(each, 11.5) for each in words) / 2 + 3
    middle = min(max(middle, LEFT + half), RIGHT - half)
    if any(middle + half > left and middle - half < right for left, right in taken):
        return 0
    taken.append((middle - half, middle + half))
    return middle


def sentence(it: Round, now: int) -> str:
    why = "; ".join(dict.fromkeys(it.causes))
    if it.ended is None:
        return f"Rebalance, because {why}: {it.lasted(now):.2f} s so far."
    if not it.shared:
        return f"Because {why} nobody is left in the group."
    pause = "who keeps a partition may read on" if it.cooperative else "everybody stands still"
    return (
        f"Generation {it.generation} ({it.protocol}), because {why}: {pause} for "
        f"{it.lasted(now):.2f} s, {len(it.moved)} of {it.shared} partitions move."
    )


# -- what is still to be read -------------------------------------------------------------------

LAG_X, BAR = RIGHT + 62, 60


def arrivals(scenery: Scenery, rows: Rows, lags: dict[str, int]) -> list[Shape]:
    """At the right edge, beside each thread: which partition it is, and its lag."""
    shapes: list[Shape] = []
    most = max([*lags.values(), 1])
    now = scenery.scale.place(scenery.now)
    for partition in scenery.threads:
        spells = rows.spells.get(partition, [])
        if not spells or spells[-1].end is not None or rows.pitch < 10:
            continue
        y, lag = rows.y(spells[-1]), lags.get(partition, 0)
        word = scenery.short(partition)
        inside = [text("name", 24, 4, word, UP_TO, look="bold small")]
        if RIGHT - now > 2:
            inside.append(line("to come", now - RIGHT - 6, 0, -6, 0, look="quiet"))
        if lag:
            bar = max(BAR * lag / most, 2)
            inside.append(rect("bar", 32, -4, bar, 8, 2, look="watermark"))
        inside.append(text("lag", 32 + BAR + 62, 4, f"{lag:,}", UP_TO, look="soft"))
        label = f"{partition}: {spells[-1].lane} has {lag:,} records still to read"
        shapes.append(group(f"lag {partition}", RIGHT + 6, y, inside, label=label))
    return shapes
