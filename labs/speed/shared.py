"""The lab's cluster, its ledger and its scale; what is measured in rounds; what /proc tells.

    shared.many(5000)                    5000 records, or fewer if all is to be short
    shared.rounds({"a": f, "b": g})      the seconds of each, in turn and several times
    shared.cpu(pid), shared.io(pid)      what a process has used, by the kernel's own count

Invariant: SCALE changes how much is measured, never which cases decide.
"""

import os
import random
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from statistics import median

from lab import LabCluster, TracedPartition, traced

from engine import Cluster
from engine.storage.batch import Header
from widgets import Ledger
from widgets.log import directory

__all__ = ["TracedPartition", "traced"]

SCALE = 0.2 if os.environ.get("BROKERLAB_SHORT") else 1.0  # of the full numbers; change it
ROUNDS = 5

CONFIG = {
    "zookeeper.session.timeout.ms": "6000",
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
}

ledger = Ledger("08_speed")
cluster = LabCluster(CONFIG, Cluster.mend).cluster

_numbers = count(1)


def many(full: int) -> int:
    return max(1, int(full * SCALE))


def fresh(name: str) -> str:
    """A name that nobody has had: of a group, or of a client."""
    return f"{name}-{next(_numbers)}"


# -- data ----------------------------------------------------------------------------------------


def log_lines(number: int) -> list[bytes]:
    """Lines as a web server logs them, the same each time."""
    chance, found = random.Random(7), list[bytes]()
    for second in range(number):
        client = f"10.0.{chance.randrange(4)}.{chance.randrange(256)}"
        page = chance.choice(
            ["/teas/green", "/teas/black", "/cakes", "/orders/new", "/orders/last"]
        )
        status, size = chance.choice([200, 200, 200, 304, 404]), chance.randrange(100, 9000)
        at = f"2026-08-03T10:{second // 60 % 60:02}:{second % 60:02}.{chance.randrange(1000):03}Z"
        found.append(f'{client} - - [{at}] "GET {page} HTTP/1.1" {status} {size}'.encode())
    return found


def leader(cluster: Cluster, topic: str, partition: int = 0) -> int:
    """The leader; on a busy machine a partition may be without one for a moment."""
    return cluster.wait("a leader", lambda: max(cluster.leader(topic, partition), 0))


def log_file(cluster: Cluster, topic: str, partition: int = 0, broker: int = 0) -> Path:
    """The segment that is being written, of the leader or of another broker."""
    place = cluster.directory(broker or leader(cluster, topic, partition)) / f"{topic}-{partition}"
    return directory.look(place).segments[-1].path


def batches(cluster: Cluster, topic: str, partition: int = 0) -> list[Header]:
    """The header of each batch in the leader's log."""
    place = cluster.directory(leader(cluster, topic, partition)) / f"{topic}-{partition}"
    return [header for each in directory.look(place).segments for _, header in each.headers()]


def settled(cluster: Cluster, group: str, members: int, partitions: int) -> bool:
    """Whether a group has this number of members, and has given them all partitions."""
    found = cluster.state().groups.get(group)
    if found is None or found.state != "Stable" or len(found.members) != members:
        return False
    shares = [each.share or () for each in found.members.values()]
    return sum(map(len, shares)) == partitions and not any(
        each.waits for each in found.members.values()
    )


# -- measurements --------------------------------------------------------------------------------


class Rounds:
    """Seconds by name, several for each; measured in turn, so that a slow moment slows all."""

    def __init__(self, seconds: Mapping[str, list[float]]) -> None:
        self.seconds = dict(seconds)

    def ratios(self, name: str, to: str) -> list[float]:
        """How many times as fast as another it was, in each round."""
        pairs = zip(self.seconds[name], self.seconds[to], strict=True)
        return [other / own for own, other in pairs]

    def ratio(self, name: str, to: str) -> float:
        """Of the round in the middle."""
        return median(self.ratios(name, to))

    def relative_to(self, to: str) -> dict[str, list[float]]:
        return {name: self.ratios(name, to) for name in self.seconds}


def rounds(ways: Mapping[str, Callable[[], object]], times: int = ROUNDS) -> Rounds:
    found: dict[str, list[float]] = {name: [] for name in ways}
    for name in [*ways] * times:
        began = time.perf_counter()
        ways[name]()
        found[name].append(time.perf_counter() - began)
    return Rounds(found)


# -- what the kernel counts ------------------------------------------------------------------------


def cpu(pid: int | str = "self") -> float:
    """The CPU seconds that all threads of a process have used."""
    each = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(path.read_text().split()[0]) for path in each) / 1e9


def io(pid: int | str = "self") -> dict[str, int]:
    """rchar, wchar: bytes that calls have read and written; read_bytes: those from the disk."""
    lines = Path(f"/proc/{pid}/io").read_text().splitlines()
    return {name: int(number) for name, number in (line.split(": ") for line in lines)}


def pid_of(cluster: Cluster, broker: int) -> int:
    return cluster.child(broker).pid


def open_files(pid: int) -> list[str]:
    """What each descriptor of a process is, but for those that are closed meanwhile."""
    found = []
    for each in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            found.append(os.readlink(each))
    return found
