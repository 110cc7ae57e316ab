"""Our requests as kazoo's packets, and kazoo's replies as our answers.

    Get("/a", watch=True)  ──>  GetData("/chroot/a", Watch)  ──>  (data, ZnodeStat) ──> ZnodeData

kazoo's own methods add a closure, a lock and a few checks to each request. A controller that moves
a thousand partitions sends a thousand, so here a request is a packet and nothing else.

Left out: ACLs (every client may do everything) and children of ephemeral nodes, whose error is
raised as kazoo's.
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

REASONS = {
    NodeExistsError: Reason.NODE_EXISTS,
    NoNodeError: Reason.NO_NODE,
    BadVersionError: Reason.BAD_VERSION,
    NotEmptyError: Reason.NOT_EMPTY,
}
REFUSALS = tuple(REASONS)
# In a failed transaction: the writes before the one that failed, and those after it.
UNDONE = RolledBackError, RuntimeInconsistency
READS = {Get: packets.GetData, Exists: packets.Exists, Children: packets.GetChildren}


class Watch(NamedTuple):
    """kazoo has a set of these by path, so the same watch is not added twice."""

    changed: Callable[[Changed], None]
    path: str

    def __call__(self, _event: WatchedEvent) -> None:
        self.changed(Changed(self.path))


def packet(ask: Ask, root: str, changed: Callable[[Changed], None]) -> Any:
    """`root` is the chroot, as in host:port/root; usually it is empty."""
    match ask:
        case Get(path, watch) | Exists(path, watch) | Children(path, watch):
            return READS[type(ask)](full(path, root), Watch(changed, path) if watch else None)
        case Multi(writes):
            return packets.Transaction([_write(write, root) for write in writes])
        case Create():
            return packets.Create2(*_write(ask, root))
        case CheckVersion():  # ZooKeeper has it only within a transaction
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
        case CheckVersion(path, version):
            return packets.CheckVersion(full(path, root), version)


def full(path: str, root: str) -> str:
    return root + path if path != "/" else root or path


def parents(ask: Ask) -> Iterator[Create]:
    """Requests to send before it. They are refused where the node exists."""
    if isinstance(ask, Create) and ask.parents:
        end = ask.path.find("/", 1)
        while end != -1:
            yield Create(ask.path[:end])
            end = ask.path.find("/", end + 1)


def answer(ask: Ask, reply: Any, root: str) -> Any:
    """A reply is a value that kazoo unpacked, or one of the REFUSALS."""
    if isinstance(ask, Multi):
        return _all_or_none(ask.writes, reply, root)
    if isinstance(reply, Exception):
        absent = isinstance(reply, NoNodeError) and isinstance(ask, Get | Children)
        return None if absent else Refused(REASONS[type(reply)], ask.path)
    match ask:
        case Get():
            data, stat = reply
            return ZnodeData(data or b"", _stat(stat))
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
        case CheckVersion():
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
    """The answer to a write within a transaction. kazoo has removed the root from a new path."""
    match write:
        case Create():
            return Created(reply, 0)
        case Set():
            return reply.version
    return True


def _stat(stat: ZnodeStat) -> Stat:
    return Stat(stat.version, stat.czxid, stat.ephemeralOwner, stat.ctime)
