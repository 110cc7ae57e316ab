"""Faults of a real cluster, in an order that a seed decides.

    storm = FaultStorm(cluster, seed)
    storm.harm()      one fault, of a broker that is up
    storm.heal()      undo all faults

If the files of a stopped broker were damaged, the broker rebuilds them after its restart or takes
their partitions offline. Then heal() does what the broker's log recommends: it moves the
directories of those partitions away, and the broker copies them from the leaders. So files are
damaged only where others have all that is in them: of a broker that has left the ISR of all its
partitions, and of another one only when all replicas are in sync again.

Disks fail too (disk_faults.py), one at a time, until all replicas are in sync again.

If ZooKeeper is an ensemble, its servers have faults, too, and so have the controllers of a cluster
without ZooKeeper: fewer than half of them at a time, and now and then more than half, for less than
a session lasts.

With `late` the end of a transaction (EndTxn) comes a second time now and then, in a later one: then
Kafka 2.8 loses half of a transaction, and so does this cluster (docs/transactions.md).

The seed decides the faults, but not their effects, which depend on how far the clients are. So a
run cannot be replayed to the last event, as a run of the simulator can.
"""

import re
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random

from engine.cluster.cluster import Cluster
from engine.cluster.link_faults import End
from engine.model import NO_BROKER
from engine.storage.batch import HEADER_SIZE
from engine.wire.apis import Api
from proof.chaos.disk_faults import DISK_FAULTS, break_disk, has_disks, logs_of, mend_disks
from proof.chaos.wait import Late, until

ROT = "rot"
MOVED = 8.0  # seconds until a broker that has stopped is in no ISR: it may fetch on its way out


def rot(cluster: Cluster, broker: int) -> None:
    """Stop it, and flip a bit in the index of every closed segment, in every second log as well.

    If an index is invalid, the broker reads its whole segment at the next start. Nothing is flipped
    if others do not have all that is in these files.
    """
    cluster.stop_broker(broker)
    if not becomes_redundant(cluster, broker):
        return
    for index in sorted(it for log in logs_of(cluster, broker) for it in log.glob("*.index")):
        log = index.with_suffix(".log")
        if log.exists() and index.stat().st_size and log != max(log.parent.glob("*.log")):
            flip(index, -1)
            if int(index.parent.name.rpartition("-")[2]) % 2 == 0:
                flip(log, HEADER_SIZE)


def becomes_redundant(cluster: Cluster, broker: int) -> bool:
    """Whether it is so a little after the broker has stopped."""
    try:
        until(lambda: is_redundant(cluster, broker), MOVED, "that other brokers lead")
    except Late:
        return False
    return True


def is_redundant(cluster: Cluster, broker: int) -> bool:
    """Whether others have all that a stopped broker has: it left every ISR when it stopped.

    It is not if nobody else was in sync: then a partition has no leader until it is back.
    """
    partitions = cluster.state().partitions.values()
    return all(broker not in each.isr and each.leader != NO_BROKER for each in partitions)


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 0x10
    path.write_bytes(data)


def cut_from_metadata(cluster: Cluster, broker: int) -> None:
    """From ZooKeeper, or from all controllers; of combined nodes, from all other brokers."""
    if cluster.metadata_name is not None:
        cluster.cut(broker, cluster.metadata_name)
        return
    for other in cluster.brokers:
        if other != broker:
            cluster.cut(broker, other)


# -- faults of ZooKeeper's servers, or of controllers, if there are several ---------------------


def isolate_server(cluster: Cluster, server: str) -> None:
    """Cut it off from the other servers: brokers can reach it, but it does not serve them."""
    for other in cluster.metadata_servers:
        if other != server:
            cluster.cut(server, other)


def pause_quorum(cluster: Cluster, servers: Sequence[str], seconds: float) -> None:
    """Meanwhile no server leads or follows, and nothing can be written."""
    for server in servers:
        cluster.pause(server)
    time.sleep(seconds)
    for server in servers:
        cluster.resume(server)


SERVER_FAULTS: dict[str, Callable[[Cluster, str], None]] = {
    "kill": lambda cluster, server: cluster.kill(server),
    "pause": lambda cluster, server: cluster.pause(server),
    "restart": lambda cluster, server: cluster.restart(server, wait=False),
    "isolate": isolate_server,
}
SERVERS, QUORUM = 0.3, 0.2  # how often a fault is one of a server; how often such a one, of most
BRIEF = (0.3, 1.5)  # seconds without a quorum: a session lasts longer

FAULTS: dict[str, Callable[[Cluster, int, int], object]] = {
    "kill": lambda cluster, broker, other: cluster.kill(broker),
    "stop": lambda cluster, broker, other: cluster.stop_broker(broker),
    ROT: lambda cluster, broker, other: rot(cluster, broker),
    "pause": lambda cluster, broker, other: cluster.pause(broker),
    "cut": lambda cluster, broker, other: cluster.cut(broker, other),
    "cut one way": lambda cluster, broker, other: cluster.cut(broker, other, both=False),
    "cut from metadata": lambda cluster, broker, other: cut_from_metadata(cluster, broker),
    "slow": lambda cluster, broker, other: cluster.slow(broker, other, 400),
    "drop an answer": lambda cluster, broker, other: cluster.drop_next_answer(broker),
    **{name: partial(break_disk, fault) for name, fault in DISK_FAULTS.items()},
}
LATE = (0.05, 0.8)  # seconds after which the end of a transaction comes a second time
BETWEEN_BROKERS = {"cut", "cut one way", "slow"}  # these need another broker
OFFLINE = re.compile(r"partition\.offline \{'topic': '([^']+)', 'partition': (\d+)")


class FaultStorm:
    def __init__(self, cluster: Cluster, seed: int, late: bool = False) -> None:
        self._cluster, self._late = cluster, late
        self._chance = Random(seed)
        self.damaged = False  # files of one broker; until its replicas are in sync again
        self._broken: set[int] = set()  # brokers that have a broken disk
        self._harmed: set[str] = set()  # the servers, or controllers, that have a fault

    def harm(self) -> str:
        """Cause one fault, and return its name; "" if it cannot be done now."""
        self._repeat_ends()
        if len(self._cluster.metadata_servers) > 1 and self._chance.random() < SERVERS:
            return self._harm_server()
        cluster, fault = self._cluster, self._chance.choice([*FAULTS])
        broker = self._chance.choice(cluster.brokers)
        others = [each for each in cluster.brokers if each != broker]
        other = self._chance.choice(others) if others else broker
        child = cluster.child(broker)
        if not child.alive or child.paused or (other == broker and fault in BETWEEN_BROKERS):
            return ""
        breaks_disk = fault in DISK_FAULTS
        if (fault == ROT or breaks_disk) and self.damaged:
            return ""
        if breaks_disk and not has_disks(cluster, broker):
            return ""
        try:
            FAULTS[fault](cluster, broker, other)
        except FileExistsError:  # the broker is writing the checkpoint that the disk would refuse
            return ""
        self.damaged |= fault == ROT or breaks_disk
        self._broken |= {broker} if breaks_disk else set()
        return f"{fault} {broker}" + f" {other}" * (fault in BETWEEN_BROKERS)

    def _repeat_ends(self) -> None:
        """The ends of transactions come again to each broker that runs, some time later."""
        for broker in self._cluster.brokers:
            child = self._cluster.child(broker)
            if self._late and child.alive and not child.paused:
                ms = round(1000 * self.pick(*LATE))
                self._cluster.repeat_request(broker, Api.END_TXN, ms, times=1000)

    def _harm_server(self) -> str:
        cluster, servers = self._cluster, self._cluster.metadata_servers
        most = len(servers) // 2 + 1
        if self._chance.random() < QUORUM and not self._harmed:
            paused = self._chance.sample(servers, most)
            pause_quorum(cluster, paused, seconds := self.pick(*BRIEF))
            return f"pause {' and '.join(paused)} for {seconds:.1f} s"
        fault, server = self._chance.choice([*SERVER_FAULTS]), self._chance.choice(servers)
        if server in self._harmed or len(servers) - len(self._harmed) <= most:
            return ""
        self._harmed.add(server)
        SERVER_FAULTS[fault](cluster, server)
        return f"{fault} {server}"

    def pick(self, least: float, most: float) -> float:
        return self._chance.uniform(least, most)

    def heal(self) -> None:
        heal(self._cluster)
        self._harmed.clear()
        for broker in sorted(self._broken):
            mend_disks(self._cluster, broker, partial(becomes_redundant, self._cluster, broker))
        self._broken.clear()
        for broker in self._cluster.brokers:
            self._replace(broker)
        self._repeat_ends()

    def _replace(self, broker: int) -> None:
        """Move away what is offline: what is broken on one broker is whole on the others."""
        cluster, child = self._cluster, self._cluster.child(broker)
        offline = set(OFFLINE.findall(child.output()))
        if offline:
            pid = child.pid
            cluster.stop_broker(broker)
            logs = {log.name: log for log in logs_of(cluster, broker)}
            for topic, partition in offline:
                away = cluster.data / f"broken-{broker}-{pid}-{topic}-{partition}"
                logs[f"{topic}-{partition}"].rename(away)
            cluster.restart(broker)


def heal(cluster: Cluster) -> None:
    """Heal all links, resume and restart all servers, or controllers, and all brokers."""
    cluster.heal()
    ends: list[End] = [*cluster.metadata_servers, *cluster.brokers]
    for each in ends:
        child = cluster.child(each)
        if not child.alive:
            cluster.restart(each, wait=each in cluster.brokers)
        elif child.paused:
            cluster.resume(each)
