"""A model of ZooKeeper: the znodes, the sessions and their watches.

    ZookeeperSession.ask ──> one request after another ──> Changed, Changed, ... ──> done(answers)
                                   │                          ^
                       ZookeeperTransaction ── all or nothing ──> tree

It answers the requests of zookeeper/requests.py as the real one does; tests run the same scripts
on both. A transaction makes all of its writes, or none.

Invariant: a watch fires once, before any answer shows the change.
Invariant: every write, refused or not, and every session's beginning and end take the next number
of the same counter; a node's `czxid` is the number of its creation.
Invariant: an ephemeral node has an owner, and the owner's session is alive.

`done` and `changed` are called at once: there is no network here. ensemble.py and client.py
connect a session to its client through one, with delays and losses.

Left out: ACLs, ticks (a real session may last one longer than it asked for),
and children of ephemeral nodes, which we never make.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from engine.sim.clock import Clock
from engine.zookeeper.requests import (
    Ask,
    Changed,
    CheckVersion,
    Children,
    Create,
    Created,
    Delete,
    Exists,
    Get,
    Multi,
    Reason,
    Refused,
    Set,
    Stat,
    Write,
    ZnodeData,
)

ROOT = "/"
TICK = 100  # ms between two looks whether a session may end


class Znode(NamedTuple):
    data: bytes = b""
    version: int = 0
    czxid: int = 0
    owner: int = 0
    children: frozenset[str] = frozenset()
    born: int = 0  # how many children it ever had: the number of the next sequence node

    @property
    def stat(self) -> Stat:
        return Stat(self.version, self.czxid, self.owner)


class WatchEvent(NamedTuple):
    """A change that fires watches: of a path's data, of its children, or of both at a deletion."""

    path: str
    data: bool = False
    children: bool = False


class WriteRefused(Exception):
    """The transaction makes no change."""

    def __init__(self, reason: Reason, path: str) -> None:
        self.refused = Refused(reason, path)


class ZookeeperTransaction:
    """One transaction: only it sees its changes, until `commit`."""

    def __init__(self, tree: dict[str, Znode], zxid: int, session: int) -> None:
        self.changes: dict[str, Znode | None] = {}
        self.events: list[WatchEvent] = []
        self._tree = tree
        self._zxid = zxid
        self._session = session

    def do(self, write: Write) -> Any:
        match write:
            case Create():
                return self._create(write)
            case Set(path, data, version):
                node = self._find(path, version)
                self.changes[path] = node._replace(data=data, version=node.version + 1)
                self.events.append(WatchEvent(path, data=True))
                return node.version + 1
            case Delete(path, version):
                node = self._find(path, version)
                if node.children:
                    raise WriteRefused(Reason.NOT_EMPTY, path)
                self._delete(path)
            case CheckVersion(path, version):
                self._find(path, version)
        return True

    def commit(self) -> None:
        for path, node in self.changes.items():
            if node is None:
                self._tree.pop(path, None)
            else:
                self._tree[path] = node

    def _get(self, path: str) -> Znode | None:
        return self.changes[path] if path in self.changes else self._tree.get(path)

    def _find(self, path: str, version: int, named: str | None = None) -> Znode:
        node = self._get(path)
        if node is None:
            raise WriteRefused(Reason.NO_NODE, named or path)
        if version not in (-1, node.version):
            raise WriteRefused(Reason.BAD_VERSION, path)
        return node

    def _create(self, create: Create) -> Created:
        above, name = split(create.path)
        parent = self._find(above, -1, create.path)
        assert not parent.owner, f"{above} is ephemeral"
        if create.sequence:
            name += f"{parent.born:010}"
        path = join(above, name)
        if self._get(path) is not None:
            raise WriteRefused(Reason.NODE_EXISTS, create.path)
        owner = self._session if create.ephemeral else 0
        self.changes[path] = Znode(create.data or b"", czxid=self._zxid, owner=owner)
        self.changes[above] = parent._replace(
            children=parent.children | {name}, born=parent.born + 1
        )
        self.events += WatchEvent(path, data=True), WatchEvent(above, children=True)
        return Created(path, self._zxid)

    def _delete(self, path: str) -> None:
        above, name = split(path)
        parent = self._find(above, -1)
        self.changes[path] = None
        self.changes[above] = parent._replace(children=parent.children - {name})
        self.events += WatchEvent(path, data=True, children=True), WatchEvent(above, children=True)


class ZookeeperSession:
    """A client's session. It ends `timeout` ms after the client's last message."""

    def __init__(
        self, zookeeper: "Zookeeper", number: int, timeout: int, changed: Callable[[Changed], Any]
    ) -> None:
        self.number = number  # the owner of its ephemeral nodes
        self.alive = True
        self._zookeeper = zookeeper
        self._timeout = timeout
        self._changed = changed
        self._heard = zookeeper.clock.now
        self._data: set[str] = set()  # watched paths
        self._children: set[str] = set()
        self._await()

    def ask(self, asks: Sequence[Ask], done: Callable[[list[Any] | None], Any]) -> None:
        """Answered with None if the session is over."""
        self.touch()
        done([self._zookeeper.answer(self, ask) for ask in asks] if self.alive else None)

    def touch(self) -> None:
        """The client is alive. Without effect when the session is over."""
        self._heard = self._zookeeper.clock.now

    def close(self) -> None:
        """End the session; its ephemeral nodes are deleted at once."""
        if self.alive:
            self.alive = False
            self._zookeeper.end(self)

    def expire(self) -> None:
        """As `close`, but not by the client: every watch fires."""
        self.close()
        self.disconnect()

    def disconnect(self) -> None:
        """The connection is lost, and so are the watches. The session may continue."""
        for path in sorted(self._data | self._children):
            self._forget(WatchEvent(path, data=True, children=True))

    def watch(self, ask: Get | Exists | Children) -> None:
        (self._children if isinstance(ask, Children) else self._data).add(ask.path)

    def notice(self, event: WatchEvent) -> None:
        if self.alive:
            self._forget(event)

    def _forget(self, event: WatchEvent) -> None:
        watched = [self._data] * event.data + [self._children] * event.children
        found = [paths for paths in watched if event.path in paths]
        for paths in found:
            paths.remove(event.path)
        if found:
            self._changed(Changed(event.path))

    def _await(self) -> None:
        clock, until = self._zookeeper.clock, self._heard + self._timeout
        if clock.now < until:
            if self.alive:
                clock.at(until, self._await)
        elif self._zookeeper.ends_sessions:
            self.close()
        else:
            clock.after(TICK, self._await)


class Zookeeper:
    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.zxid = 0  # of the last write
        self.tree: dict[str, Znode] = {ROOT: Znode()}
        self.sessions: dict[int, ZookeeperSession] = {}
        self.ends_sessions = True  # not while the servers have no leader
        self._sessions = 0  # how many were opened so far

    def connect(self, timeout: int, changed: Callable[[Changed], Any]) -> ZookeeperSession:
        self._sessions += 1
        self.zxid += 1
        session = ZookeeperSession(self, self._sessions, timeout, changed)
        self.sessions[session.number] = session
        return session

    def answer(self, session: ZookeeperSession, ask: Ask) -> Any:
        match ask:
            case Get() | Exists() | Children():
                return self._read(session, ask)
            case Multi(writes):
                done = self._write(session, writes)
                if isinstance(done, Refused):
                    return done
                return tuple(
                    each._replace(czxid=0) if isinstance(each, Created) else each for each in done
                )
            case Create(path, parents=True):
                self._make(session, split(path)[0])
        done = self._write(session, (ask,))
        return done if isinstance(done, Refused) else done[0]

    def end(self, session: ZookeeperSession) -> None:
        del self.sessions[session.number]
        mine = sorted(path for path, node in self.tree.items() if node.owner == session.number)
        self._write(session, tuple(Delete(path) for path in mine))

    def _read(self, session: ZookeeperSession, ask: Get | Exists | Children) -> Any:
        node = self.tree.get(ask.path)
        if ask.watch and (node is not None or isinstance(ask, Exists)):
            session.watch(ask)
        if node is None:
            return None
        match ask:
            case Get():
                return ZnodeData(node.data, node.stat)
            case Exists():
                return node.stat
            case Children():
                return tuple(sorted(node.children))

    def _make(self, session: ZookeeperSession, path: str) -> None:
        """Create the nodes of a path that do not exist yet, the highest first."""
        if path not in self.tree:
            self._make(session, split(path)[0])
            self._write(session, (Create(path),))

    def _write(self, session: ZookeeperSession, writes: Sequence[Write]) -> list[Any] | Refused:
        self.zxid += 1
        draft = ZookeeperTransaction(self.tree, self.zxid, session.number)
        try:
            done = [draft.do(write) for write in writes]
        except WriteRefused as no:
            return no.refused
        draft.commit()
        for event in draft.events:
            for other in list(self.sessions.values()):
                other.notice(event)
        return done


def split(path: str) -> tuple[str, str]:
    above, _, name = path.rpartition("/")
    return above or ROOT, name


def join(above: str, name: str) -> str:
    return above + name if above == ROOT else f"{above}/{name}"
