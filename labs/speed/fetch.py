"""Fetch requests by hand, whose records nobody looks at: what is measured is the broker.

    drain(cluster, "movies", 8)     all records of partition 0, in requests for 8 batches each

All batches of the topic have the same size, and one record.
"""

import socket
import ssl
import struct

from engine import Cluster
from speed import shared

FETCH, VERSION = 1, 4
ROOM = 1 << 20


def drain(cluster: Cluster, topic: str, batches: int) -> int:
    """How many bytes of records came."""
    headers = shared.batches(cluster, topic)
    size, offset, came = headers[0].size, 0, 0
    room = memoryview(bytearray(ROOM))
    with _connected(cluster, topic) as connection:
        while offset < len(headers):
            connection.sendall(_request(topic, offset, batches * size))
            records = _received(connection, room) // size
            offset, came = offset + records, came + records * size
    return came


def _connected(cluster: Cluster, topic: str) -> socket.socket:
    port = cluster.state().brokers[cluster.leader(topic)].port
    plain = socket.create_connection(("127.0.0.1", port), timeout=30)
    if not (settings := cluster.security_settings):
        return plain
    context = ssl.create_default_context(cafile=settings["ssl.ca.location"])
    context.load_cert_chain(settings["ssl.certificate.location"], settings["ssl.key.location"])
    context.check_hostname = False
    return context.wrap_socket(plain)


def _request(topic: str, offset: int, size: int) -> bytes:
    name = topic.encode()
    body = struct.pack(">iiiibi", -1, 0, 1, size, 0, 1)  # no replica; no wait; one topic
    body += struct.pack(">h", len(name)) + name + struct.pack(">iiqi", 1, 0, offset, size)
    request = struct.pack(">hhih", FETCH, VERSION, 7, -1) + body
    return struct.pack(">i", len(request)) + request


def _received(connection: socket.socket, room: memoryview) -> int:
    """The bytes of one response; they are counted, and not kept."""
    left = struct.unpack(">i", _exactly(connection, 4))[0]
    size = left
    while left:
        got = connection.recv_into(room[: min(left, len(room))])
        if not got:
            raise ConnectionError("the broker has closed the connection")
        left -= got
    return int(size)


def _exactly(connection: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        more = connection.recv(size - len(found))
        if not more:
            raise ConnectionError("the broker has closed the connection")
        found += more
    return found
