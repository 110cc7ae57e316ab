"""One znode in full, beside what its numbers mean; or one who watches, and what."""

from engine.cluster.mirror import Znode
from widgets.scene import UP_TO, Act, Shape, fit, rect, text, width_of, wrap
from widgets.znodes.plan import LEFT, WIDTH, Sight
from widgets.znodes.words import fields, purpose, stat, whose

MIDDLE = 500
INSIDE = LEFT + 14
LINE = 17
MOST = 14  # lines of data


def panel(sight: Sight, top: float) -> tuple[list[Shape], float]:
    """The shapes, and where they end."""
    if sight.who:
        return _watcher(sight, top)
    znode = sight.tree.nodes.get(sight.chosen)
    if sight.chosen and znode is None:
        return _box("gone", f"{sight.chosen} is not there now.", [], top)
    return _znode(sight, znode, top) if znode else ([], top)


def _znode(sight: Sight, znode: Znode, top: float) -> tuple[list[Shape], float]:
    path = sight.chosen
    shapes: list[Shape] = []
    y = top + 40
    for words in wrap(purpose(path), WIDTH - 2 * INSIDE, 11) if purpose(path) else []:
        shapes.append(text(f"purpose {y}", INSIDE, y, words, look="soft"))
        y += 15
    left, right = _data(znode, y + 6), _numbers(sight, znode, y + 6)
    shapes += [*left, *right]
    return _box(path, path, shapes, top)


def _data(znode: Znode, y: float) -> list[Shape]:
    shapes: list[Shape] = []
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


def _numbers(sight: Sight, znode: Znode, y: float) -> list[Shape]:
    shapes = []
    told = stat(sight.chosen, znode, sight.history)
    who = sight.tree.watchers.get(sight.chosen, set())
    names = ", ".join(sorted(whose(each, sight.history) for each in who))
    told.append(("watched", f"by {names}, for its next change" if names else "by nobody"))
    for name, words in told:
        shapes.append(text(f"{name} name", MIDDLE, y, name, look="bold small"))
        for part in wrap(words, WIDTH - MIDDLE - 96, 11):
            shapes.append(text(f"{name} {y}", MIDDLE + 62, y, part, look="soft"))
            y += LINE
    return shapes


def _watcher(sight: Sight, top: float) -> tuple[list[Shape], float]:
    paths = sight.tree.watched_by(sight.who)
    name = whose(sight.who, sight.history)
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
    words = "Its session: " + f"0x{sight.who:x}"
    shapes.append(text("session", MIDDLE, top + 44, words, look="soft"))
    hint = "Each of these watches fires once, at the next change, and is then set again. "
    hint += "Watches on children are not in this list: ZooKeeper does not name their owners."
    for number, part in enumerate(wrap(hint, WIDTH - MIDDLE - 40, 11)):
        shapes.append(text(f"hint {number}", MIDDLE, top + 64 + 16 * number, part, look="soft"))
    return _box(f"who {sight.who}", title, shapes, top)


def _box(key: str, title: str, inside: list[Shape], top: float) -> tuple[list[Shape], float]:
    bottom = max((shape.where[1] for shape in inside), default=top + 22) + 14
    card = rect("panel", LEFT - 6, top, WIDTH - 2 * LEFT + 12, bottom - top, 8, look="card")
    shut = text("shut", WIDTH - LEFT - 8, top + 20, "✕", UP_TO, look="soft", label="close this",
                acts=(Act("shut", None, "close this"),))  # fmt: skip
    head = text(f"title {key}", INSIDE, top + 21, fit(title, 840, 13), look="bold")
    return [card, head, shut, *inside], bottom
