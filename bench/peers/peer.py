"""The common part of all peers: loads, each a function that returns the seconds it took.

A load prepares what it needs, for example a new topic, before the measured time begins.
"""

import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, NamedTuple

Load = Callable[[], float]

MARK = b"#record:"  # each value begins with it, so that arriving records can be counted
VALUE = MARK.ljust(200, b"v")
CONSUME = "consume"
PATIENCE = 60.0  # seconds; a peer that is silent for so long has failed


class Size(NamedTuple):
    """How much is measured at once."""

    records: int = 200_000
    small: int = 20_000  # records of 200 bytes, so that the mock broker keeps them all
    pings: int = 500


class Peer(ABC):
    name: ClassVar[str]
    remedy: ClassVar[str] = ""  # how to get it, where it is missing

    def installed(self) -> bool:
        return True

    @abstractmethod
    def start(self, home: Path) -> None:
        """Be ready, with all files under `home`."""

    @abstractmethod
    def stop(self) -> None: ...

    @abstractmethod
    def loads(self, size: Size) -> dict[str, Load]:
        """The loads of this peer, in the order in which they have to run."""


class TwoWay(Peer):
    """Store records and read them back."""

    @abstractmethod
    def produce(self, records: int) -> float: ...

    @abstractmethod
    def consume(self, records: int) -> float:
        """Read what the last `produce` has written."""

    @abstractmethod
    def ping(self, times: int) -> list[float]:
        """Store records one by one, each acknowledged before the next is sent."""

    def loads(self, size: Size) -> dict[str, Load]:
        return {
            "produce": lambda: self.produce(size.records),
            CONSUME: lambda: self.consume(size.records),
            "latency p50": lambda: percentile(self.ping(size.pings), 0.5),
            "latency p99": lambda: percentile(self.ping(size.pings), 0.99),
        }


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]


def program(name: str, *folders: str) -> str | None:
    """Where a server is; Debian has some in folders that are not on everyone's PATH."""
    path = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin", *folders))
    return shutil.which(name, path=path)
