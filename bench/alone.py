"""The engine alone: its start, its memory and CPU time when idle, and the search for an offset.

These have goals instead of peers, so each is a share of its goal: below 1 is better than the goal.
"""

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bench.seek import seek
from engine.cluster.cluster import Cluster
from engine.cluster.zookeeper import ZookeeperServer

STARTS = 3
READY, MEMORY, CPU, SEEK = 4.0, 60e6, 0.01, 1.2  # the goals: seconds, bytes, cores, a ratio
SETTLE = 3.0  # seconds until a broker that has just started is at rest
WATCH = 10.0  # seconds; the system counts CPU time in hundredths, or in seconds


class Usage(NamedTuple):
    memory: int  # bytes that are resident
    cpu: float  # seconds since the process began, or of each second


class Alone(NamedTuple):
    ready: list[float]  # seconds from nothing to a cluster of ZooKeeper and one broker
    zookeeper: list[float]  # the same for ZooKeeper alone
    rest: Usage
    seek: tuple[float, float]  # seconds of a fetch from a long log, and from a short one

    def rows(self) -> list[tuple[str, float]]:
        long, short = self.seek
        ready, zookeeper = statistics.median(self.ready), statistics.median(self.zookeeper)
        return [
            ("start: until ready, of 4 s", ready / READY),
            ("... of which ZooKeeper", zookeeper / READY),
            ("at rest: memory, of 60 MB", self.rest.memory / MEMORY),
            ("... CPU, of 1 % of a core", self.rest.cpu / CPU),
            ("fetch at a random offset: long log / short log, of 1.2", long / short / SEEK),
        ]


def measure(log_mb: int, report: Callable[[str], None]) -> Alone:
    report("starting ZooKeeper, and clusters")
    zookeeper, ready = [zookeeper_start() for _ in range(STARTS)], [start() for _ in range(STARTS)]
    with Cluster(1) as cluster:
        report("watching a broker at rest")
        usage = rest(cluster.child(1).pid)
        report(f"filling a log of {log_mb} MB, and fetching from it")
        return Alone(ready, zookeeper, usage, seek(cluster.bootstrap, log_mb))


def start() -> float:
    began = time.perf_counter()
    with Cluster(1):
        return time.perf_counter() - began


def zookeeper_start() -> float:
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        with ZookeeperServer(Path(folder)):
            return time.perf_counter() - began


def rest(pid: int) -> Usage:
    """Memory, and CPU time per second, of an idle process."""
    time.sleep(SETTLE)
    before, began = usage(pid), time.perf_counter()
    time.sleep(WATCH)
    after, spent = usage(pid), time.perf_counter() - began
    return Usage(after.memory, (after.cpu - before.cpu) / spent)


def usage(pid: int) -> Usage:
    if Path("/proc/self/statm").exists():
        resident = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        # Behind the command's name in parentheses; 11 and 12 are user and system time.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks = int(fields[11]) + int(fields[12])
        return Usage(resident * os.sysconf("SC_PAGE_SIZE"), ticks / os.sysconf("SC_CLK_TCK"))
    told = subprocess.check_output(["ps", "-o", "rss=,time=", "-p", str(pid)], text=True)
    kilobytes, clock = told.split()
    seconds = 0.0
    for part in clock.split(":"):  # minutes:seconds, perhaps with hours before
        seconds = seconds * 60 + float(part)
    return Usage(int(kilobytes) * 1024, seconds)
