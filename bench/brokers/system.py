"""What all peers have in common: some nodes, and how a Java client reaches them."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from bench.brokers.node import Node


class System(ABC):
    """Started in a folder; `how` are settings of the server, which each class explains."""

    name: ClassVar[str]
    kind: ClassVar[str]  # of the Java client
    remedy: ClassVar[str] = ""  # how to get it, where it is missing

    def __init__(self, home: Path, nodes: int = 1, **how: str) -> None:
        self.home, self.size, self.how = home, nodes, how
        self.nodes: list[Node] = []

    @classmethod
    def installed(cls) -> bool:
        return True

    @classmethod
    @abstractmethod
    def version(cls) -> str: ...

    @abstractmethod
    def start(self) -> None:
        """Be ready for a client."""

    def stop(self) -> None:
        for node in reversed(self.nodes):
            node.stop()

    @property
    @abstractmethod
    def address(self) -> str:
        """Of all nodes, as the client wants it."""

    def settings(self) -> Mapping[str, str]:
        """What the client has to know, beside its own settings."""
        return {"kind": self.kind, "address": self.address}

    def active(self, topic: str) -> int:
        """The place among the nodes of the one that takes a topic's messages: the first alive."""
        return next(at for at, node in enumerate(self.nodes) if node.child.alive)

    def kill(self, node: int) -> None:
        self.nodes[node].kill()

    def restart(self, node: int) -> None:
        self.nodes[node].start()

    def restart_all(self, dead: list[int]) -> None:
        """After several were killed: the last one first, since it has what the others lack."""
        for node in reversed(dead):
            self.nodes[node].launch()
        for node in reversed(dead):
            self.nodes[node].await_ready()
