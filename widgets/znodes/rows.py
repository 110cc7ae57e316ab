"""The visible znodes: open ones, found ones, and those that were just deleted.

    /                                 open from the beginning: the most important ones
      brokers
        ids
          1, 3                        and 2, struck through, just after its deletion
        topics
          orders
            partitions
              0/state                 a partition's znode is empty: it has no row of its own
      config  ·  7                    closed, with the number of those below
      … 5 unchanged: admin, ...       in which nothing has changed: one row for all of them

A thousand topics are a dozen rows and one with the number of the others; a search finds each. If
there are more rows than room, a window shows some of them, with a row for those above or below.

Invariant: never more than MOST rows; except during a search, every change has a row.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from engine.cluster.znode_changes import ZnodeState, parent
from engine.zookeeper.znodes import BROKER_IDS, CONTROLLER, CONTROLLER_EPOCH, TOPICS
from widgets.row_window import RowWindow
from widgets.story import internal
from widgets.znodes.history import ZnodeTreeView, order

MOST = 52
FEW = 12  # children that are shown at first
SMALL = 3  # topics are open from the beginning if there are at most so many
FIRST = frozenset({"/", "/brokers", BROKER_IDS, TOPICS})
FOLDING = frozenset({"/", "/brokers"})  # of their children, those without a change are one row
ALWAYS = FIRST | {CONTROLLER, CONTROLLER_EPOCH}  # these have a row of their own
ABOVE, BELOW = "▴", "▾"  # instead of a path
TOPIC = re.compile(rf"{TOPICS}/([^/]+)(/partitions)?")


class ZnodeRow(NamedTuple):
    path: str
    depth: int
    name: str
    znode: ZnodeState | None
    below: int  # children
    open: bool = False
    gone: bool = False
    more: int = 0  # how many znodes or rows that are not shown this row stands for
    names: str = ""  # of those, if nothing has changed in them
    first: int = 0  # where it leads: the first row on the page then


@dataclass
class TreeSelection:
    """The znodes that the user has opened and closed, and the search."""

    opened: set[str] = field(default_factory=set)
    closed: set[str] = field(default_factory=set)
    limits: dict[str, int] = field(default_factory=dict)  # how many children are shown, if not FEW
    unfolded: set[str] = field(default_factory=set)  # their children are shown without a change too
    first: int | None = None  # the first row on the page; None: it follows the changes
    wanted: str = ""  # part of a path

    def is_open(self, path: str, tree: ZnodeTreeView) -> bool:
        if path in self.closed:
            return False
        return path in self.opened or path in FIRST or _small(path, tree)


def _small(path: str, tree: ZnodeTreeView) -> bool:
    """A topic that is not Kafka's own, while there are only a few."""
    found = TOPIC.fullmatch(path)
    if found is None or internal(found[1]):
        return False
    own = [each for each in tree.below.get(TOPICS, ()) if not internal(each.rpartition("/")[2])]
    return len(own) <= SMALL


def visible(
    tree: ZnodeTreeView, choice: TreeSelection, gone: Mapping[str, ZnodeState | None]
) -> list[ZnodeRow]:
    """The rows in order; `gone`: paths that were just deleted."""
    rows: list[ZnodeRow] = []
    if choice.wanted:
        _search(rows, tree, choice.wanted.lower())
    else:
        _walk(rows, tree, choice, gone, "/", 0)
    return rows


def row_of(path: str, rows: Collection[str]) -> str:
    """The row of a change of this path: its own, or one that stands for it."""
    while path not in rows and path != "/":
        if f"{path}/state" in rows:
            return f"{path}/state"
        path = parent(path)
    return path


def _walk(
    rows: list[ZnodeRow],
    tree: ZnodeTreeView,
    choice: TreeSelection,
    gone: Mapping[str, ZnodeState | None],
    path: str,
    depth: int,
) -> None:
    if len(rows) >= MOST:
        return
    name = path.rpartition("/")[2] or "/"
    children = tree.children(path)
    if children == [f"{path}/state"]:
        path, name, children = children[0], f"{name}/state", tree.children(children[0])
    is_open = bool(children) and choice.is_open(path, tree)
    znode = tree.nodes.get(path)
    rows.append(ZnodeRow(path, depth, name, znode, len(children), is_open, path in gone))
    lost = [each for each in sorted(gone) if parent(each) == path and each not in tree.nodes]
    if not is_open and not (lost and choice.is_open(path, tree)):
        return
    quiet = [] if path in choice.unfolded else _quiet(path, children, tree)
    children = [each for each in children if each not in quiet]
    shown = children[: choice.limits.get(path, FEW)]
    for each in sorted({*shown, *lost}, key=order):
        if each in tree.nodes or each in tree.below:
            _walk(rows, tree, choice, gone, each, depth + 1)
        elif len(rows) < MOST:
            rows.append(
                ZnodeRow(each, depth + 1, each.rpartition("/")[2], gone[each], 0, gone=True)
            )
    if len(children) > len(shown) and len(rows) < MOST:
        more = len(children) - len(shown)
        rows.append(ZnodeRow(f"{path}/…", depth + 1, "", None, 0, more=more))
    if quiet and len(rows) < MOST:
        names = ", ".join(each.rpartition("/")[2] for each in quiet)
        row = ZnodeRow(f"{path}/≡", depth + 1, "", None, 0, more=len(quiet), names=names)
        rows.append(row)


def _quiet(path: str, children: list[str], tree: ZnodeTreeView) -> list[str]:
    """The children in which nothing has changed, if they are several."""
    if path not in FOLDING:
        return []
    found = [each for each in children if each not in ALWAYS and each not in tree.touched]
    return found if len(found) > 1 else []


def window(rows: list[ZnodeRow], room: int, first: int | None, followed: str) -> list[ZnodeRow]:
    """As many rows as there is room for, from `first` on, or with the row of this path."""
    if first is None:
        place = next((at for at, row in enumerate(rows) if row.path == followed), 0)
        first = max(place - room + 3, 0)
    page = RowWindow.of(len(rows), room, first)
    shown = rows[page.begin : page.end]
    if page.above:
        shown = [ZnodeRow(ABOVE, 0, "", None, 0, more=page.above, first=page.back), *shown]
    if page.below:
        shown = [*shown, ZnodeRow(BELOW, 0, "", None, 0, more=page.below, first=page.end - 1)]
    return shown


def _search(rows: list[ZnodeRow], tree: ZnodeTreeView, wanted: str) -> None:
    """The znodes whose path contains the text, by their whole path; the shortest first."""
    found = sorted((path for path in tree.nodes if wanted in path.lower()), key=_length)
    for path in found[: MOST - 1]:
        rows.append(ZnodeRow(path, 0, path, tree.nodes[path], 0))
    if len(found) > len(rows):
        rows.append(ZnodeRow("/…", 0, "", None, 0, more=len(found) - len(rows)))


def _length(path: str) -> tuple[int, str]:
    return len(path), path
