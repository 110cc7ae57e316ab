"""The lab's end of a broker's control door (engine.broker.control), which may stay shut.

    ask(request, take)    put on its way; `take` gets the answer when it comes
    converse(doors, 0.3)  until all have answered, or the time is over

A broker that is paused answers later, if it comes back; one that was killed, never. Answers come
in the order of the requests, so what is late is not lost: it is taken when it comes. Nobody is
waited for twice: a door that was late once is only waited for again once it has caught up.

A broker that is started again has another token. What was still to be asked of its earlier life
is forgotten.
"""

import json
import selectors
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

Take = Callable[[dict[str, Any]], None]

FILE = "broker.control"  # which the broker writes; importing it for this would cost half a second
CHUNK = 1 << 18
BEHIND = 50  # answers that may be missing before nothing more is asked


class Door:
    def __init__(self, number: int, directory: Path) -> None:
        self.number = number  # the broker's
        self.lives = 0  # how many lives of the broker we have talked to
        self.conversations = 0  # how often we have connected
        self.late = False  # it was waited for in vain
        self._file = directory / FILE
        self._token = ""
        self._socket: socket.socket | None = None
        self._partial = bytearray()
        self._waiting: deque[Take] = deque()

    @property
    def waits(self) -> bool:
        """Whether an answer is to come."""
        return bool(self._waiting)

    def fileno(self) -> int:
        assert self._socket is not None
        return self._socket.fileno()

    def ask(self, request: dict[str, Any], take: Take) -> bool:
        """False if nobody is there to be asked."""
        if len(self._waiting) >= BEHIND or not self.open():
            return False
        assert self._socket is not None
        try:
            self._socket.sendall(json.dumps(request).encode() + b"\n")
        except OSError:
            self.close()
            return False
        self._waiting.append(take)
        return True

    def read(self) -> None:
        """Hand out the answers that have come."""
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
            self._waiting.popleft()(json.loads(whole))
        self._partial += rest
        self.late = self.late and self.waits

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        self._waiting.clear()
        self._partial.clear()
        self.late = False

    def open(self) -> bool:
        """Connect, unless we are connected; False if nobody is there."""
        if self._socket is not None and self._is_whole():
            return True
        try:
            port, token = self._file.read_text().split()
            self._socket = socket.create_connection(("127.0.0.1", int(port)), timeout=1)
            self._socket.sendall(f"{token}\n".encode())
            self._socket.setblocking(False)
        except (OSError, ValueError):  # it is not there, or not yet whole
            self.close()
            return False
        self.conversations += 1
        if token != self._token:
            self._token = token
            self.lives += 1
        return True

    def _is_whole(self) -> bool:
        """Whether the broker has not hung up: a dead one's socket takes what we send, for once."""
        assert self._socket is not None
        try:
            whole = self._socket.recv(1, socket.MSG_PEEK) != b""
        except BlockingIOError:
            return True
        except OSError:
            whole = False
        if not whole:
            self.close()
        return whole


def converse(doors: Iterable[Door], timeout: float) -> None:
    """Take what comes, until nobody is to be waited for any more or the time is over."""
    deadline = time.monotonic() + timeout
    open_ = [door for door in doors if door.waits]
    while open_:
        patient = any(door.waits and not door.late for door in open_)
        left = max(deadline - time.monotonic(), 0) if patient else 0
        with selectors.DefaultSelector() as selector:
            for door in open_:
                selector.register(door, selectors.EVENT_READ, door)
            ready = selector.select(left)
        if not ready:
            break
        for key, _ in ready:
            key.data.read()
        open_ = [door for door in open_ if door.waits]
    for door in open_:
        door.late = True
