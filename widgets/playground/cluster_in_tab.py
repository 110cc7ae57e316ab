"""The cluster of lab 00 in a browser tab: the simulator, with the methods that the lab calls.

    cluster = ClusterInTab(metadata="kraft")
    cluster.topic("orders")
    cluster.write("orders", ["two teas"], acks="all")
    cluster.kill(cluster.leader("orders"))
    await cluster.wait("a new leader", lambda: cluster.leader("orders") > 0)

Its time passes as fast as that of a clock, while it is looked at: a picture, an exercise, and
`wait` ask for its state. What says that it waits without `await` lets simulated time pass at once.

It is for one thread: a tab has no more.

Left out: whatever else engine.Cluster has. It is another class, so that nobody takes it for that.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from time import monotonic
from typing import TypeVar

from engine.cluster.state import ClusterState, Status
from engine.errors import ErrorCode, invalid_request
from engine.model import TopicPartition
from engine.sim.simulation import ACKS
from engine.sim.world import World
from widgets.metadata_switch import KRAFT, ZOOKEEPER
from widgets.playground.log_files import LogFiles
from widgets.playground.simulated_cluster import SimulatedCluster

T = TypeVar("T")

BROKERS, CONTROLLERS = 3, 3
AT_ONCE_MS = 250  # of real time that one look at the cluster makes up for, at most
LOOK_S = 0.05  # seconds between two looks of `wait`
RETRY_MS = 50  # between two attempts of a reader
READY_MS = 60_000  # of simulated time, in which brokers and replicas come up
KEYS = {ZOOKEEPER: "zookeeper.session.timeout.ms", KRAFT: "broker.session.timeout.ms"}


class ClusterInTab(SimulatedCluster):
    def __init__(
        self, metadata: str = ZOOKEEPER, config: Mapping[str, str] | None = None, seed: int = 0
    ) -> None:
        """`config`: settings of every broker; a session of the other mode is left out."""
        if metadata not in KEYS:
            raise invalid_request(f"metadata is zookeeper or kraft, not {metadata!r}")
        others = set(KEYS.values()) - {KEYS[metadata]}
        settings = {key: value for key, value in (config or {}).items() if key not in others}
        servers = CONTROLLERS if metadata == KRAFT else None
        super().__init__(World(seed, BROKERS, config=settings, controllers=servers))
        self._asked = monotonic()
        self._topics: list[TopicPartition] = []
        self._files = LogFiles(self.world)
        self._until("a controller", lambda: self.world.controller is not None)

    @property
    def brokers(self) -> list[int]:
        """The numbers of all brokers, also of those that are down."""
        return [*self.world.nodes]

    def state(self) -> ClusterState:
        """The state of now: since the last look as much time has passed as on the wall."""
        now = monotonic()
        passed, self._asked = min(now - self._asked, AT_ONCE_MS / 1000), now
        self.pass_time(passed * 1000)
        self._files.refresh()
        return super().state()

    def directory(self, broker: int) -> Path:
        """Files with the bytes of a broker's logs, which are in memory."""
        return self._files.of(broker)

    def stop(self) -> None:
        """Remove the files. The simulator ends with the kernel, or with the last name for it."""
        self._files.remove()

    # -- topics and records ----------------------------------------------------------------

    def topic(self, name: str) -> str:
        """One partition, with a replica on each broker; returns when it has a leader."""
        self.world.create(name, [self.brokers])
        partition = TopicPartition(name, 0)
        self._topics.append(partition)
        self._until("a leader", lambda: self.world.leader(partition) > 0)
        self._until("all replicas in sync", self._in_sync)
        return name

    def write(self, topic: str, values: Iterable[str], *, acks: int | str = "all") -> list[int]:
        """Produce records; returns the offsets of those that were acknowledged."""
        partition, number = TopicPartition(topic, 0), ACKS[str(acks)]
        sent = [self.world.client.send(partition, value, acks=number) for value in values]
        self._until("an answer for each record", lambda: all(each.done for each in sent))
        return [each.offset for each in sent if each.acknowledged]

    def read(self, topic: str) -> list[str]:
        """Consume the partition from its start to its end."""
        partition, values = TopicPartition(topic, 0), list[str]()

        def ask() -> bool:
            seen = self.world.consume(partition, 0, self.world.leader(partition))
            refused = seen is None or seen.code != ErrorCode.none
            if seen is None or refused or seen.high_watermark < self._end(topic):
                self.pass_time(RETRY_MS)
                return False
            values.extend(row.value for row in seen.rows)
            return True

        self._until("the records up to the end", ask)
        return values

    def _end(self, topic: str) -> int:
        """The offset behind the last record of the leader."""
        leader = self.world.nodes.get(self.leader(topic))
        log = leader.log(TopicPartition(topic, 0)) if leader else None
        return log.end_offset if log else 0

    def leader(self, topic: str) -> int:
        """The leader of the partition, as ZooKeeper or the quorum has it; -1: there is none."""
        return self.world.leader(TopicPartition(topic, 0))

    # -- faults ----------------------------------------------------------------------------

    def heal(self, one: int | str | None = None, other: int | str | None = None) -> None:
        """Undo all cuts and delays, or those of the link between two ends."""
        if one is None or other is None:
            self.world.heal()
        else:
            super().heal(one, other)

    async def mend(self) -> None:
        """Undo every fault: heal links, start brokers, wait until all replicas are in sync."""
        self.heal()
        for number, broker in super().state().brokers.items():
            if broker.status is Status.PAUSED:
                self.resume(number)
            elif broker.status is Status.DOWN:
                self.restart(number)
        await self.wait("all replicas in sync", self._in_sync)

    async def wait(self, what: str, condition: Callable[[], T], seconds: float = 60) -> T:
        """Wait until a condition is true, and return what it returned. Meanwhile pictures move."""
        end = self.now + 1000 * seconds
        while not (found := condition()):
            if self.now > end:
                raise TimeoutError(f"{what}: not within {seconds:g} seconds")
            await asyncio.sleep(LOOK_S)
            self.state()
        return found

    # -- inside ----------------------------------------------------------------------------

    def _until(self, what: str, condition: Callable[[], bool]) -> None:
        if not self.world.until(condition, READY_MS):
            raise TimeoutError(f"{what}: not within {READY_MS / 1000:g} seconds of simulated time")

    def _in_sync(self) -> bool:
        up = set(self.brokers)
        return all(set(self.world.isr(partition)) == up for partition in self._topics)
