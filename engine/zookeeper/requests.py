"""Requests to ZooKeeper, and its answers, as values.

    Get, Exists, Children        read; with `watch`, one `Changed(path)` follows when it changes
    Create, Set, Delete, Check   write, if the version is still the one that was read (-1: any)
    Multi                        several writes: all are done, or none

The controller decides in generators, which never wait for ZooKeeper themselves. A generator yields
a list of requests and is sent the list of answers, in the same order:

    def read(self) -> Work[None]:
        topics, epoch = yield [Children(znodes.TOPICS, watch=True), Get(znodes.CONTROLLER_EPOCH)]

The broker sends the requests to a real ZooKeeper, the simulator to its own. All requests of one
list are sent at once. A refused request has the answer `Refused`. After a lost connection there is
no answer: the caller sends the requests again, or abandons the generator.
"""

from collections.abc import Generator, Sequence
from enum import Enum
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")
NEVER = 2**62  # a time that is not known


class Create(NamedTuple):
    """The answer is `Created`."""

    path: str
    data: bytes | None = None  # null, which is read as no bytes at all
    ephemeral: bool = False  # deleted with the session that created it
    sequence: bool = False  # ZooKeeper appends a growing number
    parents: bool = False  # create missing parents, too; not within a Multi


class Set(NamedTuple):
    """The answer is the new version."""

    path: str
    data: bytes
    version: int = -1


class Delete(NamedTuple):
    """The answer is True."""

    path: str
    version: int = -1


class CheckVersion(NamedTuple):
    """Fails the whole transaction if the version has changed: is the epoch still the same?"""

    path: str
    version: int


Write = Create | Set | Delete | CheckVersion


class Multi(NamedTuple):
    """The answer is a tuple of the writes' answers, or one `Refused` with its path."""

    writes: tuple[Write, ...]


class Get(NamedTuple):
    """The answer is a `ZnodeData`; None without a node, and then nothing is watched."""

    path: str
    watch: bool = False


class Exists(NamedTuple):
    """The answer is a `Stat` or None. The watch also fires when the node is created."""

    path: str
    watch: bool = False


class Children(NamedTuple):
    """The answer is a tuple of names; None without a node, and then nothing is watched."""

    path: str
    watch: bool = False


Ask = Write | Multi | Get | Exists | Children


class Stat(NamedTuple):
    version: int  # how often the data was set
    czxid: int  # the transaction that created it, a growing number
    owner: int = 0  # the session of an ephemeral node
    ctime: int = NEVER  # when it was created: ms since 1970


class ZnodeData(NamedTuple):
    data: bytes
    stat: Stat


class Created(NamedTuple):
    path: str  # with its number, if it is a sequence's
    czxid: int  # 0 within a Multi


class Reason(Enum):
    NODE_EXISTS = "node exists"
    NO_NODE = "no node"
    BAD_VERSION = "bad version"
    NOT_EMPTY = "not empty"


class Refused(NamedTuple):
    """ZooKeeper has refused the request, and nothing of it was done."""

    reason: Reason
    path: str


class Changed(NamedTuple):
    """A watch has fired: the node has changed. Read it again."""

    path: str


Work = Generator[Sequence[Ask], Sequence[Any], T]
