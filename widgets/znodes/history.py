"""The changes in order, and the tree after each of them.

    there /a    created /b    ended 0x12    deleted /b    changed /a        changes
        1            2             3             4             5            numbers
                     ●             ◆             ▽             ✎            steps of the strip

A live tree, a recording's track and a moment of the past are all made by the same code: from the
first change on.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from engine.cluster.recording import Recording
from engine.cluster.znode_changes import ChangeKind, ZnodeChange, ZnodeState, parent
from engine.zookeeper.znodes import BROKER_IDS, CONTROLLER

STEPS = frozenset({ChangeKind.CREATED, ChangeKind.CHANGED, ChangeKind.DELETED, ChangeKind.ENDED})
BROKER = re.compile(rf"{BROKER_IDS}/(\d+)")
MIGRATION = "/migration"
PROGRESS = re.compile(r'"kraft_metadata_offset":\s*-?\d+')
CHOSEN = re.compile(r'"brokerid":\s*(-?\d+)')


@dataclass
class ZnodeTreeView:
    """The tree after some change."""

    nodes: dict[str, ZnodeState] = field(default_factory=dict)
    below: dict[str, set[str]] = field(default_factory=dict)  # by path: the paths of its children
    watchers: dict[str, set[int]] = field(default_factory=dict)  # sessions, by path
    sessions: dict[int, int] = field(default_factory=dict)  # the latest of each broker
    ended: set[int] = field(default_factory=set)
    touched: set[str] = field(default_factory=set)  # what has changed, or something below it

    def apply(self, change: ZnodeChange) -> None:
        path = change.path
        if change.kind in STEPS:
            self._touch(path)
        match change.kind:
            case ChangeKind.WATCHED:
                self.watchers.setdefault(path, set()).add(change.session)
            case ChangeKind.UNWATCHED:
                self.watchers.get(path, set()).discard(change.session)
            case ChangeKind.ENDED:
                self.ended.add(change.session)
                for who in self.watchers.values():
                    who.discard(change.session)
            case ChangeKind.DELETED:
                self._fire(change)
                self.nodes.pop(path, None)
                self.below.get(parent(path), set()).discard(path)
            case _:
                self._fire(change)
                if change.znode:
                    self._put(path, change.znode)

    def _touch(self, path: str) -> None:
        while path and path not in self.touched:
            self.touched.add(path)
            path = "" if path == "/" else parent(path)

    def _fire(self, change: ZnodeChange) -> None:
        self.watchers.get(change.path, set()).difference_update(change.notified)

    def _put(self, path: str, znode: ZnodeState) -> None:
        self.nodes[path] = znode
        if path != "/":
            self.below.setdefault(parent(path), set()).add(path)
        if found := BROKER.fullmatch(path):
            self.sessions[int(found[1])] = znode.owner

    def children(self, path: str) -> list[str]:
        """In order: numbers by their value, other names alphabetically."""
        return sorted(self.below.get(path, ()), key=order)

    def watched_by(self, session: int) -> list[str]:
        return sorted(path for path, who in self.watchers.items() if session in who)

    def alive(self, broker: int) -> bool:
        """Whether a broker is alive by ZooKeeper: it is registered, and its session has not
        ended."""
        return f"{BROKER_IDS}/{broker}" in self.nodes and self.sessions[broker] not in self.ended

    @property
    def controller(self) -> int:
        """-1: nobody."""
        znode = self.nodes.get(CONTROLLER)
        found = CHOSEN.search(znode.data) if znode else None
        return int(found[1]) if found else -1


class ZnodeHistory:
    def __init__(self, changes: Iterable[ZnodeChange] = ()) -> None:
        self.changes: list[ZnodeChange] = []
        self.steps: list[ZnodeChange] = []  # those of the strip
        self.now = ZnodeTreeView()
        self.owners: dict[int, int] = {}  # the broker of each session, of all times
        self._past: tuple[int, ZnodeTreeView] = (0, ZnodeTreeView())  # the result of the last call
        self.add(changes)

    def add(self, changes: Iterable[ZnodeChange]) -> None:
        for change in changes:
            is_pulse = _is_pulse(change, self.now.nodes.get(change.path))
            self.changes.append(change)
            self.now.apply(change)
            if change.kind in STEPS and not is_pulse:
                self.steps.append(change)
            if change.znode and (found := BROKER.fullmatch(change.path)):
                self.owners[change.znode.owner] = int(found[1])

    def at(self, number: int) -> ZnodeTreeView:
        """The tree after the change of that number."""
        if number >= len(self.changes):
            return self.now
        known, tree = self._past
        if number < known:
            known, tree = 0, ZnodeTreeView()
        for change in self.changes[known:number]:
            tree.apply(change)
        self._past = number, tree
        return tree

    def settled(self, number: int) -> int:
        """The last change before the next step."""
        following = self.after(number)
        return self.last if following is None else following - 1

    @property
    def last(self) -> int:
        return len(self.changes)

    def before(self, number: int) -> int | None:
        """The step before one; None: there is none."""
        return next((it.number for it in reversed(self.steps) if it.number < number), None)

    def after(self, number: int) -> int | None:
        return next((it.number for it in self.steps if it.number > number), None)

    def until(self, at: int) -> int:
        """The last change up to this time; 0: none."""
        return next((it.number for it in reversed(self.changes) if it.at <= at), 0)

    @property
    def began(self) -> int:
        """The last change of the first read of the tree."""
        first = self.steps[0].number if self.steps else self.last + 1
        return first - 1


def _is_pulse(change: ZnodeChange, before: ZnodeState | None) -> bool:
    """The controllers write to /migration how far they are, again and again: nothing else has
    changed then."""
    if change.path != MIGRATION or before is None or change.znode is None:
        return False
    return PROGRESS.sub("", change.znode.data) == PROGRESS.sub("", before.data)


def recorded(recording: Recording) -> list[ZnodeChange]:
    """The changes in a recording; none if it was made without znodes."""
    rows: list[Any] = [row for _, rows in recording.track("znodes") for row in rows]
    return [ZnodeChange.parse(row) for row in rows]


def order(path: str) -> tuple[int, str]:
    name = path.rpartition("/")[2]
    return (int(name), "") if name.isdigit() else (-1, name)
