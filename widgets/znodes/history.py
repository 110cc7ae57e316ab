"""The changes, one after another, and the tree that they make.

    there /a    created /b    ended 0x12    deleted /b    changed /a        changes
        1            2             3             4             5            numbers
                     ●             ◆             ▽             ✎            steps of the strip

A live tree, a recording's track and a moment of the past are all made in the same way: from the
first change on. So there is one way to be wrong, and not three.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from engine.cluster.mirror import Change, Kind, Znode, parent
from engine.cluster.recording import Recording
from engine.controller.znodes import BROKER_IDS, CONTROLLER

STEPS = frozenset({Kind.CREATED, Kind.CHANGED, Kind.DELETED, Kind.ENDED})
BROKER = re.compile(rf"{BROKER_IDS}/(\d+)")
CHOSEN = re.compile(r'"brokerid":\s*(-?\d+)')


@dataclass
class Tree:
    """As it is after some change."""

    nodes: dict[str, Znode] = field(default_factory=dict)
    below: dict[str, set[str]] = field(default_factory=dict)  # a path, and its children's
    watchers: dict[str, set[int]] = field(default_factory=dict)  # sessions, by path
    sessions: dict[int, int] = field(default_factory=dict)  # the latest of each broker
    ended: set[int] = field(default_factory=set)

    def apply(self, change: Change) -> None:
        path = change.path
        match change.kind:
            case Kind.WATCHED:
                self.watchers.setdefault(path, set()).add(change.session)
            case Kind.UNWATCHED:
                self.watchers.get(path, set()).discard(change.session)
            case Kind.ENDED:
                self.ended.add(change.session)
                for who in self.watchers.values():
                    who.discard(change.session)
            case Kind.DELETED:
                self._fire(change)
                self.nodes.pop(path, None)
                self.below.get(parent(path), set()).discard(path)
            case _:
                self._fire(change)
                if change.znode:
                    self._put(path, change.znode)

    def _fire(self, change: Change) -> None:
        self.watchers.get(change.path, set()).difference_update(change.told)

    def _put(self, path: str, znode: Znode) -> None:
        self.nodes[path] = znode
        if path != "/":
            self.below.setdefault(parent(path), set()).add(path)
        if found := BROKER.fullmatch(path):
            self.sessions[int(found[1])] = znode.owner

    def children(self, path: str) -> list[str]:
        """Numbers by their value, other names by their letters."""
        return sorted(self.below.get(path, ()), key=order)

    def watched_by(self, session: int) -> list[str]:
        return sorted(path for path, who in self.watchers.items() if session in who)

    def alive(self, broker: int) -> bool:
        """As far as ZooKeeper knows: it is registered, and its session goes on."""
        return f"{BROKER_IDS}/{broker}" in self.nodes and self.sessions[broker] not in self.ended

    @property
    def controller(self) -> int:
        """-1: nobody."""
        znode = self.nodes.get(CONTROLLER)
        found = CHOSEN.search(znode.data) if znode else None
        return int(found[1]) if found else -1


class History:
    def __init__(self, changes: Iterable[Change] = ()) -> None:
        self.changes: list[Change] = []
        self.steps: list[Change] = []  # those of the strip
        self.now = Tree()
        self.owners: dict[int, int] = {}  # which broker a session was of, at any time
        self._past: tuple[int, Tree] = (0, Tree())  # the last that was asked for
        self.add(changes)

    def add(self, changes: Iterable[Change]) -> None:
        for change in changes:
            self.changes.append(change)
            self.now.apply(change)
            if change.kind in STEPS:
                self.steps.append(change)
            if change.znode and (found := BROKER.fullmatch(change.path)):
                self.owners[change.znode.owner] = int(found[1])

    def at(self, number: int) -> Tree:
        """The tree after the change of that number."""
        if number >= len(self.changes):
            return self.now
        known, tree = self._past
        if number < known:
            known, tree = 0, Tree()
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
        """The last change that had happened by then; 0: none."""
        return next((it.number for it in reversed(self.changes) if it.at <= at), 0)

    @property
    def began(self) -> int:
        """The change with which the first look was complete: nothing had happened by then."""
        first = self.steps[0].number if self.steps else self.last + 1
        return first - 1


def recorded(recording: Recording) -> list[Change]:
    """What a recording tells of znodes; nothing, if nobody asked it to."""
    rows: list[Any] = [row for _, rows in recording.track("znodes") for row in rows]
    return [Change.parse(row) for row in rows]


def order(path: str) -> tuple[int, str]:
    name = path.rpartition("/")[2]
    return (int(name), "") if name.isdigit() else (-1, name)
