"""One student of a classroom: a kernel of their own, and in it a cluster of their own.

    cells, as lab 00 has them       a cluster is started, orders are written, the leader is killed,
                                    the orders are read again
    three ways to leave             a kernel is shut down, killed, or interrupted and restarted

The kernel is started and spoken to as JupyterLab does it (jupyter_client).
"""

import asyncio
import json
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import psutil  # type: ignore[import-untyped]
from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.manager import AsyncKernelManager

from tests.limits import CELL_S

ROOT = Path(__file__).resolve().parents[2]
RECORDS = 10
STARTS = 3  # of a kernel, before it is given up
START = """
from engine import Cluster, TopicPartition
cluster = Cluster(brokers={brokers}, config={{"zookeeper.session.timeout.ms": "4000"}}).start()
cluster.admin.create_topic("orders", partitions=1, replication={brokers})
from widgets import ClusterView, HexView, SegmentView
view = ClusterView(cluster)
"""
TELL = """
import json
places = [cluster.zookeeper, *cluster.bootstrap.split(",")]
ports = [int(place.rpartition(":")[2]) for place in places]
print(json.dumps({"ports": ports, "folder": str(cluster.data)}))
"""
WRITE = """
producer = cluster.producer({{"acks": "all"}})
for number in range({records}):
    producer.produce("orders", f"{name} {{number}}")
print(producer.flush())
"""
KILL = """
leader = cluster.state().partitions["orders", 0].leader
cluster.kill(leader)
"""
READ = """
consumer = cluster.consumer({{"group.id": "kitchen", "enable.auto.commit": "false"}})
consumer.assign([TopicPartition("orders", 0, 0)])
found = [consumer.poll(120) for _ in range({records})]
print(json.dumps([each and each.value().decode() for each in found]))
print(consumer.poll(0.5))
"""
BUSY = """
import time
print("busy")
time.sleep(600)
"""


class Place(NamedTuple):
    """What nobody else may have."""

    ports: tuple[int, ...]  # ZooKeeper's first, then the brokers'
    folder: Path


class Memory(NamedTuple):
    """Bytes, with what is shared divided among those who share it, where the system tells."""

    kernel: int
    zookeeper: int
    brokers: int

    @property
    def all(self) -> int:
        return sum(self)


@dataclass
class Student:
    name: str
    brokers: int
    folder: Path  # for the kernel's connection file
    place: Place | None = None
    took: float = 0.0  # seconds until the cluster served
    family: list[Any] = field(default_factory=list)  # every process that the kernel has started
    kernel: Any = None  # an AsyncKernelManager, which is typed as if it were not

    async def sit_down(self) -> None:
        """As with JupyterLab, a kernel that dies at once (its ports are taken) is started anew."""
        log = self.folder / f"{self.name}.log"
        for _ in range(STARTS):
            self.says = log.open("ab")
            if await self._has_kernel():
                return
            await self.be_killed()
        raise AssertionError(f"{self.name} has no kernel:\n{log.read_text()[-2000:]}")

    async def _has_kernel(self) -> bool:
        self.kernel = AsyncKernelManager(connection_file=str(self.folder / f"{self.name}.json"))
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        await self.kernel.start_kernel(env=environment, cwd=ROOT / "labs", stderr=self.says)
        self.client: AsyncKernelClient = self.kernel.client()
        self.client.start_channels()
        try:
            await self.client.wait_for_ready(timeout=CELL_S)
        except RuntimeError:  # it died; why, is in the log
            return False
        return True

    async def start(self) -> None:
        began = time.monotonic()
        await self.run(START.format(brokers=self.brokers))
        self.took = time.monotonic() - began
        told = json.loads(await self.run(TELL))
        self.place = Place(tuple(told["ports"]), Path(told["folder"]))
        self.family = self.process().children(recursive=True)

    async def write(self) -> None:
        text = await self.run(WRITE.format(name=self.name, records=RECORDS))
        assert text == "0\n", f"{self.name}: {text} orders were not written"

    async def lose_the_leader(self) -> None:
        await self.run(KILL)

    async def read(self) -> None:
        """All of their own orders, and nobody else's."""
        lines = (await self.run(READ.format(records=RECORDS))).splitlines()
        mine = [f"{self.name} {number}" for number in range(RECORDS)]
        assert (json.loads(lines[0]), lines[1]) == (mine, "None"), f"{self.name} has read {lines}"

    # -- the three ways to leave -------------------------------------------------------------

    async def shut_down(self) -> None:
        self.client.stop_channels()
        await self.kernel.shutdown_kernel()
        self.says.close()

    async def be_killed(self) -> None:
        self.client.stop_channels()
        await self.kernel.signal_kernel(signal.SIGKILL)
        await self.kernel.shutdown_kernel(now=True)  # only tidies up; nobody is there to hear it
        self.says.close()

    async def restart(self) -> None:
        """Interrupted first: the cell ends, and the cluster stays. Then restarted: it goes."""
        busy = asyncio.Event()
        cell = asyncio.create_task(self.tell(BUSY, lambda text: busy.set()))
        await asyncio.wait_for(busy.wait(), CELL_S)
        await self.kernel.interrupt_kernel()
        reply = await cell
        assert reply["ename"] == "KeyboardInterrupt", reply
        await self.run("assert cluster.state().brokers[cluster.brokers[0]].status is not None")
        assert not self.is_gone, f"the cluster of {self.name} has not survived an interrupt"
        await self.kernel.restart_kernel()
        await self.client.wait_for_ready(timeout=CELL_S)

    # -- what is left of them ----------------------------------------------------------------

    @property
    def is_gone(self) -> bool:
        """Whether nothing is left of the cluster, no process and no directory."""
        assert self.place is not None
        return not self.place.folder.exists() and not any(map(runs, self.family))

    @property
    def remains(self) -> str:
        assert self.place is not None
        names = [" ".join(it.cmdline()[:4]) for it in self.family if runs(it)]
        return f"there are still {names or self.place.folder}"

    @property
    def present(self) -> bool:
        """Whether their kernel runs."""
        return self.kernel is not None and self.kernel.has_kernel

    def memory(self) -> Memory:
        found = dict.fromkeys(("kernel", "zookeeper", "brokers"), 0)
        for process in (self.process(), *self.family):
            if runs(process):
                line = process.cmdline()
                kind = "zookeeper" if "-cp" in line else "brokers" if "broker" in line else "kernel"
                found[kind] += used(process)
        return Memory(**found)

    def process(self) -> Any:
        return psutil.Process(self.kernel.provisioner.pid)

    # -- cells -------------------------------------------------------------------------------

    async def run(self, code: str) -> str:
        """What a cell prints; a cell that fails is an error."""
        printed: list[str] = []
        reply = await self.tell(code, printed.append)
        assert reply["status"] == "ok", f"{self.name}: {reply['ename']}: {reply['evalue']}"
        return "".join(printed)

    async def tell(self, code: str, heard: Callable[[str], object]) -> Any:
        def hook(message: Any) -> None:
            if message["msg_type"] == "stream" and message["content"]["name"] == "stdout":
                heard(message["content"]["text"])

        reply = await self.client.execute_interactive(
            code, timeout=CELL_S, output_hook=hook, allow_stdin=False
        )
        return reply["content"]


def runs(process: Any) -> bool:
    """A zombie has ended; only its parent has not asked how."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def used(process: Any) -> int:
    try:
        told = process.memory_full_info()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return 0
    return int(getattr(told, "pss", told.rss))
