"""Redis Streams: Debian's redis-server with its append-only file.

    redis-server --appendonly yes --appendfsync always | everysec | no

`flush`: the value of appendfsync. There is one node: its replication is asynchronous.
"""

import subprocess

from bench.brokers.node import Node
from bench.brokers.system import System
from bench.peers.peer import program
from bench.peers.plain import HOST
from engine.cluster.ports import free_port


class RedisServer(System):
    name, kind, remedy = "Redis Streams", "redis", "apt install redis-server"

    @classmethod
    def installed(cls) -> bool:
        return program("redis-server") is not None

    @classmethod
    def version(cls) -> str:
        said = subprocess.run(
            ["redis-server", "--version"], capture_output=True, text=True, check=True
        )
        return said.stdout.split("v=")[1].split()[0]

    @property
    def address(self) -> str:
        return f"{HOST}:{self.nodes[0].port}"

    def start(self) -> None:
        server, port, folder = program("redis-server"), free_port(), self.home / "redis"
        assert server is not None
        place = ("--bind", HOST, "--port", str(port), "--dir", str(folder), "--save", "")
        durable = ("--appendonly", "yes", "--appendfsync", self.how.get("flush", "everysec"))
        # After a kill the file is read again; until then the port refuses every command.
        self.nodes.append(Node([server, *place, *durable], folder, port, None, _ready))
        self.nodes[0].start()


def _ready(node: Node) -> bool:
    return "Ready to accept connections" in node.output()
