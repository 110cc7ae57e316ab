"""AMQP 0-9-1, as far as it is needed to fill a queue and to empty it.

    | type | channel | size | payload | CE |    type 1: | class | method | arguments |
      1      2         4                 1      type 2: properties; type 3: a body

What the server answers is the same every time, so it is waited for and not read; only the
confirms are: Basic.Ack is for one message, or for all up to it.
"""

import socket
from struct import Struct, pack

from bench.peers.plain import ask, connect, receive

METHOD, PROPERTIES, BODY = 1, 2, 3
NO_ACK = 2  # a flag of Basic.Consume: no acknowledgements
PERSISTENT = pack(">HB", 1 << 12, 2)  # of all properties the delivery mode only, and that is 2
TUNED = pack(">HIH", 1, 131_072, 0)  # one channel, the usual frame size, no heartbeat


def frame(kind: int, payload: bytes, channel: int = 1) -> bytes:
    return pack(">BHI", kind, channel, len(payload)) + payload + b"\xce"


def method(class_id: int, number: int, arguments: bytes = b"", channel: int = 1) -> bytes:
    return frame(METHOD, pack(">HH", class_id, number) + arguments, channel)


def short(text: bytes) -> bytes:
    return pack(">B", len(text)) + text


def long(text: bytes) -> bytes:
    return pack(">I", len(text)) + text


START, TUNE, OPEN_OK = pack(">HH", 10, 10), pack(">HH", 10, 30), method(10, 41, short(b""), 0)
CHANNEL_OPEN_OK, SELECT_OK = method(20, 11, long(b"")), method(85, 11)
DECLARE_OK, ACK = pack(">HH", 50, 11), pack(">HH", 60, 80)
ACK_FRAME = Struct(">7s4sQ?s")


def login(port: int) -> socket.socket:
    """A connection with channel 1 open on it."""
    connection = connect(port)
    ask(connection, b"AMQP\0\0\x09\x01", START)
    answer = short(b"PLAIN") + long(b"\0guest\0guest") + short(b"en_US")
    ask(connection, method(10, 11, long(b"") + answer, 0), TUNE)
    opened = method(10, 31, TUNED, 0) + method(10, 40, short(b"/") + bytes(2), 0)
    ask(connection, opened, OPEN_OK)
    ask(connection, method(20, 10, short(b"")), CHANNEL_OPEN_OK)
    return connection


def declare(connection: socket.socket, queue: bytes) -> None:
    """A durable queue; from now on each message is confirmed."""
    durable = b"\x02"
    ask(connection, method(50, 10, bytes(2) + short(queue) + durable + long(b"")), DECLARE_OK)
    ask(connection, method(85, 10, b"\0"), SELECT_OK)


def publish(queue: bytes, value: bytes) -> bytes:
    to_queue = method(60, 40, bytes(2) + short(b"") + short(queue) + b"\0")
    about = pack(">HHQ", 60, 0, len(value)) + PERSISTENT
    return to_queue + frame(PROPERTIES, about) + frame(BODY, value)


def consume(queue: bytes) -> bytes:
    flags = pack(">B", NO_ACK)
    return method(60, 20, bytes(2) + short(queue) + short(b"") + flags + long(b""))


def await_confirms(connection: socket.socket, messages: int) -> None:
    """Read until the first `messages` of a connection are all confirmed, in whatever order."""
    floor, above, rest = 0, set[int](), b""  # all up to the floor, and some above it
    while floor < messages:
        rest += receive(connection)
        whole = len(rest) - len(rest) % ACK_FRAME.size
        for _, name, tag, and_before, _ in ACK_FRAME.iter_unpack(rest[:whole]):
            if name != ACK:
                raise RuntimeError(f"RabbitMQ refuses: {rest!r}")
            if and_before:
                floor = max(floor, tag)
            above.add(tag)
            while floor + 1 in above:
                floor += 1
                above.remove(floor)
        rest = rest[whole:]
