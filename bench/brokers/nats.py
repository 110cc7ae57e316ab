"""NATS JetStream: Debian's nats-server with streams in files; three nodes are one cluster.

    nats-server -js -sd DIR [-cluster_name lab -cluster nats://... -routes nats://...,nats://...]

How often it flushes to the disk is left at its default.
"""

import subprocess

from bench.brokers.node import Node
from bench.brokers.system import System
from bench.peers.peer import program
from bench.peers.plain import HOST
from engine.cluster.ports import free_port


class NatsCluster(System):
    name, kind, remedy = "NATS JetStream", "nats", "apt install nats-server"

    @classmethod
    def installed(cls) -> bool:
        return program("nats-server") is not None

    @classmethod
    def version(cls) -> str:
        server = program("nats-server")
        assert server is not None
        said = subprocess.run([server, "--version"], capture_output=True, text=True, check=True)
        return said.stdout.split("v")[-1].strip()

    @property
    def address(self) -> str:
        return ",".join(f"nats://{HOST}:{node.port}" for node in self.nodes)

    def start(self) -> None:
        server = program("nats-server")
        assert server is not None
        routes = [f"nats://{HOST}:{free_port()}" for _ in range(self.size)]
        for number, route in enumerate(routes, 1):
            folder, port = self.home / f"nats-{number}", free_port()
            command = [server, "-a", HOST, "-p", str(port), "-js", "-sd", str(folder)]
            if self.size > 1:
                command += ["-n", f"node-{number}", "-cluster_name", "lab", "-cluster", route]
                command += ["-routes", ",".join(routes)]
            self.nodes.append(Node(command, folder, port))
        for node in self.nodes:
            node.launch()
        for node in self.nodes:
            node.await_ready()
