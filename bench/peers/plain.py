"""Load by bytes prepared beforehand on a plain socket, for the peers with a protocol of their own.

Requests go out of one thread, as fast as the peer takes them; the answers are not understood, only
counted by a few bytes that each of them has. So nothing but the peer is measured.
"""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from bench.peers.peer import PATIENCE

HOST = "127.0.0.1"
CHUNK = 256 * 1024


def connect(port: int) -> socket.socket:
    """Try until the server listens."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            connection = socket.create_connection((HOST, port), PATIENCE)
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection


def receive(connection: socket.socket) -> bytes:
    if chunk := connection.recv(CHUNK):
        return chunk
    raise ConnectionError("the peer has closed the connection")


def ask(connection: socket.socket, request: bytes, mark: bytes) -> bytes:
    """Send, and return what comes back, up to the chunk that holds `mark`."""
    connection.sendall(request)
    answer = b""
    while mark not in answer:
        answer += receive(connection)
    return answer


@contextmanager
def sending(connection: socket.socket, requests: bytes) -> Iterator[None]:
    """Send in a thread, so that the answers can be read meanwhile, or neither side would move."""

    def send() -> None:
        with suppress(OSError):  # raised in the thread that reads the answers
            connection.sendall(requests)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    except BaseException:
        connection.shutdown(socket.SHUT_RDWR)
        raise
    finally:
        thread.join()


def pump(connection: socket.socket, requests: bytes, mark: bytes, times: int) -> float:
    """Send, and return the seconds until `mark` has come back so many times."""
    start, seen, tail = time.perf_counter(), 0, b""
    with sending(connection, requests):
        while seen < times:
            chunk = tail + receive(connection)
            seen += chunk.count(mark)
            tail = chunk[max(len(chunk) - len(mark) + 1, 0) :]  # a mark may come in two chunks
        return time.perf_counter() - start


def timed(connection: socket.socket, request: bytes, mark: bytes) -> float:
    start = time.perf_counter()
    ask(connection, request, mark)
    return time.perf_counter() - start
