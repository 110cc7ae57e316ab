"""One znode in full, with explained numbers; or one session with its watches.

    /controller                                                ✕
    brokerid    1                 czxid    31: the transaction that created it ...
    timestamp   "1795349481631"   version  0: not written since its creation

On a narrow page the numbers stand below the data.
"""

from engine.cluster.znode_changes import ZnodeState
from widgets.panel_card import PAD, panel_card
from widgets.scene import SceneShape, fit, text, width_of, wrap
from widgets.text_column import TextColumn
from widgets.znodes.layout import ZnodeViewState
from widgets.znodes.words import fields, purpose, stat, whose

LINE = 17
MOST = 12  # lines of data, or watches
LONGEST = 3  # lines of one value
SIZE = 11.5  # of a value
NUMBERS = 62  # the width of their names
APART = 0.5  # where the numbers begin, as a share of the width

ONCE = (
    "Each of these watches fires once, at the next change, and is then set again. Watches on "
    "children are not in this list: ZooKeeper does not name their owners."
)

Placed = tuple[list[SceneShape], float]  # shapes, and their lower end


def panel(view_state: ZnodeViewState, top: float) -> Placed:
    if view_state.who:
        return _watcher(view_state, top)
    znode = view_state.tree.nodes.get(view_state.chosen)
    if view_state.chosen and znode is None:
        return _card(
            view_state, "gone", f"{view_state.chosen} is not there now.", [], top, top + 32
        )
    return _znode(view_state, znode, top) if znode else ([], top)


def _inside(view_state: ZnodeViewState) -> float:
    return view_state.left - 6 + PAD


def _znode(view_state: ZnodeViewState, znode: ZnodeState, top: float) -> Placed:
    path, left = view_state.chosen, _inside(view_state)
    right = view_state.width - left
    about = TextColumn(left, top + 40, right - left, 15).write("purpose", purpose(path), "soft")
    y = about.y
    middle = left + (right - left) * APART
    end = middle - 20 if view_state.wide else right
    data, bottom = _data(znode, left, end, y + 6)
    start, y = (middle, y + 6) if view_state.wide else (left, bottom + 6)
    numbers, end_of_numbers = _numbers(view_state, znode, start, right, y)
    shapes = [*about.shapes, *data, *numbers]
    return _card(view_state, path, path, shapes, top, max(bottom, end_of_numbers))


def _data(znode: ZnodeState, left: float, right: float, y: float) -> Placed:
    """Names and values; a value that is too long is continued below its beginning."""
    shapes: list[SceneShape] = []
    told = fields(znode.data)
    most = (right - left) * 0.45
    wide = min(max(width_of(name, 11) for name, _ in told), most)
    at = left + wide + (12 if wide else 0)
    last = y + MOST * LINE
    for name, value in told:
        if y >= last:
            shapes.append(text("cut", left, y, "and more, which is left out here", look="soft"))
            y += LINE
            break
        shapes.append(text(f"field {y}", left, y, fit(name, most, 11), look="soft", label=name))
        for part in _lines(value, right - at):
            shapes.append(text(f"value {y}", at, y, part, look="mono small", label=value))
            y += LINE
    return shapes, y


def _lines(value: str, width: float) -> list[str]:
    found = wrap(value, width, SIZE, mono=True)
    if len(found) <= LONGEST:
        return found
    cut = fit(found[LONGEST - 1] + "  ", width - 2 * SIZE * 0.7, SIZE, mono=True)
    return [*found[: LONGEST - 1], cut.rstrip("… ") + " …"]


def _numbers(
    view_state: ZnodeViewState, znode: ZnodeState, left: float, right: float, y: float
) -> Placed:
    shapes = []
    told = stat(view_state.chosen, znode, view_state.history)
    who = view_state.tree.watchers.get(view_state.chosen, set())
    names = ", ".join(sorted(whose(each, view_state.history) for each in who))
    told.append(("watched", f"by {names}, for its next change" if names else "by nobody"))
    for name, words in told:
        column = TextColumn(left + NUMBERS + 8, y, right - left - NUMBERS - 8, LINE)
        shapes.append(text(f"{name} name", left, y, name, look="bold small"))
        shapes += column.write(name, words, "soft").shapes
        y = column.y
    return shapes, y


def _watcher(view_state: ZnodeViewState, top: float) -> Placed:
    left, paths = _inside(view_state), view_state.tree.watched_by(view_state.who)
    right = view_state.width - left
    room = ((right - left) * APART - 20) if view_state.wide else right - left
    name = whose(view_state.who, view_state.history)
    title = f"{name[:1].upper()}{name[1:]} watches the data of"
    shapes, y = [], top + 44
    for path in paths[:MOST]:
        words = fit(path, room, SIZE, mono=True)
        shapes.append(text(f"path {path}", left, y, words, look="mono small", label=path))
        y += LINE
    if len(paths) > MOST:
        words = f"and {len(paths) - MOST:,} more"
        shapes.append(text("others", left, y, words, look="soft"))
        y += LINE
    if not paths:
        shapes.append(text("none", left, y, "nothing now", look="soft"))
        y += LINE
    about, end = _session(view_state, left, right, top + 44 if view_state.wide else y + 4)
    key = f"who {view_state.who}"
    return _card(view_state, key, title, [*shapes, *about], top, max(y, end))


def _session(view_state: ZnodeViewState, left: float, right: float, y: float) -> Placed:
    x = left + (right - left) * APART if view_state.wide else left
    column = TextColumn(x, y, right - x, 16)
    column.write("session", f"Its session: 0x{view_state.who:x}", "soft")
    column.write("hint", ONCE, "soft")
    return column.shapes, column.y + 1


def _card(
    view_state: ZnodeViewState,
    key: str,
    title: str,
    inside: list[SceneShape],
    top: float,
    bottom: float,
) -> Placed:
    return panel_card(key, title, inside, (view_state.left - 6, top, view_state.width), bottom)
