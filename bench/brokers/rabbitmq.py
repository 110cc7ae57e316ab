"""RabbitMQ: Debian's rabbitmq-server, nodes of one Erlang cluster, each in a folder of its own.

    rabbitmq-server  with  listeners.tcp.1 = 127.0.0.1:PORT
                           cluster_formation.classic_config.nodes.N = nodeN@localhost

Its nodes find each other by a daemon, epmd; these have one of their own, which ends too.
The queue's kind, durability and confirms are the client's to choose.
"""

import os
import re
import shutil
from pathlib import Path

from bench.brokers.node import Node
from bench.brokers.system import System
from bench.peers.peer import program
from bench.peers.plain import HOST
from bench.peers.rabbitmq import FOLDER
from engine.cluster.ports import free_port

READY = re.compile(r"Server startup complete|completed with \d+ plugins")
CONFIG = """\
listeners.tcp.1 = {host}:{port}
cluster_partition_handling = ignore
cluster_formation.peer_discovery_backend = classic_config
log.console = true
log.console.level = info
"""


class RabbitCluster(System):
    name, kind, remedy = "RabbitMQ", "rabbitmq", "apt install rabbitmq-server"

    @classmethod
    def installed(cls) -> bool:
        return shutil.which("epmd") is not None and program("rabbitmq-server", FOLDER) is not None

    @classmethod
    def version(cls) -> str:
        found = [path.name for path in Path("/usr/lib/rabbitmq/lib").glob("rabbitmq_server-*")]
        return found[0].rpartition("-")[2] if found else "unknown"

    @property
    def address(self) -> str:
        return ",".join(f"{HOST}:{node.port}" for node in self.nodes)

    def start(self) -> None:
        server = shutil.which("rabbitmq-server", path=FOLDER) or program("rabbitmq-server")
        assert server is not None
        names = free_port()
        self._epmd = Node(["epmd"], self.home / "epmd", names, _epmd(names))
        self._epmd.start()
        for number in range(1, self.size + 1):
            folder, port = self.home / f"node{number}", free_port()
            folder.mkdir()
            config = CONFIG.format(host=HOST, port=port) + "".join(
                f"cluster_formation.classic_config.nodes.{each} = node{each}@localhost\n"
                for each in range(1, self.size + 1)
            )
            (folder / "rabbitmq.conf").write_text(config)
            environment = _epmd(names) | {
                "HOME": str(self.home),  # where the cookie is
                "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
                "RABBITMQ_DIST_PORT": str(free_port()),
                "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
                "RABBITMQ_LOG_BASE": str(folder),
                "RABBITMQ_MNESIA_BASE": str(folder),
                "RABBITMQ_NODENAME": f"node{number}@localhost",
                "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": (
                    "-kernel inet_dist_use_interface {127,0,0,1}"
                ),
                "RUNNING_UNDER_SYSTEMD": "true",  # the script then becomes the server
            }
            self.nodes.append(Node([server], folder, port, environment, _started))
            self.nodes[-1].start()

    def stop(self) -> None:
        super().stop()
        self._epmd.stop()


def _epmd(port: int) -> dict[str, str]:
    return {"ERL_EPMD_ADDRESS": HOST, "ERL_EPMD_PORT": str(port), "PATH": os.environ["PATH"]}


def _started(node: Node) -> bool:
    return READY.search(node.output()) is not None
