"""The client of a debug server, of a broker or a controller (engine.broker.debug.control_server).

    send(request, callback)   `callback` gets the response when it arrives
    receive(clients, 0.3)     until all responses are here, or their requests are so old

A paused broker answers after it is resumed, a killed one never. Responses come in the order of the
requests, so a late response is not lost: its callback is called when it arrives. The time counts
from the oldest request without a response: who is silent is waited for once, not at each call.

A restarted broker has another token. The requests that its previous process did not answer are
dropped.
"""

import json
import selectors
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

Callback = Callable[[dict[str, Any]], None]  # takes a response

# Written by the node; importing its module would cost half a second.
OF_BROKER, OF_CONTROLLER = "broker.control", "controller.control"
CHUNK = 1 << 18
MAX_PENDING = 50  # requests without a response; then no more are sent


class DebugClient:
    def __init__(self, number: int, file: Path) -> None:
        self.number = number  # the node's
        self.starts = 0  # how many processes of this broker we have connected to
        self.connects = 0  # how often we have connected
        self._file = file
        self._token = ""
        self._socket: socket.socket | None = None
        self._partial = bytearray()
        self._pending: deque[tuple[float, Callback]] = deque()  # with the times of the requests

    @property
    def pending(self) -> bool:
        """Whether a response is still to come."""
        return bool(self._pending)

    @property
    def waits_since(self) -> float:
        """When the oldest request without a response was sent; there must be one."""
        return self._pending[0][0]

    def fileno(self) -> int:
        assert self._socket is not None
        return self._socket.fileno()

    def send(self, request: dict[str, Any], callback: Callback) -> bool:
        """False if the broker can't be reached."""
        if len(self._pending) >= MAX_PENDING or not self.open():
            return False
        assert self._socket is not None
        try:
            self._socket.sendall(json.dumps(request).encode() + b"\n")
        except OSError:
            self.close()
            return False
        self._pending.append((time.monotonic(), callback))
        return True

    def read(self) -> None:
        """Pass the responses that have arrived to their callbacks."""
        assert self._socket is not None
        try:
            chunk = self._socket.recv(CHUNK)
        except OSError:
            chunk = b""
        if not chunk:
            self.close()
            return
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            whole = bytes(self._partial) + line
            self._partial.clear()
            _, callback = self._pending.popleft()
            callback(json.loads(whole))
        self._partial += rest

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        self._pending.clear()
        self._partial.clear()

    def open(self) -> bool:
        """Connect, unless we are connected; False if the broker can't be reached."""
        if self._socket is not None and self._is_open():
            return True
        try:
            port, token = self._file.read_text().split()
            self._socket = socket.create_connection(("127.0.0.1", int(port)), timeout=1)
            self._socket.sendall(f"{token}\n".encode())
            self._socket.setblocking(False)
        except (OSError, ValueError):  # no such file, or only a part of it is written yet
            self.close()
            return False
        self.connects += 1
        if token != self._token:
            self._token = token
            self.starts += 1
        return True

    def _is_open(self) -> bool:
        """Whether the broker has not closed the connection: the first send would not show it."""
        assert self._socket is not None
        try:
            is_open = self._socket.recv(1, socket.MSG_PEEK) != b""
        except BlockingIOError:
            return True
        except OSError:
            is_open = False
        if not is_open:
            self.close()
        return is_open


def receive(clients: Iterable[DebugClient], patience: float) -> None:
    """Take responses until none is missing, or all oldest requests are `patience` seconds old."""
    while waiting := [client for client in clients if client.pending]:
        left = max(client.waits_since for client in waiting) + patience - time.monotonic()
        with selectors.DefaultSelector() as selector:
            for client in waiting:
                selector.register(client, selectors.EVENT_READ, client)
            ready = selector.select(max(left, 0))
        if not ready:
            break
        for key, _ in ready:
            key.data.read()
