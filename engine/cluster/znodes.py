"""What stands in a ZooKeeper, and every change of it, as ZooKeeper itself tells it.

    one watch on the whole tree ──> "/controller: deleted", at once and in order ─┐
    short reads of what it named ──> data and stat ───────────────────────────────┼──> Change
    wchc, dump (four-letter words) ──> who watches what, which sessions live ─────┘

The watch is one that stays and covers all that lies below (ZooKeeper 3.6 and later), in a session
of our own: nothing is asked again and again, and nobody else's watch is touched. The tree is read
once, in portions, so that a look at a large one never takes long. A znode that changes twice
before it is read again is told as one change; its version says so.

`wchc` names watches on data (which `exists` sets, too); of those on children ZooKeeper tells
nobody whose they are.

Invariant: our own session is neither among the watchers nor among those that end.
"""

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
from kazoo.protocol.states import EventType, KazooState, WatchedEvent, ZnodeStat

from engine.cluster.mirror import Change, Kind, Mirror, Znode, child
from engine.cluster.zookeeper import ask
from engine.errors import ErrorCode, KafkaError

OWN = "/zookeeper"  # what ZooKeeper keeps for itself
PATIENCE = 5.0  # seconds for an answer
PORTION = 0.2  # seconds of reading a large tree at a time,
AT_ONCE = 200  # so many questions together
SOON, LATER = 0.15, 2.0  # seconds to the next words, after a change and without one
LONGEST = 16_384  # characters of a znode's data that are kept
REFUSED = "not in the whitelist"
LOST = (KazooException, KazooTimeoutError)


class Znodes:
    """A session that looks on. `changes` may be asked for from several threads."""

    def __init__(self, hosts: str) -> None:
        """Hosts as Kafka's zookeeper.connect has them: host:port,host:port/chroot."""
        self.hosts = hosts
        self.trouble = ""  # why nothing new is seen
        self.deaf = ""  # why nobody tells who watches
        self.closed = False
        self._mirror = Mirror()
        self._heard: deque[tuple[int, str, str]] = deque()  # when, what, where
        self._unread: deque[str] = deque()
        self._first = True  # the tree was not read to its end yet
        self._again = False  # the connection is new: watch and read again
        self._old = ""  # why this ZooKeeper can't tell of changes
        self._due = 0.0  # when to ask the words
        self._lock = threading.RLock()
        logger = getLogger("engine.cluster.znodes.kazoo")  # what goes wrong is told in `trouble`
        logger.addHandler(NullHandler())
        logger.propagate = False
        self._kazoo = KazooClient(hosts, timeout=10.0, logger=logger)
        self._kazoo.add_listener(self._session)
        try:
            self._kazoo.start(timeout=PATIENCE)
        except KazooTimeoutError:
            self.close()
            raise KafkaError(
                ErrorCode.request_timed_out,
                f"no answer from ZooKeeper at {hosts} in {PATIENCE:g} s: is it running?",
            ) from None

    @property
    def session(self) -> int:
        """Our own."""
        client_id = self._kazoo.client_id
        return client_id[0] if client_id else 0

    @property
    def reading(self) -> bool:
        """There is more than was read up to now."""
        return bool(self._unread) or self._again

    def changes(self, after: int = 0) -> list[Change]:
        """All that is known by now, after the change of that number."""
        with self._lock:
            if self.closed:
                self.trouble = ""
                return self._mirror.changes[after:]
            try:
                self._look()
                self.trouble = self._old
            except LOST:
                self._again = True
                self.trouble = f"No answer from ZooKeeper at {self.hosts}."
            return self._mirror.changes[after:]

    def track(self) -> Callable[[], list[Any] | None]:
        """For a recording: each call returns what is new, as rows."""
        number = 0

        def told() -> list[Any] | None:
            nonlocal number
            new = self.changes(number)
            number += len(new)
            return [change.row() for change in new] or None

        return told

    def close(self) -> None:
        self.closed = True
        self._kazoo.remove_listener(self._session)
        self._kazoo.stop()
        self._kazoo.close()

    # -- in kazoo's threads --------------------------------------------------------------

    def _session(self, state: str) -> None:
        if state == KazooState.CONNECTED:
            self._again = True

    def _hear(self, event: WatchedEvent) -> None:
        self._heard.append((_now(), event.type, event.path))

    # -- looking -------------------------------------------------------------------------

    def _look(self) -> None:
        if self._again:
            self._begin()
        self._follow()
        self._read()
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + LATER
            told = self._words("wchc")
            if told is not None:
                self._mirror.watched(self._watches(told), _now())

    def _begin(self) -> None:
        """Watch all, and only then read: what changes meanwhile is heard."""
        if not self._kazoo.connected:
            raise KazooTimeoutError
        self._again = False
        self._kazoo._data_watchers = _Everywhere(self._hear)
        reply = self._kazoo.handler.async_result()
        self._kazoo._call(AddWatch(self._kazoo.chroot or "/"), reply)
        try:
            reply.get(timeout=PATIENCE)
        except UnimplementedError:
            self._old = "This ZooKeeper is older than 3.6 and can't tell of changes: so it was."
        self._unread = deque("/")

    def _follow(self) -> None:
        heard = [self._heard.popleft() for _ in range(len(self._heard))]
        heard = [each for each in heard if not _within(each[2], OWN)]
        if not heard:
            return
        self._due = min(self._due, time.monotonic() + SOON)
        nodes = self._mirror.nodes
        paths = {path for _, what, path in heard if what != EventType.DELETED}
        known = self._get(paths)
        gone = [nodes[path] for _, what, path in heard if what == "DELETED" and path in nodes]
        if any(znode.owner for znode in gone):
            self._bury(heard[0][0])
        for at, what, path in heard:
            if what == EventType.DELETED:
                if path in nodes or not self._unread:
                    self._mirror.gone(path, at)
            elif path in known:
                # What has changed before we had read it was there.
                new = Kind.CREATED if what == EventType.CREATED else Kind.THERE
                self._mirror.found(path, known[path][0], at, new)
            elif what == EventType.CREATED:
                self._mirror.missed(path, at)

    def _read(self) -> None:
        """A portion of what was not read yet, from the root downwards."""
        until = time.monotonic() + PORTION
        while self._unread and time.monotonic() < until:
            paths = [self._unread.popleft() for _ in range(min(AT_ONCE, len(self._unread)))]
            known, at = self._get(paths), _now()
            for path, (znode, _) in known.items():
                self._mirror.found(path, znode, at, Kind.THERE if self._first else Kind.CREATED)
            parents = [path for path, (_, children) in known.items() if children]
            for path in known.keys() - parents:
                self._mirror.only(path, (), at)
            answers = {path: self._kazoo.get_children_async(path) for path in parents}
            for path, answer in answers.items():
                try:
                    names = sorted(answer.get(timeout=PATIENCE))
                except NoNodeError:
                    continue  # its end is among what was heard
                if path == "/":
                    names = [name for name in names if f"/{name}" != OWN]
                self._mirror.only(path, names, at)
                self._unread.extend(child(path, name) for name in names)
        self._first = self._first and bool(self._unread)

    def _get(self, paths: Iterable[str]) -> dict[str, tuple[Znode, int]]:
        """Those that are there, with the number of their children."""
        answers = {path: self._kazoo.get_async(path) for path in paths}
        found = {}
        for path, answer in answers.items():
            try:
                data, stat = answer.get(timeout=PATIENCE)
                found[path] = _znode(data, stat), stat.numChildren
            except NoNodeError:
                continue
        return found

    # -- the four-letter words -----------------------------------------------------------

    def _bury(self, at: int) -> None:
        """Something ephemeral is gone: with its session, or did its owner remove it?"""
        told = self._words("dump")
        if told is not None:
            self._mirror.ended(self._mirror.owners() - alive(told), at)

    def _words(self, word: str) -> str | None:
        """What every server says; None, and why in `deaf`, if one does not."""
        told = []
        for address in self.hosts.partition("/")[0].split(","):
            host, _, port = address.rpartition(":")
            try:
                told.append(ask(int(port), word, host))
            except OSError:
                self.deaf = f"ZooKeeper at {address} does not answer {word!r}."
                return None
            if REFUSED in told[-1]:
                self.deaf = (
                    f"Who watches what stays untold: this ZooKeeper refuses the word {word!r} "
                    f"(4lw.commands.whitelist in its zoo.cfg would allow it)."
                )
                return None
        self.deaf = ""
        return "".join(told)

    def _watches(self, told: str) -> dict[int, set[str]]:
        root = self._kazoo.chroot
        found = {
            session: {path.removeprefix(root) for path in paths if path.startswith(root + "/")}
            for session, paths in watches(told).items()
        }
        found.pop(self.session, None)
        return found


def watches(told: str) -> dict[int, set[str]]:
    """The answer to `wchc`: a session, and below it, indented, its paths."""
    found: dict[int, set[str]] = {}
    paths: set[str] = set()
    for line in told.splitlines():
        if line.startswith("0x"):
            paths = found.setdefault(int(line, 16), set())
        elif line.startswith("\t"):
            paths.add(line.strip())
    return found


def alive(told: str) -> set[int]:
    """The sessions in the answer to `dump`; further down it has what they own."""
    sessions = told.partition("ephemeral nodes dump")[0]
    return {int(line, 16) for line in sessions.splitlines() if line.startswith("\t0x")}


class AddWatch:
    """A question that kazoo has no word for: a watch that stays, on a path and all below."""

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


class _Everywhere(dict[str, Any]):
    """Where kazoo looks up who watches a path: one who stays, and watches each."""

    def __init__(self, hear: Callable[[WatchedEvent], None]) -> None:
        super().__init__()
        self._hear = hear

    def pop(self, path: str, default: Any = None) -> Any:
        return [self._hear]


def _znode(data: bytes | None, stat: ZnodeStat) -> Znode:
    told = (data or b"").decode(errors="backslashreplace")
    told = told if len(told) <= LONGEST else told[:LONGEST] + "…"
    times = stat.czxid, stat.mzxid, stat.ctime, stat.mtime
    return Znode(told, *times, stat.version, stat.ephemeralOwner)


def _within(path: str, root: str) -> bool:
    return path == root or path.startswith(root + "/")


def _now() -> int:
    return time.time_ns() // 1_000_000
