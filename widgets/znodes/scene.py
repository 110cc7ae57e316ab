"""The znode tree as a picture.

    ┌─────────────────────────────────────────────┬───────────┐
    │ ▾ brokers                                   │ ● broker 1│   who is told
    │   ▾ ids                                     │   ♛       │
    │       1   {"host": ...}  0x…01 · broker 1 ◎ ┼─ ● broker 2│
    ├─────────────────────────────────────────────┴───────────┤
    │ /brokers/ids/1     with explained numbers            ✕  │   if one is opened
    ├──────────────────────────────────────────────────────────┤
    │ ━━━━●━━━━━━━◆▽━━━━━━━━○────────   the strip of changes   │
    └──────────────────────────────────────────────────────────┘

On a narrow page the brokers stand above the tree. A pure function: the same view makes the
same picture, with a kernel or without.
"""

from engine.cluster.znode_changes import ChangeKind, ZnodeChange
from widgets import timeline
from widgets.log.fields import count
from widgets.moment import ViewMoment
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
    path,
    rect,
    text,
    travel,
    width_of,
    wrap,
)
from widgets.text_column import TextColumn
from widgets.znodes.layout import CHIP, GAP, ROW, Course, ZnodeViewState
from widgets.znodes.panel import panel
from widgets.znodes.rows import ABOVE, BELOW, ZnodeRow
from widgets.znodes.words import SORTS, one_line, purpose, short, told, whose

STORY, STORY_NARROW = 5, 3  # changes as text
LINES = 2  # of one of them
STEP = 16  # from line to line
EDGE = 20  # px, beside the timeline
LITTLE = 90  # px: data are not shown in less
LEGEND = "In italics: ephemeral, gone with its session.  ◎ watched: told of its next change."


def picture(view: ZnodeViewState) -> Scene:
    opened, y = panel(view, view.bottom + 6)
    y = max(y, view.bottom) + 12
    course = Course(view.history, view.start, view.now, view.moving)
    strip = ViewMoment(course, view.at, view.live, view.acts)
    width = view.width
    shapes = [
        *_glows(view),
        *(shape for row in view.rows for shape in _row(view, row)),
        *_firing(view),
        *_chips(view),
        *opened,
        line("edge", 0, y, width, y, look="rule"),
        *timeline.drawn(strip, EDGE, y + 6, width - 2 * EDGE),
    ]
    lines, y = _story(view, strip, y + 6 + timeline.HEIGHT + 12)
    notes, y = _notes(view, y)
    says = told(view.news[-1], view.history) if view.news else ""
    title = f"ZooKeeper's tree: {about(view)}"
    return Scene(width, y, [*shapes, *lines, *notes], title=title, says=says)


def about(view: ZnodeViewState) -> str:
    nodes = view.tree.nodes.values()
    owners = [znode.owner for znode in nodes if znode.owner]
    words = f"{count(len(nodes), 'znode')} · {len(owners)} ephemeral"
    return f"{words}, of {count(len({*owners}), 'session')}" if owners else words


# -- rows ---------------------------------------------------------------------------------------


def _row(view: ZnodeViewState, row: ZnodeRow) -> list[SceneShape]:
    y = view.levels[row.path]
    x = view.left + view.indent * row.depth
    if row.more:
        return [_more(view, row, x, y)]
    shapes, room = list[SceneShape](), view.right
    who = _state(view, row)
    if who:
        words, look, label = who
        key, at = f"owner {row.path}", view.right
        shapes.append(text(key, at, y + 15, words, UP_TO, look=look, label=label))
        room -= width_of(words, 11) + 14
    name, end = _name(row, x, y, room)
    told = _data(view, row, max(view.data, end + 12), y, room)
    watchers = view.tree.watchers.get(row.path, set())
    if watchers and not row.gone:
        names = ", ".join(sorted(whose(each, view.history) for each in watchers))
        words, label = f"◎ {len(watchers)}", f"watched by {names}"
        at = view.eye
        shapes.append(text(f"eye {row.path}", at, y + 15, words, look="tiny", label=label))
    return [name, *told, *shapes]


def _state(view: ZnodeViewState, row: ZnodeRow) -> tuple[str, str, str] | None:
    """That it is deleted, or whose it is: words, look and label."""
    if row.gone:
        return "▽ deleted", "soft bad", ""
    owner = row.znode.owner if row.znode else 0
    if not owner:
        return None
    who = whose(owner, view.history)
    words = f"{short(owner)} · {who}" if view.wide else short(owner)
    return words, "soft italic", f"ephemeral: lives as long as session 0x{owner:x} of {who}"


def _name(row: ZnodeRow, x: float, y: float, end: float) -> tuple[SceneShape, float]:
    """The name, and its right end."""
    room = end - x - 26
    below = f"· {row.below:,}" if row.below and not row.open else ""
    words = fit(row.name, room - width_of(below, 11) - (8 if below else 0))
    look = " italic" if row.znode and row.znode.owner else ""
    look = f"{look} bad struck" if row.gone else look
    shapes = [
        rect("back", -4, 1, width_of(words + below) + 32, ROW - 2, 4, look="clear"),
        text("name", 14, 15, words, look=look.strip()),
    ]
    if row.below:
        shapes.append(text("sign", 0, 15, "▾" if row.open else "▸", look="soft"))
    if below:
        shapes.append(text("count", 22 + width_of(words), 15, below, look="soft"))
    acts = (Act("choose", row.path, "show in full"),)
    if row.below:
        acts = (Act("collapse", row.path) if row.open else Act("expand", row.path),)
    label = f"{row.path}: {purpose(row.path)}" if purpose(row.path) else row.path
    if row.below:
        label += f" {'Open' if row.open else 'Closed'}, {row.below:,} below."
    more = {} if row.gone else {"acts": acts, "label": label}
    right = x + 14 + width_of(words) + (8 + width_of(below, 11) if below else 0)
    return group(f"row {row.path}", x, y, shapes, **more), right


def _data(
    view: ZnodeViewState, row: ZnodeRow, left: float, y: float, end: float
) -> list[SceneShape]:
    if not row.znode or not row.znode.data or end - left < LITTLE:
        return []
    words = fit(one_line(row.znode.data), end - left - 6, 11, mono=True)
    shapes = [
        rect("back", -4, 1, end - left, ROW - 2, 4, look="clear"),
        text("data", 0, 15, words, look="znode lit" if row.path == view.chosen else "znode"),
    ]
    more = {} if row.gone else {"acts": (Act("choose", row.path, "show in full"),)}
    label = f"data of {row.path}, version {row.znode.version}: open"
    return [group(f"data {row.path}", left, y, shapes, label=label, **more)]


def _more(view: ZnodeViewState, row: ZnodeRow, x: float, y: float) -> SceneShape:
    """A row for others: without a change, above or below those on the page, or too many."""
    parent, words = row.path[:-2] or "/", f"… {row.more:,} more"
    acts: tuple[Act, ...] = ()
    if row.names:
        words, label = f"… {row.more:,} unchanged: {row.names}", "show them"
        acts = (Act("unfold", parent, label),)
    elif row.path in (ABOVE, BELOW):
        where = "above" if row.path == ABOVE else "below"
        words, label = f"{row.path} {count(row.more, 'row')} {where}", "show them"
        acts = (Act("scroll", row.first, label),)
    elif row.path == "/…":
        label = "they have that in their path"
    else:
        label, acts = "show some, or find one by its name", (Act("more", parent, "show more"),)
    said = fit(words, view.right - x - 26, 11)
    shapes = [
        rect("back", -4, 1, width_of(said, 11) + 26, ROW - 2, 4, look="clear"),
        text("words", 14, 15, said, look="soft"),
    ]
    return group(f"row {row.path}", x, y, shapes, label=f"{words}: {label}", acts=acts)


# -- the latest changes ----------------------------------------------------------------------


def _glows(view: ZnodeViewState) -> list[SceneShape]:
    """Behind the rows: each change is highlighted once, the newest on top."""
    latest = {view.level(it.path): it for it in view.news if it.kind is not ChangeKind.ENDED}
    shapes, left = [], view.left - 8
    for y, change in latest.items():
        if y is None:
            continue
        width = view.end + 8 - left
        shapes.append(rect(f"glow {change.number}", left, y, width, ROW, 5, look="glow"))
        if not view.live:
            shapes.append(rect("here", left, y + 2, 3, ROW - 4, 1, look="watermark"))
    for change in view.news:
        place = _place(view, change.session) if change.kind is ChangeKind.ENDED else None
        if place is not None:
            x, y = view.chip(place)
            where = x - 4, y - 4, view.chip_width + 8, CHIP + 8, 10
            shapes.append(rect(f"glow {change.number}", *where, look="glow"))
    return shapes


def _firing(view: ZnodeViewState) -> list[SceneShape]:
    """From a change to the sessions that were notified."""
    shapes = []
    for change in view.news:
        level = view.level(change.path)
        for session in change.notified:
            place = _place(view, session)
            if place is None or level is None:
                continue
            drawn = _way(view, level + ROW / 2, *view.chip(place))
            label = f"{whose(session, view.history)} was told: {change.path} {change.kind.value}"
            key = f"told {change.number} {short(session)}"
            shapes += [path(key, drawn, look="told", label=label), travel(f"dot of {key}", drawn)]
    return shapes


def _way(view: ZnodeViewState, y: float, x: float, top: float) -> str:
    """From a row to a broker: on a narrow page along the edge, so that it crosses no text."""
    start = view.end + 4
    if view.wide:
        half, end = (start + x) / 2, top + CHIP / 2
        return f"M{start:.0f} {y:.0f}C{half:.0f} {y:.0f} {half:.0f} {end:.0f} {x - 3:.0f} {end:.0f}"
    middle, low = x + view.chip_width / 2, top + CHIP + GAP / 2
    edge = view.width - 7
    if middle > edge - 8:
        return f"M{start:.0f} {y:.0f}H{edge:.0f}V{top + CHIP:.0f}"
    return (
        f"M{start:.0f} {y:.0f}H{edge - 5:.0f}q5 0 5 -5V{low + 4:.0f}q0 -4 -4 -4"
        f"H{middle:.0f}V{top + CHIP:.0f}"
    )


def _place(view: ZnodeViewState, session: int) -> int | None:
    """Which of the brokers a session is; an earlier session of a broker is at the same broker."""
    broker = view.history.owners.get(session, -1)
    for place, (each, number) in enumerate(view.sessions.items()):
        if each == session or (broker >= 0 and number == broker):
            return place
    return None


def _chips(view: ZnodeViewState) -> list[SceneShape]:
    shapes = [
        _chip(view, session, broker, *view.chip(place))
        for place, (session, broker) in enumerate(view.sessions.items())
    ]
    if view.unseen:
        words = f"and {view.unseen} more broker{'' if view.unseen == 1 else 's'}"
        where = view.chips + 4, view.foot + 8
        shapes.append(text("unseen", *where, words, look="soft"))
    if name := view.kraft_controller:
        x, y = view.chips + 4, view.foot + 8 + 16 * bool(view.unseen)
        label = f"{name} of KRaft is the controller: its znode is not ephemeral"
        words = f"{name}, of KRaft"
        shapes.append(text("kraft crown", x, y, "♛", look="crown"))
        shapes.append(text("kraft", x + 16, y, words, look="bold", label=label))
    return shapes


def _chip(view: ZnodeViewState, session: int, broker: int, x: float, y: float) -> SceneShape:
    tree, name = view.tree, whose(session, view.history)
    there = broker < 0 or tree.alive(broker)
    crown = broker >= 0 and broker == tree.controller
    width = view.chip_width
    watched = len(tree.watched_by(session))
    watches = f"◎ {watched} watched" if there else "no session"
    room = width - 22 - (width_of(short(session), 11) + 8 if there else 0)
    words = watches if width_of(watches, 11) <= room else f"◎ {watched}"
    at = 24 if view.wide else 21
    shown = fit(name, width - at - (23 if crown else 8), bold=there)
    shapes = [
        rect("card", 0, 0, width, CHIP, 8, look="card" if there else "paper away"),
        circle("dot", at - 10.5, 16, 4.5, look="alive" if there else "down"),
        text("name", at, 20, shown, look="bold" if there else "soft"),
        text("watches", at - 15, 37, words, look="tiny"),
        text("session", width - 9, 37, short(session) if there else "", UP_TO, look="tiny italic"),
    ]
    if crown:
        shapes.append(text("crown", width - 9, 20, "♛", UP_TO, look="mark crown"))
    role = ", the controller" if crown else ""
    label = f"{name}{role}: session 0x{session:x}, {watches.removeprefix('◎ ')}"
    acts = (Act("who", str(session), "what it watches"),)
    return group(f"chip {broker} {session if broker < 0 else ''}".strip(), x, y, shapes,
                 label=label, acts=acts)  # fmt: skip


# -- below --------------------------------------------------------------------------------------


def _story(view: ZnodeViewState, strip: ViewMoment, y: float) -> tuple[list[SceneShape], float]:
    """The last changes as text."""
    most = STORY if view.wide else STORY_NARROW
    steps = [it for it in view.history.steps if it.number <= view.number][-most:]
    shapes: list[SceneShape] = []
    if not steps:
        hint = "Nothing has changed yet."
        hint += " Create a topic, or kill a broker." if view.live else ""
        room = view.width - 2 * view.left
        column = TextColumn(view.left, y, room, STEP).write("hint", hint, "soft")
        return column.shapes, column.y
    clocks = width_of(strip.clock(strip.run_source.end), 11)
    for change in steps:
        bold = not view.live and change is steps[-1]
        words = told(change, view.history)
        parts = _broken(words, view.width - 2 * view.left - clocks - 30, bold)
        clock = strip.clock(change.at)
        shapes.append(_line(view, change, clock, clocks, y, parts, bold))
        y += STEP * len(parts) + 2
    return shapes, y


def _broken(words: str, room: float, bold: bool) -> list[str]:
    parts = wrap(words, room, bold=bold)
    if len(parts) <= LINES:
        return parts
    return [*parts[: LINES - 1], fit(parts[LINES - 1] + " …", room, bold=bold)]


def _line(
    view: ZnodeViewState,
    change: ZnodeChange,
    clock: str,
    clocks: float,
    y: float,
    parts: list[str],
    bold: bool,
) -> SceneShape:
    """`clocks`: the width of the widest time."""
    sort, left = SORTS[change.kind], view.left
    width = view.width - 2 * left + 8
    shapes = [
        rect("back", -4, -13, width, STEP * len(parts) + 2, 4, look="clear"),
        text("clock", clocks, 0, clock, UP_TO, look="soft"),
        text("glyph", clocks + 15, 0, sort.glyph, ABOUT, look=sort.look),
    ]
    for place, part in enumerate(parts):
        look = "bold" if bold else ""
        shapes.append(text(f"words {place}", clocks + 28, STEP * place, part, look=look))
    acts = (Act("step_to", change.number, "go there"),) if "step_to" in view.acts else ()
    label = f"{clock} s: {told(change, view.history)}"
    return group(f"line {change.number}", left, y, shapes, label=label, acts=acts)


def _notes(view: ZnodeViewState, y: float) -> tuple[list[SceneShape], float]:
    column = TextColumn(view.left, y + 6, view.width - 2 * view.left, 15)
    for number, words in enumerate((LEGEND, *view.notes)):
        column.write(f"note {number}", words, "soft")
    return column.shapes, column.y + 4
