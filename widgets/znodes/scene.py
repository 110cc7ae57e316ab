"""The znode tree as a picture.

    ┌─────────────────────────────────────────────┬───────────┐
    │ ▾ brokers                                   │ ● broker 1│   who is told
    │   ▾ ids                                     │   ♛       │
    │       1   {"host": ...}  0x…01 · broker 1 ◎ ┼─ ● broker 2│
    ├─────────────────────────────────────────────┴───────────┤
    │ /brokers/ids/1     what each number of it means      ✕  │   if one is opened
    ├──────────────────────────────────────────────────────────┤
    │ ━━━━●━━━━━━━◆▽━━━━━━━━○────────   the strip of changes   │
    └──────────────────────────────────────────────────────────┘

A pure function: the same sight makes the same picture, with a kernel or without.
"""

from engine.cluster.mirror import Change, Kind
from widgets import timeline
from widgets.moment import Moment
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
    travel,
    width_of,
    wrap,
)
from widgets.znodes.panel import panel
from widgets.znodes.plan import (
    CHIP,
    CHIPS,
    DATA,
    END,
    EYE,
    GAP,
    INDENT,
    LEFT,
    RIGHT,
    ROW,
    TOP,
    WIDTH,
    Course,
    Sight,
)
from widgets.znodes.rows import Row
from widgets.znodes.words import SORTS, one_line, purpose, short, told, whose

LETTER = 6.35  # how wide one of the data is
STORY = 7  # changes in words
LINE = 18
LEGEND = "In italics: ephemeral, gone with its session.  ◎ watched: told of its next change."


def picture(sight: Sight) -> Scene:
    opened, y = panel(sight, sight.bottom + 6)
    y = max(y, sight.bottom) + 12
    course = Course(sight.history, sight.start, sight.now, sight.moving)
    strip = Moment(course, sight.at, sight.live, sight.acts)
    shapes = [
        *_glows(sight),
        *(shape for row in sight.rows for shape in _row(sight, row)),
        *_firing(sight),
        *_chips(sight),
        *opened,
        line("edge", 0, y, WIDTH, y, look="rule"),
        *timeline.drawn(strip, LEFT, y + 6, WIDTH - 2 * LEFT),
    ]
    lines, y = _story(sight, strip, y + 6 + timeline.HEIGHT + 12)
    notes, y = _notes(sight, y)
    says = told(sight.news[-1], sight.history) if sight.news else ""
    title = f"ZooKeeper's tree: {about(sight)}"
    return Scene(WIDTH, y, [*shapes, *lines, *notes], title=title, says=says)


def about(sight: Sight) -> str:
    nodes = sight.tree.nodes.values()
    owners = [znode.owner for znode in nodes if znode.owner]
    count, sessions = len(nodes), len({*owners})
    words = f"{count:,} znode{'' if count == 1 else 's'} · {len(owners)} ephemeral"
    return f"{words}, of {sessions} session{'' if sessions == 1 else 's'}" if owners else words


# -- rows ---------------------------------------------------------------------------------------


def _row(sight: Sight, row: Row) -> list[Shape]:
    y = sight.levels[row.path]
    x = LEFT + INDENT * row.depth
    if row.more:
        return [_more(row, x, y)]
    ephemeral = bool(row.znode and row.znode.owner)
    shapes = [_name(row, x, y, ephemeral), *_data(sight, row, x, y, ephemeral)]
    if row.gone:
        shapes.append(text(f"gone {row.path}", RIGHT, y + 15, "▽ deleted", UP_TO, look="bad"))
    elif ephemeral:
        shapes.append(_owner(sight, row, y))
    watchers = sight.tree.watchers.get(row.path, set())
    if watchers and not row.gone:
        names = ", ".join(sorted(whose(each, sight.history) for each in watchers))
        words, label = f"◎ {len(watchers)}", f"watched by {names}"
        shapes.append(text(f"eye {row.path}", EYE, y + 15, words, look="tiny", label=label))
    return shapes


def _name(row: Row, x: float, y: float, ephemeral: bool) -> Shape:
    room = (RIGHT if row.name.startswith("/") and row.depth == 0 else DATA - 12) - x - 16
    count = f"· {row.below:,}" if row.below and not row.open else ""
    words = fit(row.name, room - width_of(count), 12)
    look = " italic" if ephemeral else ""
    look = f"{look} bad struck" if row.gone else look
    shapes = [
        rect("back", -4, 1, width_of(words + count) + 32, ROW - 2, 4, look="clear"),
        text("name", 14, 15, words, look=look.strip()),
    ]
    if row.below:
        shapes.append(text("sign", 0, 15, "▾" if row.open else "▸", look="soft"))
    if count:
        shapes.append(text("count", 22 + width_of(words), 15, count, look="soft"))
    acts = (Act("choose", row.path, "show in full"),)
    if row.below:
        acts = (Act("collapse", row.path) if row.open else Act("expand", row.path),)
    label = f"{row.path}: {purpose(row.path)}" if purpose(row.path) else row.path
    if row.below:
        label += f" {'Open' if row.open else 'Closed'}, {row.below:,} below."
    more = {} if row.gone else {"acts": acts, "label": label}
    return group(f"row {row.path}", x, y, shapes, **more)


def _data(sight: Sight, row: Row, x: float, y: float, ephemeral: bool) -> list[Shape]:
    if not row.znode or not row.znode.data:
        return []
    left = float(DATA)
    if row.name.startswith("/") and row.depth == 0:  # of a search
        left = max(left, x + 14 + width_of(row.name) + 18)
    room = RIGHT - left - (150 if ephemeral or row.gone else 0)
    words = one_line(row.znode.data)
    if room < 60:
        return []
    words = words if len(words) * LETTER <= room else words[: int(room / LETTER) - 1] + "…"
    shapes = [
        rect("back", -4, 1, room, ROW - 2, 4, look="clear"),
        text("data", 0, 15, words, look="znode lit" if row.path == sight.chosen else "znode"),
    ]
    more = {} if row.gone else {"acts": (Act("choose", row.path, "show in full"),)}
    label = f"data of {row.path}, version {row.znode.version}: open"
    return [group(f"data {row.path}", left, y, shapes, label=label, **more)]


def _owner(sight: Sight, row: Row, y: float) -> Shape:
    assert row.znode is not None
    owner = row.znode.owner
    words = f"{short(owner)} · {whose(owner, sight.history)}"
    label = f"ephemeral: lives as long as session 0x{owner:x} of {whose(owner, sight.history)}"
    return text(f"owner {row.path}", RIGHT, y + 15, words, UP_TO, look="soft italic", label=label)


def _more(row: Row, x: float, y: float) -> Shape:
    words = f"… {row.more:,} more"
    shapes = [
        rect("back", -4, 1, width_of(words) + 26, ROW - 2, 4, look="clear"),
        text("words", 14, 15, words, look="soft"),
    ]
    if row.path == "/…":
        return group(f"row {row.path}", x, y, shapes, label=f"{words} have that in their path")
    label = f"{words} here: show some, or find one by its name"
    acts = (Act("more", row.path.removesuffix("/…"), "show more"),)
    return group(f"row {row.path}", x, y, shapes, label=label, acts=acts)


# -- what has just changed ----------------------------------------------------------------------


def _glows(sight: Sight) -> list[Shape]:
    """Behind the rows: each change glows once, the newest on top."""
    latest = {sight.level(it.path): it for it in sight.news if it.kind is not Kind.ENDED}
    shapes = []
    for y, change in latest.items():
        if y is None:
            continue
        width = END + 8 - LEFT
        shapes.append(rect(f"glow {change.number}", LEFT - 8, y, width, ROW, 5, look="glow"))
        if not sight.live:
            shapes.append(rect("here", LEFT - 8, y + 2, 3, ROW - 4, 1, look="watermark"))
    for change in sight.news:
        place = _place(sight, change.session) if change.kind is Kind.ENDED else None
        if place is not None:
            where = CHIPS - 5, place - CHIP / 2 - 4, WIDTH - LEFT - CHIPS + 16, CHIP + 8, 10
            shapes.append(rect(f"glow {change.number}", *where, look="glow"))
    return shapes


def _firing(sight: Sight) -> list[Shape]:
    """From what has changed to who was told."""
    shapes = []
    for change in sight.news:
        level = sight.level(change.path)
        for session in change.told:
            place = _place(sight, session)
            if place is None or level is None:
                continue
            y = level + ROW / 2
            half = (END + 4 + CHIPS) / 2
            drawn = f"M{END + 4} {y:.0f}C{half:.0f} {y:.0f} {half:.0f} {place:.0f} "
            drawn += f"{CHIPS - 3} {place:.0f}"
            label = f"{whose(session, sight.history)} was told: {change.path} {change.kind.value}"
            key = f"told {change.number} {short(session)}"
            shapes += [path(key, drawn, look="told", label=label), travel(f"dot of {key}", drawn)]
    return shapes


def _place(sight: Sight, session: int) -> float | None:
    """The level of who is told; an earlier session of a broker is the same broker."""
    broker = sight.history.owners.get(session, -1)
    for place, (each, number) in enumerate(sight.sessions.items()):
        if each == session or (broker >= 0 and number == broker):
            return TOP + (CHIP + GAP) * place + CHIP / 2
    return None


def _chips(sight: Sight) -> list[Shape]:
    shapes = []
    for place, (session, broker) in enumerate(sight.sessions.items()):
        shapes.append(_chip(sight, session, broker, TOP + (CHIP + GAP) * place))
    if sight.unseen:
        words = f"and {sight.unseen} more broker{'' if sight.unseen == 1 else 's'}"
        shapes.append(text("unseen", CHIPS, sight.foot + 8, words, look="soft"))
    return shapes


def _chip(sight: Sight, session: int, broker: int, y: float) -> Shape:
    tree, name = sight.tree, whose(session, sight.history)
    there = broker < 0 or tree.alive(broker)
    crown = broker >= 0 and broker == tree.controller
    width = WIDTH - LEFT - CHIPS + 6
    count = len(tree.watched_by(session))
    watches = f"◎ {count} watched" if there else "no session"
    shapes = [
        rect("card", 0, 0, width, CHIP, 8, look="card" if there else "paper away"),
        circle("dot", 13, 16, 4.5, look="alive" if there else "down"),
        text("name", 24, 20, name, look="bold" if there else "soft"),
        text("watches", 13, 37, watches, look="tiny"),
        text("session", width - 9, 37, short(session) if there else "", UP_TO, look="tiny italic"),
    ]
    if crown:
        shapes.append(text("crown", width - 10, 20, "♛", UP_TO, look="mark crown"))
    role = ", the controller" if crown else ""
    label = f"{name}{role}: session 0x{session:x}, {watches.removeprefix('◎ ')}"
    acts = (Act("who", str(session), "what it watches"),)
    return group(f"chip {broker} {session if broker < 0 else ''}".strip(), CHIPS, y, shapes,
                 label=label, acts=acts)  # fmt: skip


# -- below --------------------------------------------------------------------------------------


def _story(sight: Sight, strip: Moment, y: float) -> tuple[list[Shape], float]:
    """The last changes in words."""
    steps = [it for it in sight.history.steps if it.number <= sight.number][-STORY:]
    shapes: list[Shape] = []
    if not steps:
        hint = "Nothing has changed yet."
        hint += " Create a topic, or kill a broker." if sight.live else ""
        return [text("hint", LEFT, y, hint, look="soft")], y + LINE
    for change in steps:
        is_here = not sight.live and change is steps[-1]
        shapes.append(_line(sight, change, strip.clock(change.at), y, is_here))
        y += LINE
    return shapes, y


def _line(sight: Sight, change: Change, clock: str, y: float, is_here: bool) -> Shape:
    sort, words = SORTS[change.kind], told(change, sight.history)
    shapes = [
        rect("back", -4, -13, WIDTH - 2 * LEFT + 8, LINE, 4, look="clear"),
        text("clock", 40, 0, clock, UP_TO, look="soft"),
        text("glyph", 56, 0, sort.glyph, ABOUT, look=sort.look),
        text("words", 70, 0, fit(words, WIDTH - 2 * LEFT - 80), look="bold" if is_here else ""),
    ]
    acts = (Act("step_to", change.number, "go there"),) if "step_to" in sight.acts else ()
    label = f"{clock} s: {words}"
    return group(f"line {change.number}", LEFT, y, shapes, label=label, acts=acts)


def _notes(sight: Sight, y: float) -> tuple[list[Shape], float]:
    told = [part for words in (LEGEND, *sight.notes) for part in wrap(words, WIDTH - 60, 11)]
    y += 6
    shapes = [
        text(f"note {number}", LEFT, y + 15 * number, part, look="soft")
        for number, part in enumerate(told)
    ]
    return shapes, y + 15 * len(told) + 4
