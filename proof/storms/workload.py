"""The producers and readers of a simulated cluster, and their results.

    producer   acks=all, idempotent: its acknowledged records must not be lost
    hasty      acks=1: its records may be lost; because of them logs differ
    reader     one for each partition, from the beginning; it may have a rack, whose replica it
               reads from if the leader says so

Every value is sent once: `r00017` is the eighteenth record of the run. So if a value is stored
twice, the cluster has duplicated it.
"""

from random import Random

from engine.broker.metadata import PartitionInfo
from engine.errors import ErrorCode
from engine.model import TopicPartition
from engine.sim.client import Client, Delivery, Row, Seen
from engine.sim.world import World

MACHINES = ("producer", "hasty", "reader")
TIMEOUT = 3000  # ms for an answer
PATIENCE = 15_000  # ms until a producer gives up on a record
HASTE = 0.25  # the share of records that are sent with acks=1, by default
FRESH = 20  # polls between two looks at the metadata, as metadata.max.age.ms
MOST = 3  # records at a time
WAITING = 20  # records of a producer without a result; with so many it sends no more


class Reader:
    """Reads one partition from its leader, or from the replica in its rack that the leader names,
    and retries after errors."""

    def __init__(
        self,
        client: Client,
        partition: TopicPartition,
        start: int = 0,
        *,
        committed: bool = False,  # isolation.level=read_committed
        rack: str = "",
    ) -> None:
        self.partition = partition
        self.position = start
        self.rows: list[Row] = []
        self.refused: ErrorCode | None = None  # for good: its next offset is out of range
        self._epoch = -1  # the newest that it knows
        self._client = client
        self._committed, self._rack = committed, rack
        self.nearer: int | None = None  # the replica to read from, in place of the leader
        self._info: PartitionInfo | None = None  # with the leader, as far as it knows
        self._asking = False
        self._polls = 0

    def poll(self) -> None:
        """Looks up the leader again from time to time: a former leader may not know that it is."""
        if self._asking:
            return
        self._asking = True
        self._polls += 1
        if self._polls % FRESH == 0:
            self._info = self.nearer = None
        if self._info is None:
            self._client.locate(self.partition, self._found)
        else:
            self._ask(self._info)

    def _found(self, info: PartitionInfo | None) -> None:
        """Ignores a broker with older metadata, that is, an older leader epoch."""
        if info is None or info.leader < 0 or info.leader_epoch < self._epoch:
            self._asking = False
        else:
            self._info, self._epoch = info, info.leader_epoch
            self._ask(info)

    def _ask(self, info: PartitionInfo) -> None:
        self._client.consume(
            self.partition,
            self.position,
            info.leader if self.nearer is None else self.nearer,
            self._seen,
            leader_epoch=info.leader_epoch,
            committed=self._committed,
            rack=self._rack,
        )

    def _seen(self, seen: Seen) -> None:
        self._asking = False
        if seen.code != ErrorCode.none:
            if seen.code == ErrorCode.offset_out_of_range and self.nearer is None:
                self.refused = seen.code
            self._info = self.nearer = None
        elif seen.preferred >= 0:
            self.nearer = seen.preferred
        self.rows += seen.rows
        self.position = max(self.position, seen.next_offset)


class Workload:
    def __init__(
        self, world: World, partitions: list[TopicPartition], chance: Random, rack: str = ""
    ) -> None:
        """A reader; `rack`: where it stands, so that it may read from a replica there."""
        self.partitions = partitions
        self.haste = HASTE
        self.sent: list[Delivery] = []
        self._chance = chance
        self._producer, self._hasty, reader = [
            world.add_client(name, timeout=TIMEOUT) for name in MACHINES
        ]
        self.readers = [Reader(reader, each, rack=rack) for each in partitions]

    def send(self) -> None:
        """Read, then send some records."""
        self.read()
        for _ in range(self._chance.randint(1, MOST)):
            partition, value = self._chance.choice(self.partitions), f"r{len(self.sent):05}"
            hasty = self._chance.random() < self.haste
            client, acks = (self._hasty, 1) if hasty else (self._producer, -1)
            if client.waiting(partition) < WAITING:
                self.sent.append(client.send(partition, value, acks=acks, patience=PATIENCE))

    def read(self) -> None:
        for reader in self.readers:
            reader.poll()
