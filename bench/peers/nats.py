"""NATS JetStream, with a file store.

    PUB bench-1 acks 200 <value>       ->  MSG acks 1 30 {"stream": "bench-1", "seq": 7}
    PUB $JS.API.CONSUMER.CREATE ...    ->  MSG out 2 ... <value>, again and again

It pushes the messages of a stream to a consumer that need not acknowledge.
"""

import json
import socket
from itertools import count
from pathlib import Path
from typing import Any

from bench.peers.peer import MARK, VALUE, TwoWay, program
from bench.peers.plain import HOST, ask, connect, pump, timed
from engine.cluster.child import Child
from engine.cluster.zookeeper import free_port

STORED = b'"seq"'


class Nats(TwoWay):
    name = "NATS JetStream"
    remedy = "apt install nats-server"

    def installed(self) -> bool:
        return program("nats-server") is not None

    def start(self, home: Path) -> None:
        server, self._port, self._streams = program("nats-server"), free_port(), count()
        assert server is not None
        place = ("-a", HOST, "-p", str(self._port), "-js", "-sd", str(home))
        self._child = Child([server, *place], home / "nats.log")
        connect(self._port).close()

    def stop(self) -> None:
        self._child.terminate()

    def produce(self, records: int) -> float:
        with self._new_stream() as connection:
            return pump(connection, self._publish() * records, STORED, records)

    def consume(self, records: int) -> float:
        wanted = {"deliver_subject": "out", "deliver_policy": "all", "ack_policy": "none"}
        request = {"stream_name": self._stream, "config": wanted}
        with self._connect() as connection:
            return pump(connection, _api(f"CONSUMER.CREATE.{self._stream}", request), MARK, records)

    def ping(self, times: int) -> list[float]:
        with self._new_stream() as connection:
            return [timed(connection, self._publish(), STORED) for _ in range(times)]

    def _connect(self) -> socket.socket:
        connection = connect(self._port)
        ask(connection, b'CONNECT {"verbose": false}\r\nPING\r\n', b"PONG\r\n")
        connection.sendall(b"SUB acks 1\r\nSUB out 2\r\n")
        return connection

    def _new_stream(self) -> socket.socket:
        connection, self._stream = self._connect(), f"bench-{next(self._streams)}"
        wanted = {"name": self._stream, "subjects": [self._stream], "storage": "file"}
        ask(connection, _api(f"STREAM.CREATE.{self._stream}", wanted), b'"created"')
        return connection

    def _publish(self) -> bytes:
        return b"PUB %b acks %d\r\n%b\r\n" % (self._stream.encode(), len(VALUE), VALUE)


def _api(name: str, request: dict[str, Any]) -> bytes:
    body = json.dumps(request)
    return f"PUB $JS.API.{name} acks {len(body)}\r\n{body}\r\n".encode()
