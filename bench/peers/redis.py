"""Redis Streams, with the append-only file that makes them last, flushed once a second.

    XADD bench-1 7-0 v <value>            ->  $3 7-0
    XRANGE bench-1 (7-0 + COUNT 1000      ->  the entries after 7-0

Entries are given their ids, so that all pages can be asked for without waiting for one.
"""

from itertools import count
from pathlib import Path

from bench.peers.peer import MARK, VALUE, TwoWay, program
from bench.peers.plain import HOST, connect, pump, timed
from engine.cluster.child import Child
from engine.cluster.zookeeper import free_port

CONFIG = ("--save", "", "--appendonly", "yes", "--appendfsync", "everysec")
PAGE = 1000  # entries in one answer


class Redis(TwoWay):
    name = "Redis Streams"
    remedy = "apt install redis-server"

    def installed(self) -> bool:
        return program("redis-server") is not None

    def start(self, home: Path) -> None:
        server, self._port, self._streams = program("redis-server"), free_port(), count()
        assert server is not None
        place = ("--bind", HOST, "--port", str(self._port), "--dir", str(home))
        self._child = Child([server, *place, *CONFIG], home / "redis.log")
        connect(self._port).close()

    def stop(self) -> None:
        self._child.terminate()

    def produce(self, records: int) -> float:
        requests = b"".join(self._adds(records))
        with connect(self._port) as connection:
            return pump(connection, requests, b"$", records)

    def consume(self, records: int) -> float:
        pages = (
            command("XRANGE", self._stream, f"({start}-0", "+", "COUNT", PAGE)
            for start in range(0, records, PAGE)
        )
        with connect(self._port) as connection:
            return pump(connection, b"".join(pages), MARK, records)

    def ping(self, times: int) -> list[float]:
        with connect(self._port) as connection:
            return [timed(connection, request, b"\r\n") for request in self._adds(times)]

    def _adds(self, records: int) -> list[bytes]:
        self._stream = f"bench-{next(self._streams)}"
        return [command("XADD", self._stream, f"{i + 1}-0", "v", VALUE) for i in range(records)]


def command(*words: str | int | bytes) -> bytes:
    coded = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(coded) + b"".join(b"$%d\r\n%b\r\n" % (len(w), w) for w in coded)
