"""The limits of the machine: the bytes of the values through a socket, and into a file.

    | take | give | `take` bytes |  ->
                                    <-  | `give` bytes |      any number of times

The other end of the socket is `python -m bench.peers.limits`, until its stdin ends. The file is
a new one each time, as overwriting would cost less than what a broker does.
"""

import socket
import subprocess
import sys
import threading
import time
from io import FileIO
from itertools import count
from pathlib import Path
from struct import Struct

from bench.peers.peer import VALUE, Load, Peer, Size, TwoWay
from bench.peers.plain import CHUNK, HOST, connect

ORDER = Struct(">QQ")


class Loopback(TwoWay):
    name = "a plain socket"

    def start(self, home: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.peers.limits"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout is not None
        self._socket = connect(int(self._process.stdout.readline()))

    def stop(self) -> None:
        self._socket.close()
        self._process.communicate()

    def produce(self, records: int) -> float:
        return self._exchange(len(VALUE) * records, 1)

    def consume(self, records: int) -> float:
        return self._exchange(0, len(VALUE) * records)

    def ping(self, times: int) -> list[float]:
        return [self._exchange(len(VALUE), 1) for _ in range(times)]

    def _exchange(self, take: int, give: int) -> float:
        data = ORDER.pack(take, give) + bytes(take)
        start = time.perf_counter()
        self._socket.sendall(data)
        drain(self._socket, give)
        return time.perf_counter() - start


class File(Peer):
    name = "a plain file"

    def start(self, home: Path) -> None:
        self._home, self._numbers = home, count()

    def stop(self) -> None:
        """They go with their directory."""

    def loads(self, size: Size) -> dict[str, Load]:
        return {"produce": lambda: self._write(len(VALUE) * size.records)}

    def _write(self, left: int) -> float:
        chunk = bytes(CHUNK)
        with FileIO(self._home / str(next(self._numbers)), "w") as file:
            start = time.perf_counter()
            while left > 0:
                left -= file.write(chunk[:left])
            return time.perf_counter() - start


def drain(connection: socket.socket, size: int) -> None:
    buffer = bytearray(CHUNK)
    while size:
        if not (got := connection.recv_into(buffer, min(size, CHUNK))):
            raise ConnectionError("the other end has closed the connection")
        size -= got


def serve(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    with connection:
        while order := connection.recv(ORDER.size, socket.MSG_WAITALL):
            take, give = ORDER.unpack(order)
            drain(connection, take)
            connection.sendall(bytes(give))


def main() -> None:
    with socket.create_server((HOST, 0)) as listener:
        print(listener.getsockname()[1], flush=True)
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        sys.stdin.read()


if __name__ == "__main__":
    main()
