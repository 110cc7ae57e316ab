"""The tree of znodes as far as it is known, and the list of changes that made it.

    found("/a", ...)    gone("/b")    ended([0x12])    watched({0x34: {"/a"}})    input
         CREATED         DELETED         ENDED              WATCHED               ZnodeChange 1, 2

Kafka's watches fire once. So when a path changes, the sessions that watched its data are notified,
and no longer watch it until `watched` names them again.

Invariant: applying all changes in order gives the tree, and every earlier state of it.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, NamedTuple, Self


class ChangeKind(Enum):
    THERE = "there"  # it existed before we connected
    CREATED = "created"
    CHANGED = "changed"
    DELETED = "deleted"
    ENDED = "ended"  # a session, and with it its ephemeral znodes
    WATCHED = "watched"  # a session watches a path,
    UNWATCHED = "unwatched"  # and no longer does


class ZnodeState(NamedTuple):
    data: str
    czxid: int  # the transaction that created it; transactions order all writes
    mzxid: int  # the transaction that changed it last
    ctime: int  # ms since 1970
    mtime: int
    version: int  # how often its data were changed
    owner: int  # ephemeral: the session that it belongs to; else 0


class ZnodeChange(NamedTuple):
    number: int  # 1, 2, 3, ...
    at: int  # ms since 1970, by our clock
    kind: ChangeKind
    path: str  # "" if it is about a session only
    znode: ZnodeState | None = None  # as it is now, or was; None: deleted before it could be read
    notified: tuple[int, ...] = ()  # sessions whose watch on this path has fired
    session: int = 0  # which has ended, or watches

    def row(self) -> list[Any]:
        """The form in a recording."""
        return [self.number, self.at, self.kind.value, self.path, *self[4:]]

    @classmethod
    def parse(cls, row: list[Any]) -> Self:
        number, at, kind, path, znode, notified, session = row
        known = None if znode is None else ZnodeState(*znode)
        return cls(number, at, ChangeKind(kind), path, known, tuple(notified), session)


class ZnodeTree:
    """The known tree, and its changes."""

    def __init__(self) -> None:
        self.nodes: dict[str, ZnodeState] = {}
        self.below: dict[str, set[str]] = {}  # the paths of the children, by path
        self.watchers: dict[str, set[int]] = {}
        self.changes: list[ZnodeChange] = []
        self._ended: set[int] = set()

    def found(
        self, path: str, znode: ZnodeState, at: int, new: ChangeKind = ChangeKind.CREATED
    ) -> None:
        """This znode exists now."""
        was = self.nodes.get(path)
        if was == znode:
            return
        if was and was.czxid != znode.czxid:
            self.gone(path, at)
        kind = ChangeKind.CHANGED if path in self.nodes else new
        self.nodes[path] = znode
        if path != "/":
            self.below.setdefault(parent(path), set()).add(path)
        self._note(at, kind, path, znode)

    def missed(self, path: str, at: int) -> None:
        """It was created, and deleted before we could read it."""
        if path not in self.nodes:
            self._note(at, ChangeKind.CREATED, path, None)

    def gone(self, path: str, at: int) -> None:
        """It was deleted with all that was below it, from the leaves upwards."""
        for each in sorted(self.below.pop(path, ())):
            self.gone(each, at)
        self.below.get(parent(path), set()).discard(path)
        self._note(at, ChangeKind.DELETED, path, self.nodes.pop(path, None))

    def only(self, path: str, names: Iterable[str], at: int) -> None:
        """These are all children of a znode: the others that we knew were deleted."""
        stays = {child(path, name) for name in names}
        for each in sorted(self.below.get(path, set()) - stays):
            self.gone(each, at)

    def ended(self, sessions: Iterable[int], at: int) -> None:
        for session in sorted({*sessions} - self._ended):
            self._ended.add(session)
            self._append(at, ChangeKind.ENDED, "", session=session)
            for watchers in self.watchers.values():
                watchers.discard(session)

    def watched(self, watches: Mapping[int, set[str]], at: int) -> None:
        """By session, the paths on whose data it has a watch."""
        before = {(session, path) for path, who in self.watchers.items() for session in who}
        now = {(session, path) for session, paths in watches.items() for path in paths}
        for kind, pairs in (
            (ChangeKind.UNWATCHED, before - now),
            (ChangeKind.WATCHED, now - before),
        ):
            for session, path in sorted(pairs):
                who = self.watchers.setdefault(path, set())
                (who.add if kind is ChangeKind.WATCHED else who.discard)(session)
                self._append(at, kind, path, session=session)

    def owners(self) -> set[int]:
        return {znode.owner for znode in self.nodes.values() if znode.owner}

    def _note(self, at: int, kind: ChangeKind, path: str, znode: ZnodeState | None) -> None:
        watching = self.watchers.pop(path, set()) if kind is not ChangeKind.THERE else set()
        notified = tuple(sorted(watching))
        self._append(at, kind, path, znode=znode, notified=notified)

    def _append(self, at: int, kind: ChangeKind, path: str, **more: Any) -> None:
        self.changes.append(ZnodeChange(len(self.changes) + 1, at, kind, path, **more))


def child(path: str, name: str) -> str:
    return f"/{name}" if path == "/" else f"{path}/{name}"


def parent(path: str) -> str:
    return path.rpartition("/")[0] or "/"
