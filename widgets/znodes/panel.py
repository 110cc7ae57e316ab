"""One znode in full, with explained numbers; or one session with its watches."""

from engine.cluster.znode_changes import ZnodeState
from widgets.scene import UP_TO, Act, SceneShape, fit, rect, text, width_of, wrap
from widgets.znodes.layout import LEFT, WIDTH, ZnodeViewState
from widgets.znodes.words import fields, purpose, stat, whose

MIDDLE = 500
INSIDE = LEFT + 14
LINE = 17
MOST = 14  # lines of data


def panel(view_state: ZnodeViewState, top: float) -> tuple[list[SceneShape], float]:
    """The shapes, and their lower end."""
    if view_state.who:
        return _watcher(view_state, top)
    znode = view_state.tree.nodes.get(view_state.chosen)
    if view_state.chosen and znode is None:
        return _box("gone", f"{view_state.chosen} is not there now.", [], top)
    return _znode(view_state, znode, top) if znode else ([], top)


def _znode(
    view_state: ZnodeViewState, znode: ZnodeState, top: float
) -> tuple[list[SceneShape], float]:
    path = view_state.chosen
    shapes: list[SceneShape] = []
    y = top + 40
    for words in wrap(purpose(path), WIDTH - 2 * INSIDE, 11) if purpose(path) else []:
        shapes.append(text(f"purpose {y}", INSIDE, y, words, look="soft"))
        y += 15
    left, right = _data(znode, y + 6), _numbers(view_state, znode, y + 6)
    shapes += [*left, *right]
    return _box(path, path, shapes, top)


def _data(znode: ZnodeState, y: float) -> list[SceneShape]:
    shapes: list[SceneShape] = []
    told = fields(znode.data)
    wide = max(width_of(name, 11) for name, _ in told)
    at = INSIDE + min(wide, 190) + (12 if wide else 0)
    for name, value in told:
        if len(shapes) >= 2 * MOST:
            shapes.append(text("cut", INSIDE, y, "and more, which is left out here", look="soft"))
            break
        words = fit(name, 190, 11)
        shapes.append(text(f"field {y}", INSIDE, y, words, look="soft"))
        for part in _parts(value, MIDDLE - 20 - at):
            shapes.append(text(f"value {y}", at, y, part, look="mono small"))
            y += LINE
    return shapes


def _parts(value: str, width: float) -> list[str]:
    """A long value in at most three lines; code has few places to break at."""
    room = max(int(width / 7.2), 8)
    found = [value[n : n + room] for n in range(0, max(len(value), 1), room)]
    return found if len(found) <= 3 else [*found[:2], found[2][:-1] + "…"]


def _numbers(view_state: ZnodeViewState, znode: ZnodeState, y: float) -> list[SceneShape]:
    shapes = []
    told = stat(view_state.chosen, znode, view_state.history)
    who = view_state.tree.watchers.get(view_state.chosen, set())
    names = ", ".join(sorted(whose(each, view_state.history) for each in who))
    told.append(("watched", f"by {names}, for its next change" if names else "by nobody"))
    for name, words in told:
        shapes.append(text(f"{name} name", MIDDLE, y, name, look="bold small"))
        for part in wrap(words, WIDTH - MIDDLE - 96, 11):
            shapes.append(text(f"{name} {y}", MIDDLE + 62, y, part, look="soft"))
            y += LINE
    return shapes


def _watcher(view_state: ZnodeViewState, top: float) -> tuple[list[SceneShape], float]:
    paths = view_state.tree.watched_by(view_state.who)
    name = whose(view_state.who, view_state.history)
    title = f"{name[:1].upper()}{name[1:]} watches the data of"
    shapes, y = [], top + 44
    for path in paths[:MOST]:
        shapes.append(text(f"path {path}", INSIDE, y, path, look="mono small"))
        y += LINE
    if len(paths) > MOST:
        words = f"and {len(paths) - MOST:,} more"
        shapes.append(text("others", INSIDE, y, words, look="soft"))
    if not paths:
        shapes.append(text("none", INSIDE, y, "nothing now", look="soft"))
    words = "Its session: " + f"0x{view_state.who:x}"
    shapes.append(text("session", MIDDLE, top + 44, words, look="soft"))
    hint = "Each of these watches fires once, at the next change, and is then set again. "
    hint += "Watches on children are not in this list: ZooKeeper does not name their owners."
    for number, part in enumerate(wrap(hint, WIDTH - MIDDLE - 40, 11)):
        shapes.append(text(f"hint {number}", MIDDLE, top + 64 + 16 * number, part, look="soft"))
    return _box(f"who {view_state.who}", title, shapes, top)


def _box(
    key: str, title: str, inside: list[SceneShape], top: float
) -> tuple[list[SceneShape], float]:
    bottom = max((shape.where[1] for shape in inside), default=top + 22) + 14
    card = rect("panel", LEFT - 6, top, WIDTH - 2 * LEFT + 12, bottom - top, 8, look="card")
    shut = text("shut", WIDTH - LEFT - 8, top + 20, "✕", UP_TO, look="soft", label="close this",
                acts=(Act("shut", None, "close this"),))  # fmt: skip
    head = text(f"title {key}", INSIDE, top + 21, fit(title, 840, 13), look="bold")
    return [card, head, shut, *inside], bottom
