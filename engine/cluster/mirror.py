"""A tree of znodes as it is known, and how it came to be so: one change after another.

    found("/a", ...)    gone("/b")    ended([0x12])    watched({0x34: {"/a"}})      what is told
         CREATED         DELETED         ENDED              WATCHED                 Change 1, 2, ...

Kafka's watches fire once. So when a path changes, whoever had a watch on its data is told by that,
and has none any more, until it is said again that they watch.

Invariant: the changes make the tree: whoever applies them all, in order, knows every past.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, NamedTuple, Self


class Kind(Enum):
    THERE = "there"  # it was before we looked
    CREATED = "created"
    CHANGED = "changed"
    DELETED = "deleted"
    ENDED = "ended"  # a session, and with it what was ephemeral
    WATCHED = "watched"  # somebody waits for the next change of a path,
    UNWATCHED = "unwatched"  # and no longer does


class Znode(NamedTuple):
    data: str
    czxid: int  # the transaction that created it, by which all writes are in one order
    mzxid: int  # and that which changed it last
    ctime: int  # ms since 1970
    mtime: int
    version: int  # how often its data were changed
    owner: int  # the session that it lives in; 0: it stays


class Change(NamedTuple):
    number: int  # 1, 2, 3, ...
    at: int  # ms since 1970, by our clock
    kind: Kind
    path: str  # "" if it is about a session only
    znode: Znode | None = None  # as it is now, or was; None: gone before it could be read
    told: tuple[int, ...] = ()  # sessions whose watch on this path has fired
    session: int = 0  # which has ended, or watches

    def row(self) -> list[Any]:
        """As a recording keeps it."""
        return [self.number, self.at, self.kind.value, self.path, *self[4:]]

    @classmethod
    def parse(cls, row: list[Any]) -> Self:
        number, at, kind, path, znode, told, session = row
        known = None if znode is None else Znode(*znode)
        return cls(number, at, Kind(kind), path, known, tuple(told), session)


class Mirror:
    """What is known of the tree, and how it came to be so."""

    def __init__(self) -> None:
        self.nodes: dict[str, Znode] = {}
        self.below: dict[str, set[str]] = {}  # a path, and those of its children
        self.watchers: dict[str, set[int]] = {}
        self.changes: list[Change] = []
        self._ended: set[int] = set()

    def found(self, path: str, znode: Znode, at: int, new: Kind = Kind.CREATED) -> None:
        """It stands there now."""
        was = self.nodes.get(path)
        if was == znode:
            return
        if was and was.czxid != znode.czxid:
            self.gone(path, at)
        kind = Kind.CHANGED if path in self.nodes else new
        self.nodes[path] = znode
        if path != "/":
            self.below.setdefault(parent(path), set()).add(path)
        self._note(at, kind, path, znode)

    def missed(self, path: str, at: int) -> None:
        """It came into being, and was gone before we could read it."""
        if path not in self.nodes:
            self._note(at, Kind.CREATED, path, None)

    def gone(self, path: str, at: int) -> None:
        """And all that was below it, from the leaves upwards."""
        for each in sorted(self.below.pop(path, ())):
            self.gone(each, at)
        self.below.get(parent(path), set()).discard(path)
        self._note(at, Kind.DELETED, path, self.nodes.pop(path, None))

    def only(self, path: str, names: Iterable[str], at: int) -> None:
        """All children of a znode: others that we knew are gone."""
        stays = {child(path, name) for name in names}
        for each in sorted(self.below.get(path, set()) - stays):
            self.gone(each, at)

    def ended(self, sessions: Iterable[int], at: int) -> None:
        for session in sorted({*sessions} - self._ended):
            self._ended.add(session)
            self.changes.append(Change(len(self.changes) + 1, at, Kind.ENDED, "", session=session))
            for watchers in self.watchers.values():
                watchers.discard(session)

    def watched(self, told: Mapping[int, set[str]], at: int) -> None:
        """By session, the paths on whose data it has a watch."""
        before = {(session, path) for path, who in self.watchers.items() for session in who}
        now = {(session, path) for session, paths in told.items() for path in paths}
        for kind, pairs in ((Kind.UNWATCHED, before - now), (Kind.WATCHED, now - before)):
            for session, path in sorted(pairs):
                who = self.watchers.setdefault(path, set())
                (who.add if kind is Kind.WATCHED else who.discard)(session)
                number = len(self.changes) + 1
                self.changes.append(Change(number, at, kind, path, session=session))

    def owners(self) -> set[int]:
        return {znode.owner for znode in self.nodes.values() if znode.owner}

    def _note(self, at: int, kind: Kind, path: str, znode: Znode | None) -> None:
        watching = self.watchers.pop(path, set()) if kind is not Kind.THERE else set()
        told = tuple(sorted(watching))
        self.changes.append(Change(len(self.changes) + 1, at, kind, path, znode, told))


def child(path: str, name: str) -> str:
    return f"/{name}" if path == "/" else f"{path}/{name}"


def parent(path: str) -> str:
    return path.rpartition("/")[0] or "/"
