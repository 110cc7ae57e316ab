"""What the controller or a broker wants done in ZooKeeper, as values.

Several together make a transaction: all are done, or none. A version says "only if nobody has
written since I read"; -1 is any.
"""

from typing import NamedTuple


class Create(NamedTuple):
    path: str
    data: bytes = b""
    ephemeral: bool = False  # goes with the session that created it
    sequence: bool = False  # ZooKeeper appends a number that only grows


class Set(NamedTuple):
    path: str
    data: bytes
    version: int = -1


class Delete(NamedTuple):
    path: str
    version: int = -1


class Check(NamedTuple):
    """Changes nothing, but fails the whole transaction: still the controller, still this epoch?"""

    path: str
    version: int


Write = Create | Set | Delete | Check
