"""Follows all znodes of a ZooKeeper: their data, and every change in order.

    one watch on the whole tree ──> "/controller: deleted", at once and in order ─┐
    reads of the changed znodes ──> data and stat ────────────────────────────────┼──> ZnodeChange
    wchc, dump (four-letter words) ──> watches by session, live sessions ─────────┘

The watch is persistent and recursive (ZooKeeper 3.6 and later), in a session of our own: nothing is
polled, and the watches of others are not touched. The tree is read once, in portions, so that one
call never takes long. A znode that changes twice before it is read again gives one change; its
version shows it.

`wchc` lists watches on data (which `exists` sets, too); ZooKeeper does not say which session has a
watch on children.

Invariant: our own session is neither among the watchers nor among those that end.
"""

import re
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from logging import NullHandler, getLogger
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoNodeError, UnimplementedError
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.protocol.states import Callback, EventType, KazooState, WatchedEvent, ZnodeStat

from engine.cluster.state import now
from engine.cluster.znode_changes import ChangeKind, ZnodeChange, ZnodeState, ZnodeTree, child
from engine.cluster.zookeeper import NOT_SERVING, ask
from engine.errors import ApiException, ErrorCode
from engine.links import ZOOKEEPER

OWN = "/zookeeper"  # what ZooKeeper keeps for itself
ANSWER_WAIT_S = 5.0  # for an answer
PORTION = 0.2  # seconds of reading a large tree at a time,
AT_ONCE = 200  # so many requests together
SOON, LATER = 0.15, 2.0  # seconds to the next `wchc`, after a change and without one
MAX_DATA = 16_384  # characters of a znode's data that are kept
REFUSED = "not in the whitelist"
LOST = (KazooException, KazooTimeoutError)

# Of the SCRAM credentials of users: who has them can pretend to be a broker.
KEYS = re.compile(r"\b(salt|stored_key|server_key)=[A-Za-z0-9+/]+=*")


class ZnodeWatcher:
    """A session that only watches. `changes` may be called from several threads."""

    def __init__(self, hosts: str) -> None:
        """Hosts as Kafka's zookeeper.connect has them: host:port,host:port/chroot."""
        self.hosts = hosts
        self.trouble = ""  # why no new changes are seen
        self.no_watches = ""  # why the watches are not known
        self.closed = False
        self._tree = ZnodeTree()
        self._notified: deque[tuple[int, str, str]] = deque()  # when, what, path
        self._unread: deque[str] = deque()
        self._first = True  # the tree was not read to its end yet
        self._again = False  # the connection is new: watch and read again
        self._old = ""  # why this ZooKeeper can't report changes
        self._due = 0.0  # when to ask for the watches again
        self._lock = threading.RLock()
        logger = getLogger("engine.cluster.znode_watcher.kazoo")  # see `trouble`
        logger.addHandler(NullHandler())
        logger.propagate = False
        self._kazoo = KazooClient(hosts, timeout=10.0, logger=logger)
        self._kazoo.add_listener(self._session)
        try:
            self._kazoo.start(timeout=ANSWER_WAIT_S)
        except KazooTimeoutError:
            self.close()
            raise ApiException(
                ErrorCode.request_timed_out,
                f"no answer from ZooKeeper at {hosts} in {ANSWER_WAIT_S:g} s: is it running?",
            ) from None

    @property
    def session(self) -> int:
        """Our own."""
        client_id = self._kazoo.client_id
        return client_id[0] if client_id else 0

    @property
    def server(self) -> str:
        """The server that is read from, of several: "zookeeper-2 (127.0.0.1:2182)"; "" if there is
        one only, or no connection now."""
        hosts, connection = self._kazoo.hosts, self._kazoo._connection._socket
        if len(hosts) < 2 or not self._kazoo.connected or connection is None:
            return ""
        try:
            host, port = connection.getpeername()[:2]
        except OSError:  # it ends right now
            return ""
        place = [number for number, (_, each) in enumerate(hosts, 1) if each == port]
        return f"{ZOOKEEPER}-{place[0]} ({host}:{port})" if place else f"{host}:{port}"

    @property
    def reading(self) -> bool:
        """Whether a part of the tree is still to be read."""
        return bool(self._unread) or self._again

    def changes(self, after: int = 0) -> list[ZnodeChange]:
        """All changes known by now, after the change with that number."""
        with self._lock:
            if self.closed:
                self.trouble = ""
                return self._tree.changes[after:]
            try:
                self._update()
                self.trouble = self._old
            except LOST:
                self._again = True
                self.trouble = f"No answer from ZooKeeper at {self.hosts}."
            return self._tree.changes[after:]

    def track(self) -> Callable[[], list[Any] | None]:
        """For a recording: each call returns what is new, as rows."""
        number = 0

        def new_rows() -> list[Any] | None:
            nonlocal number
            new = self.changes(number)
            number += len(new)
            return [change.row() for change in new] or None

        return new_rows

    def close(self) -> None:
        self.closed = True
        self._kazoo.remove_listener(self._session)
        self._kazoo.stop()
        self._kazoo.close()

    # -- in kazoo's threads --------------------------------------------------------------

    def _session(self, state: str) -> None:
        if state == KazooState.CONNECTED:
            self._again = True

    def _notify(self, event: WatchedEvent) -> None:
        self._notified.append((now(), event.type, event.path))

    # -- following the tree --------------------------------------------------------------

    def _update(self) -> None:
        if self._again:
            self._begin()
        self._follow()
        self._read()
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + LATER
            answer = self._four_letter_word("wchc")
            if answer is not None:
                # A watch that was triggered is gone from the answer: who was notified counts first.
                self._kazoo.exists("/")
                self._await_notifications()
                self._follow()
                self._tree.watched(self._watches(answer), now())

    def _await_notifications(self) -> None:
        """kazoo has a thread for notifications and another for answers: wait for the first one."""
        done = threading.Event()
        self._kazoo.handler.dispatch_callback(Callback("watch", done.set, ()))
        if not done.wait(ANSWER_WAIT_S):
            raise KazooTimeoutError

    def _begin(self) -> None:
        """Watch the tree, and only then read it, so that no change is missed."""
        if not self._kazoo.connected:
            raise KazooTimeoutError
        self._again = False
        self._kazoo._data_watchers = _EveryPath(self._notify)
        reply = self._kazoo.handler.async_result()
        self._kazoo._call(AddWatch(self._kazoo.chroot or "/"), reply)
        try:
            reply.get(timeout=ANSWER_WAIT_S)
        except UnimplementedError:
            self._old = "This ZooKeeper is older than 3.6, so it reports no changes."
        self._unread = deque("/")

    def _follow(self) -> None:
        """Apply the notifications that have arrived."""
        events = [self._notified.popleft() for _ in range(len(self._notified))]
        events = [each for each in events if not _within(each[2], OWN)]
        if not events:
            return
        self._due = min(self._due, time.monotonic() + SOON)
        nodes = self._tree.nodes
        paths = {path for _, what, path in events if what != EventType.DELETED}
        known = self._get(paths)
        gone = [nodes[path] for _, what, path in events if what == "DELETED" and path in nodes]
        if any(znode.owner for znode in gone):
            self._find_ended_sessions(events[0][0])
        for at, what, path in events:
            if what == EventType.DELETED:
                if path in nodes or not self._unread:
                    self._tree.gone(path, at)
            elif path in known:
                # If it changed before we had read it, it existed before we connected.
                new = ChangeKind.CREATED if what == EventType.CREATED else ChangeKind.THERE
                self._tree.found(path, known[path][0], at, new)
            elif what == EventType.CREATED:
                self._tree.missed(path, at)

    def _read(self) -> None:
        """Read a portion of the rest of the tree, from the root downwards."""
        until = time.monotonic() + PORTION
        while self._unread and time.monotonic() < until:
            paths = [self._unread.popleft() for _ in range(min(AT_ONCE, len(self._unread)))]
            known, at = self._get(paths), now()
            for path, (znode, _) in known.items():
                self._tree.found(
                    path, znode, at, ChangeKind.THERE if self._first else ChangeKind.CREATED
                )
            parents = [path for path, (_, children) in known.items() if children]
            for path in known.keys() - parents:
                self._tree.only(path, (), at)
            answers = {path: self._kazoo.get_children_async(path) for path in parents}
            for path, answer in answers.items():
                try:
                    names = sorted(answer.get(timeout=ANSWER_WAIT_S))
                except NoNodeError:
                    continue  # a notification of its deletion follows
                if path == "/":
                    names = [name for name in names if f"/{name}" != OWN]
                self._tree.only(path, names, at)
                self._unread.extend(child(path, name) for name in names)
        self._first = self._first and bool(self._unread)

    def _get(self, paths: Iterable[str]) -> dict[str, tuple[ZnodeState, int]]:
        """Those that exist, with the number of their children."""
        answers = {path: self._kazoo.get_async(path) for path in paths}
        found = {}
        for path, answer in answers.items():
            try:
                data, stat = answer.get(timeout=ANSWER_WAIT_S)
                found[path] = _znode(data, stat), stat.numChildren
            except NoNodeError:
                continue
        return found

    # -- the four-letter words -----------------------------------------------------------

    def _find_ended_sessions(self, at: int) -> None:
        """An ephemeral znode is gone: did its session end, or did its owner delete it?"""
        answer = self._four_letter_word("dump")
        if answer is not None:
            self._tree.ended(self._tree.owners() - alive(answer), at)

    def _four_letter_word(self, word: str) -> str | None:
        """The answers of all servers; None, and the reason in `no_watches`, if one refuses or none
        answers. Of several, some may be dead: their clients have gone to the others."""
        answers = list[str]()
        for address in self.hosts.partition("/")[0].split(","):
            host, _, port = address.rpartition(":")
            try:
                answers.append(ask(int(port), word, host))
            except OSError:
                self.no_watches = f"ZooKeeper at {address} does not answer {word!r}."
                continue
            if REFUSED in answers[-1]:
                self.no_watches = (
                    f"The watches are not known: this ZooKeeper refuses the word {word!r} "
                    f"(4lw.commands.whitelist in its zoo.cfg would allow it)."
                )
                return None
        answers = [each for each in answers if NOT_SERVING not in each]
        if not answers:
            return None
        self.no_watches = ""
        return "".join(answers)

    def _watches(self, answer: str) -> dict[int, set[str]]:
        root = self._kazoo.chroot
        found = {
            session: {path.removeprefix(root) for path in paths if path.startswith(root + "/")}
            for session, paths in watches(answer).items()
        }
        found.pop(self.session, None)
        return found


def watches(answer: str) -> dict[int, set[str]]:
    """The answer to `wchc`: a session, and below it, indented, its paths."""
    found: dict[int, set[str]] = {}
    paths: set[str] = set()
    for line in answer.splitlines():
        if line.startswith("0x"):
            paths = found.setdefault(int(line, 16), set())
        elif line.startswith("\t"):
            paths.add(line.strip())
    return found


def alive(answer: str) -> set[int]:
    """The sessions in the answer to `dump`, which lists their znodes further down."""
    parts = answer.split("SessionTracker dump:")  # one for each server
    lines = [line for part in parts for line in part.partition("ephemeral nodes")[0].splitlines()]
    return {int(line.split()[0], 16) for line in lines if line.startswith(("\t0x", "0x"))}


class AddWatch:
    """A request that kazoo lacks: a persistent watch on a path and all below."""

    type = 106
    recursive = 1

    def __init__(self, path: str) -> None:
        self.path = path

    def serialize(self) -> bytes:
        path = self.path.encode()
        return struct.pack(f">i{len(path)}si", len(path), path, self.recursive)

    @classmethod
    def deserialize(cls, answer: bytes, offset: int) -> bool:
        return True


class _EveryPath(dict[str, Any]):
    """Kazoo's table of watchers by path: here the same watcher for every path, always."""

    def __init__(self, watcher: Callable[[WatchedEvent], None]) -> None:
        super().__init__()
        self._watcher = watcher

    def pop(self, path: str, default: Any = None) -> Any:
        return [self._watcher]


def _znode(data: bytes | None, stat: ZnodeStat) -> ZnodeState:
    text = (data or b"").decode(errors="backslashreplace")
    text = text if len(text) <= MAX_DATA else text[:MAX_DATA] + "…"
    times = stat.czxid, stat.mzxid, stat.ctime, stat.mtime
    text = KEYS.sub(r"\1=[hidden]", text)
    return ZnodeState(text, *times, stat.version, stat.ephemeralOwner)


def _within(path: str, root: str) -> bool:
    return path == root or path.startswith(root + "/")
