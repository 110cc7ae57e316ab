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

A pure function: the same view_state makes the same picture, with a kernel or without.
"""

from engine.cluster.znode_changes import ChangeKind, ZnodeChange
from widgets import timeline
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
from widgets.znodes.layout import (
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
    ZnodeViewState,
)
from widgets.znodes.panel import panel
from widgets.znodes.rows import ZnodeRow
from widgets.znodes.words import SORTS, one_line, purpose, short, told, whose

LETTER = 6.35  # the width of a character of data
STORY = 7  # changes as text
LINE = 18
LEGEND = "In italics: ephemeral, gone with its session.  ◎ watched: told of its next change."


def picture(view_state: ZnodeViewState) -> Scene:
    opened, y = panel(view_state, view_state.bottom + 6)
    y = max(y, view_state.bottom) + 12
    course = Course(view_state.history, view_state.start, view_state.now, view_state.moving)
    strip = ViewMoment(course, view_state.at, view_state.live, view_state.acts)
    shapes = [
        *_glows(view_state),
        *(shape for row in view_state.rows for shape in _row(view_state, row)),
        *_firing(view_state),
        *_chips(view_state),
        *opened,
        line("edge", 0, y, WIDTH, y, look="rule"),
        *timeline.drawn(strip, LEFT, y + 6, WIDTH - 2 * LEFT),
    ]
    lines, y = _story(view_state, strip, y + 6 + timeline.HEIGHT + 12)
    notes, y = _notes(view_state, y)
    says = told(view_state.news[-1], view_state.history) if view_state.news else ""
    title = f"ZooKeeper's tree: {about(view_state)}"
    return Scene(WIDTH, y, [*shapes, *lines, *notes], title=title, says=says)


def about(view_state: ZnodeViewState) -> str:
    nodes = view_state.tree.nodes.values()
    owners = [znode.owner for znode in nodes if znode.owner]
    count, sessions = len(nodes), len({*owners})
    words = f"{count:,} znode{'' if count == 1 else 's'} · {len(owners)} ephemeral"
    return f"{words}, of {sessions} session{'' if sessions == 1 else 's'}" if owners else words


# -- rows ---------------------------------------------------------------------------------------


def _row(view_state: ZnodeViewState, row: ZnodeRow) -> list[SceneShape]:
    y = view_state.levels[row.path]
    x = LEFT + INDENT * row.depth
    if row.more:
        return [_more(row, x, y)]
    ephemeral = bool(row.znode and row.znode.owner)
    shapes = [_name(row, x, y, ephemeral), *_data(view_state, row, x, y, ephemeral)]
    if row.gone:
        shapes.append(text(f"gone {row.path}", RIGHT, y + 15, "▽ deleted", UP_TO, look="bad"))
    elif ephemeral:
        shapes.append(_owner(view_state, row, y))
    watchers = view_state.tree.watchers.get(row.path, set())
    if watchers and not row.gone:
        names = ", ".join(sorted(whose(each, view_state.history) for each in watchers))
        words, label = f"◎ {len(watchers)}", f"watched by {names}"
        shapes.append(text(f"eye {row.path}", EYE, y + 15, words, look="tiny", label=label))
    return shapes


def _name(row: ZnodeRow, x: float, y: float, ephemeral: bool) -> SceneShape:
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


def _data(
    view_state: ZnodeViewState, row: ZnodeRow, x: float, y: float, ephemeral: bool
) -> list[SceneShape]:
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
        text("data", 0, 15, words, look="znode lit" if row.path == view_state.chosen else "znode"),
    ]
    more = {} if row.gone else {"acts": (Act("choose", row.path, "show in full"),)}
    label = f"data of {row.path}, version {row.znode.version}: open"
    return [group(f"data {row.path}", left, y, shapes, label=label, **more)]


def _owner(view_state: ZnodeViewState, row: ZnodeRow, y: float) -> SceneShape:
    assert row.znode is not None
    owner = row.znode.owner
    words = f"{short(owner)} · {whose(owner, view_state.history)}"
    label = f"ephemeral: lives as long as session 0x{owner:x} of {whose(owner, view_state.history)}"
    return text(f"owner {row.path}", RIGHT, y + 15, words, UP_TO, look="soft italic", label=label)


def _more(row: ZnodeRow, x: float, y: float) -> SceneShape:
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


# -- the latest changes ----------------------------------------------------------------------


def _glows(view_state: ZnodeViewState) -> list[SceneShape]:
    """Behind the rows: each change is highlighted once, the newest on top."""
    latest = {
        view_state.level(it.path): it for it in view_state.news if it.kind is not ChangeKind.ENDED
    }
    shapes = []
    for y, change in latest.items():
        if y is None:
            continue
        width = END + 8 - LEFT
        shapes.append(rect(f"glow {change.number}", LEFT - 8, y, width, ROW, 5, look="glow"))
        if not view_state.live:
            shapes.append(rect("here", LEFT - 8, y + 2, 3, ROW - 4, 1, look="watermark"))
    for change in view_state.news:
        place = _place(view_state, change.session) if change.kind is ChangeKind.ENDED else None
        if place is not None:
            where = CHIPS - 5, place - CHIP / 2 - 4, WIDTH - LEFT - CHIPS + 16, CHIP + 8, 10
            shapes.append(rect(f"glow {change.number}", *where, look="glow"))
    return shapes


def _firing(view_state: ZnodeViewState) -> list[SceneShape]:
    """From a change to the sessions that were notified."""
    shapes = []
    for change in view_state.news:
        level = view_state.level(change.path)
        for session in change.notified:
            place = _place(view_state, session)
            if place is None or level is None:
                continue
            y = level + ROW / 2
            half = (END + 4 + CHIPS) / 2
            drawn = f"M{END + 4} {y:.0f}C{half:.0f} {y:.0f} {half:.0f} {place:.0f} "
            drawn += f"{CHIPS - 3} {place:.0f}"
            label = (
                f"{whose(session, view_state.history)} was told: {change.path} {change.kind.value}"
            )
            key = f"told {change.number} {short(session)}"
            shapes += [path(key, drawn, look="told", label=label), travel(f"dot of {key}", drawn)]
    return shapes


def _place(view_state: ZnodeViewState, session: int) -> float | None:
    """The y of a session; an earlier session of a broker is at the same broker."""
    broker = view_state.history.owners.get(session, -1)
    for place, (each, number) in enumerate(view_state.sessions.items()):
        if each == session or (broker >= 0 and number == broker):
            return TOP + (CHIP + GAP) * place + CHIP / 2
    return None


def _chips(view_state: ZnodeViewState) -> list[SceneShape]:
    shapes = []
    for place, (session, broker) in enumerate(view_state.sessions.items()):
        shapes.append(_chip(view_state, session, broker, TOP + (CHIP + GAP) * place))
    if view_state.unseen:
        words = f"and {view_state.unseen} more broker{'' if view_state.unseen == 1 else 's'}"
        shapes.append(text("unseen", CHIPS, view_state.foot + 8, words, look="soft"))
    return shapes


def _chip(view_state: ZnodeViewState, session: int, broker: int, y: float) -> SceneShape:
    tree, name = view_state.tree, whose(session, view_state.history)
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


def _story(
    view_state: ZnodeViewState, strip: ViewMoment, y: float
) -> tuple[list[SceneShape], float]:
    """The last changes as text."""
    steps = [it for it in view_state.history.steps if it.number <= view_state.number][-STORY:]
    shapes: list[SceneShape] = []
    if not steps:
        hint = "Nothing has changed yet."
        hint += " Create a topic, or kill a broker." if view_state.live else ""
        return [text("hint", LEFT, y, hint, look="soft")], y + LINE
    for change in steps:
        is_here = not view_state.live and change is steps[-1]
        shapes.append(_line(view_state, change, strip.clock(change.at), y, is_here))
        y += LINE
    return shapes, y


def _line(
    view_state: ZnodeViewState, change: ZnodeChange, clock: str, y: float, is_here: bool
) -> SceneShape:
    sort, words = SORTS[change.kind], told(change, view_state.history)
    shapes = [
        rect("back", -4, -13, WIDTH - 2 * LEFT + 8, LINE, 4, look="clear"),
        text("clock", 40, 0, clock, UP_TO, look="soft"),
        text("glyph", 56, 0, sort.glyph, ABOUT, look=sort.look),
        text("words", 70, 0, fit(words, WIDTH - 2 * LEFT - 80), look="bold" if is_here else ""),
    ]
    acts = (Act("step_to", change.number, "go there"),) if "step_to" in view_state.acts else ()
    label = f"{clock} s: {words}"
    return group(f"line {change.number}", LEFT, y, shapes, label=label, acts=acts)


def _notes(view_state: ZnodeViewState, y: float) -> tuple[list[SceneShape], float]:
    told = [part for words in (LEGEND, *view_state.notes) for part in wrap(words, WIDTH - 60, 11)]
    y += 6
    shapes = [
        text(f"note {number}", LEFT, y + 15 * number, part, look="soft")
        for number, part in enumerate(told)
    ]
    return shapes, y + 15 * len(told) + 4
