"""One znode in full, with explained numbers; or one session with its watches.

    /controller                                                ✕
    brokerid    1                 czxid    31: the transaction that created it ...
    timestamp   "1795349481631"   version  0: not written since its creation

On a narrow page the numbers stand below the data.
"""

from engine.cluster.znode_changes import ZnodeState
from widgets.fields_table import LINE, MOST, SIZE, fields_table
from widgets.panel_card import PAD, panel_card
from widgets.scene import SceneShape, fit, text
from widgets.text_column import TextColumn
from widgets.znodes.layout import ZnodeViewState
from widgets.znodes.words import fields, purpose, stat, whose

LONGEST = 3  # lines of one value
NUMBERS = 62  # the width of their names
APART = 0.5  # where the numbers begin, as a share of the width

ONCE = (
    "Each of these watches fires once, at the next change, and is then set again. Watches on "
    "children are not in this list: ZooKeeper does not name their owners."
)

Placed = tuple[list[SceneShape], float]  # shapes, and their lower end


def panel(view: ZnodeViewState, top: float) -> Placed:
    if view.who:
        return _watcher(view, top)
    znode = view.tree.nodes.get(view.chosen)
    if view.chosen and znode is None:
        return _card(view, "gone", f"{view.chosen} is not there now.", [], top, top + 32)
    return _znode(view, znode, top) if znode else ([], top)


def _inside(view: ZnodeViewState) -> float:
    return view.left - 6 + PAD


def _znode(view: ZnodeViewState, znode: ZnodeState, top: float) -> Placed:
    path, left = view.chosen, _inside(view)
    right = view.width - left
    about = TextColumn(left, top + 40, right - left, 15).write("purpose", purpose(path), "soft")
    y = about.y
    middle = left + (right - left) * APART
    end = middle - 20 if view.wide else right
    data, bottom = fields_table(fields(znode.data), (left, end, y + 6), LONGEST, 12)
    start, y = (middle, y + 6) if view.wide else (left, bottom + 6)
    numbers, end_of_numbers = _numbers(view, znode, start, right, y)
    shapes = [*about.shapes, *data, *numbers]
    return _card(view, path, path, shapes, top, max(bottom, end_of_numbers))


def _numbers(
    view: ZnodeViewState, znode: ZnodeState, left: float, right: float, y: float
) -> Placed:
    shapes = []
    told = stat(view.chosen, znode, view.history)
    who = view.tree.watchers.get(view.chosen, set())
    names = ", ".join(sorted(whose(each, view.history) for each in who))
    told.append(("watched", f"by {names}, for its next change" if names else "by nobody"))
    for name, words in told:
        column = TextColumn(left + NUMBERS + 8, y, right - left - NUMBERS - 8, LINE)
        shapes.append(text(f"{name} name", left, y, name, look="bold small"))
        shapes += column.write(name, words, "soft").shapes
        y = column.y
    return shapes, y


def _watcher(view: ZnodeViewState, top: float) -> Placed:
    left, paths = _inside(view), view.tree.watched_by(view.who)
    right = view.width - left
    room = ((right - left) * APART - 20) if view.wide else right - left
    name = whose(view.who, view.history)
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
    about, end = _session(view, left, right, top + 44 if view.wide else y + 4)
    key = f"who {view.who}"
    return _card(view, key, title, [*shapes, *about], top, max(y, end))


def _session(view: ZnodeViewState, left: float, right: float, y: float) -> Placed:
    x = left + (right - left) * APART if view.wide else left
    column = TextColumn(x, y, right - x, 16)
    column.write("session", f"Its session: 0x{view.who:x}", "soft")
    column.write("hint", ONCE, "soft")
    return column.shapes, column.y + 1


def _card(
    view: ZnodeViewState, key: str, title: str, inside: list[SceneShape], top: float, bottom: float
) -> Placed:
    return panel_card(key, title, inside, (view.left - 6, top, view.width), bottom)
