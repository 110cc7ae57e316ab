"""Questions as kazoo sends them, and kazoo's replies as answers: asks.py <-> ZooKeeper's packets.

    Get("/a", watch=True)  ──>  GetData("/chroot/a", Watch)  ──>  (data, ZnodeStat)  ──>  Node

kazoo's methods do the same with a closure, a lock and a few checks for each question; a controller
that moves a thousand partitions asks a thousand, so here a question is a packet and nothing else.

Left out: ACLs (everybody may do everything) and children of ephemeral nodes, whose error comes
through as kazoo's.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from kazoo.exceptions import (
    BadVersionError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    RolledBackError,
    RuntimeInconsistency,
)
from kazoo.protocol import serialization as packets
from kazoo.protocol.states import WatchedEvent, ZnodeStat
from kazoo.security import OPEN_ACL_UNSAFE

from engine.controller.asks import (
    Ask,
    Changed,
    Check,
    Children,
    Create,
    Created,
    Delete,
    Exists,
    Get,
    Multi,
    Node,
    Reason,
    Refused,
    Set,
    Stat,
    Write,
)

REASONS = {
    NodeExistsError: Reason.NODE_EXISTS,
    NoNodeError: Reason.NO_NODE,
    BadVersionError: Reason.BAD_VERSION,
    NotEmptyError: Reason.NOT_EMPTY,
}
REFUSALS = tuple(REASONS)
# What a transaction says of the writes before the one that failed, and of those after it.
UNDONE = RolledBackError, RuntimeInconsistency
READS = {Get: packets.GetData, Exists: packets.Exists, Children: packets.GetChildren}


class Watch(NamedTuple):
    """kazoo keeps a set of these by path, so asking again for the same adds none."""

    changed: Callable[[Changed], None]
    path: str

    def __call__(self, _event: WatchedEvent) -> None:
        self.changed(Changed(self.path))


def packet(ask: Ask, root: str, changed: Callable[[Changed], None]) -> Any:
    """`root` is the path below which all is, as in host:port/root; mostly it is empty."""
    match ask:
        case Get(path, watch) | Exists(path, watch) | Children(path, watch):
            return READS[type(ask)](full(path, root), Watch(changed, path) if watch else None)
        case Multi(writes):
            return packets.Transaction([_write(write, root) for write in writes])
        case Create():
            return packets.Create2(*_write(ask, root))
        case Check():  # which ZooKeeper knows only within a transaction
            return packets.Transaction([_write(ask, root)])
        case _:
            return _write(ask, root)


def _write(write: Write, root: str) -> Any:
    match write:
        case Create(path, data, ephemeral, sequence):
            flags = ephemeral | sequence << 1
            return packets.Create(full(path, root), data, OPEN_ACL_UNSAFE, flags)
        case Set(path, data, version):
            return packets.SetData(full(path, root), data, version)
        case Delete(path, version):
            return packets.Delete(full(path, root), version)
        case Check(path, version):
            return packets.CheckVersion(full(path, root), version)


def full(path: str, root: str) -> str:
    return root + path if path != "/" else root or path


def parents(ask: Ask) -> Iterator[Create]:
    """To be asked before it. Those that exist already are refused, and that is as good."""
    if isinstance(ask, Create) and ask.parents:
        end = ask.path.find("/", 1)
        while end != -1:
            yield Create(ask.path[:end])
            end = ask.path.find("/", end + 1)


def answer(ask: Ask, reply: Any, root: str) -> Any:
    """A reply is what kazoo unpacked, or one of the REFUSALS."""
    if isinstance(ask, Multi):
        return _all_or_none(ask.writes, reply, root)
    if isinstance(reply, Exception):
        absent = isinstance(reply, NoNodeError) and isinstance(ask, Get | Children)
        return None if absent else Refused(REASONS[type(reply)], ask.path)
    match ask:
        case Get():
            data, stat = reply
            return Node(data or b"", _stat(stat))
        case Exists():
            return reply and _stat(reply)
        case Children():
            return tuple(sorted(reply))
        case Create():
            path, stat = reply
            return Created(path.removeprefix(root), stat.czxid)
        case Set():
            return reply.version
        case Delete():
            return True
        case Check():
            done = _all_or_none((ask,), reply, root)
            return done if isinstance(done, Refused) else True


def _all_or_none(
    writes: Sequence[Write], replies: Sequence[Any], root: str
) -> tuple[Any, ...] | Refused:
    for write, reply in zip(writes, replies, strict=True):
        if isinstance(reply, Exception) and not isinstance(reply, UNDONE):
            return Refused(REASONS[type(reply)], write.path)
    return tuple(_done(write, reply) for write, reply in zip(writes, replies, strict=True))


def _done(write: Write, reply: Any) -> Any:
    """Of a write within a transaction. kazoo has taken the root off a new node's path."""
    match write:
        case Create():
            return Created(reply, 0)
        case Set():
            return reply.version
    return True


def _stat(stat: ZnodeStat) -> Stat:
    return Stat(stat.version, stat.czxid, stat.ephemeralOwner)
