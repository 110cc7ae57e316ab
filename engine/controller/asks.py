"""What is asked of ZooKeeper, and what it answers, as values.

    Get, Exists, Children        read; with `watch`, one `Changed(path)` follows when it changes
    Create, Set, Delete, Check   write, if the version is still the one that was read (-1: any)
    Multi                        several writes: all are done, or none

Who decides (the controller, a leader that changes its ISR) never waits for ZooKeeper itself. It is
a generator that yields a list of questions and is sent the list of answers, in the same order:

    def first_look(self) -> Work[None]:
        topics, epoch = yield [Children(znodes.TOPICS, watch=True), Get(znodes.CONTROLLER_EPOCH)]

The broker puts the questions to a real ZooKeeper, the simulator to its own. All questions of one
list are on their way at once. What ZooKeeper refuses comes back as `Refused`, a value too; a lost
connection does not come back at all: whoever drives the generator asks again or gives it up.
"""

from collections.abc import Generator, Sequence
from enum import Enum
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")


class Create(NamedTuple):
    """Answered with `Created`."""

    path: str
    data: bytes = b""
    ephemeral: bool = False  # goes with the session that created it
    sequence: bool = False  # ZooKeeper appends a number that only grows
    parents: bool = False  # make missing parents, too; not within a Multi


class Set(NamedTuple):
    """Answered with the new version."""

    path: str
    data: bytes
    version: int = -1


class Delete(NamedTuple):
    """Answered with True."""

    path: str
    version: int = -1


class Check(NamedTuple):
    """Changes nothing, but fails the whole transaction: still the controller, still this epoch?"""

    path: str
    version: int


Write = Create | Set | Delete | Check


class Multi(NamedTuple):
    """Answered with a tuple of the writes' answers, or with one `Refused` that names its path."""

    writes: tuple[Write, ...]


class Get(NamedTuple):
    """Answered with a `Node`, or None where there is none; then nothing is watched either."""

    path: str
    watch: bool = False


class Exists(NamedTuple):
    """Answered with a `Stat` or None. The watch fires for a node that comes into being, too."""

    path: str
    watch: bool = False


class Children(NamedTuple):
    """Answered with a tuple of names, or None where there is no such node."""

    path: str
    watch: bool = False


Ask = Write | Multi | Get | Exists | Children


class Stat(NamedTuple):
    version: int  # how often the data was set
    czxid: int  # the transaction that created it, a number that only grows
    owner: int = 0  # the session that an ephemeral node goes with


class Node(NamedTuple):
    data: bytes
    stat: Stat


class Created(NamedTuple):
    path: str  # with its number, if it is a sequence's
    czxid: int  # 0 within a Multi, which does not tell


class Reason(Enum):
    NODE_EXISTS = "node exists"
    NO_NODE = "no node"
    BAD_VERSION = "bad version"
    NOT_EMPTY = "not empty"


class Refused(NamedTuple):
    """ZooKeeper said no, and nothing of this question was done."""

    reason: Reason
    path: str


class Changed(NamedTuple):
    """A watch has fired: something about this path is different. Read it again."""

    path: str


Work = Generator[Sequence[Ask], Sequence[Any], T]
