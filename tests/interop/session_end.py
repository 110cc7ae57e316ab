"""Ends a ZooKeeper session as its time-out would: who closes a copy of a session ends it for all.

The copy is one connection, which asks for the session and closes it with one write. A client of
its own would wait until it is connected; meanwhile the owner connects again, and takes it back.
"""

import socket
from struct import pack
from typing import Any

from kazoo.protocol.serialization import Close, Connect

TIMEOUT_MS = 10_000


def end_session(address: str, client: Any) -> None:
    """End the session of a ZookeeperClient. The server's address may have a root behind it."""
    host, _, port = address.partition("/")[0].rpartition(":")
    number, password = client._kazoo.client_id
    first = Connect(0, 0, TIMEOUT_MS, number, password, False).serialize()
    last = pack(">ii", 1, Close.type)
    with socket.create_connection((host, int(port)), TIMEOUT_MS / 1000) as copy:
        copy.sendall(b"".join(pack(">i", len(each)) + each for each in (first, last)))
        while copy.recv(4096):  # until the server has closed it
            pass
