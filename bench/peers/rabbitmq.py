"""RabbitMQ: a durable queue, persistent messages, publisher confirms.

Its program runs on Erlang, whose nodes find each other by a daemon, epmd; so that none is left
behind, this one has an epmd of its own.
"""

import shutil
import socket
import time
from itertools import count
from pathlib import Path

from bench.peers import amqp
from bench.peers.peer import MARK, VALUE, TwoWay, program
from bench.peers.plain import HOST, connect, pump, sending, timed
from engine.cluster.child import Child
from engine.cluster.zookeeper import free_port

FOLDER = "/usr/lib/rabbitmq/bin"  # Debian's command on the PATH is for root only


class RabbitMQ(TwoWay):
    name = "RabbitMQ"
    remedy = "apt install rabbitmq-server"

    def installed(self) -> bool:
        return shutil.which("epmd") is not None and program("rabbitmq-server", FOLDER) is not None

    def start(self, home: Path) -> None:
        server = shutil.which("rabbitmq-server", path=FOLDER) or program("rabbitmq-server")
        names, distribution, self._port = (free_port() for _ in range(3))
        self._queues = count()
        assert server is not None
        (home / "rabbitmq.conf").write_text(f"listeners.tcp.1 = {HOST}:{self._port}\n")
        environment = {
            "ERL_EPMD_ADDRESS": HOST,
            "ERL_EPMD_PORT": str(names),
            "HOME": str(home),  # where the cookie is
            "RABBITMQ_CONFIG_FILE": str(home / "rabbitmq.conf"),
            "RABBITMQ_DIST_PORT": str(distribution),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(home / "plugins"),
            "RABBITMQ_LOG_BASE": str(home),
            "RABBITMQ_MNESIA_BASE": str(home),
            "RABBITMQ_NODENAME": "bench@localhost",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
        }
        self._children = [
            Child(["epmd"], home / "epmd.log", env=environment),
            Child([server], home / "rabbitmq.log", env=environment),
        ]
        connect(self._port).close()

    def stop(self) -> None:
        for child in reversed(self._children):
            child.terminate()

    def produce(self, records: int) -> float:
        with self._new_queue() as connection:
            requests = amqp.publish(self._queue, VALUE) * records
            start = time.perf_counter()
            with sending(connection, requests):
                amqp.await_confirms(connection, records)
                return time.perf_counter() - start

    def consume(self, records: int) -> float:
        with amqp.login(self._port) as connection:
            return pump(connection, amqp.consume(self._queue), MARK, records)

    def ping(self, times: int) -> list[float]:
        with self._new_queue() as connection:
            request = amqp.publish(self._queue, VALUE)
            return [timed(connection, request, amqp.ACK) for _ in range(times)]

    def _new_queue(self) -> socket.socket:
        connection, self._queue = amqp.login(self._port), b"bench-%d" % next(self._queues)
        amqp.declare(connection, self._queue)
        return connection
