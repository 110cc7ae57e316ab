"""A run of chaos, from an empty directory to a verdict.

    |-- a topic --|-- harm, wait, harm, wait, heal, go on --|-- ... --|-- heal, read all, judge --|
                  clients write and read all the time

After some faults all of them are undone, and the writers must make progress: a cluster that does
not recover is a finding, and so is a traceback in a broker's log.

With `switch` each round begins with a broker that restarts with its next settings
(security_switch.py), and the run lasts until the last one has done so.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Self

from confluent_kafka.cimpl import NewTopic

from engine.cluster.cluster import Cluster
from proof.challenges.in_broker import FAILED
from proof.chaos.cluster_reader import create
from proof.chaos.disk_faults import give_disks
from proof.chaos.judge import ChaosFinding, ChaosVerdict, FindingKind
from proof.chaos.random_workload import RandomWorkload
from proof.chaos.security_switch import SecuritySwitch
from proof.chaos.storm import FaultStorm
from proof.chaos.transaction_workload import CopierWorkload
from proof.chaos.wait import Late, until
from proof.chaos.workload import ChaosWorkload

TOPIC, COPIES, RANDOM = "chaos", "chaos-copies", "chaos-random"
PARTITIONS = 3
ROUND = 3  # faults at most, before all is healed
WAIT = (0.1, 1.5)  # seconds between two faults
WHOLE = 60.0  # seconds for all replicas to be in sync again
OF_ZOOKEEPER = {
    "zookeeper.session.timeout.ms": "2000",
    "zookeeper.connection.timeout.ms": "20000",  # on a busy machine the first answer is slow
}
OF_KRAFT = {
    "broker.session.timeout.ms": "2000",
    "broker.heartbeat.interval.ms": "400",
    "controller.quorum.election.timeout.ms": "500",
    "controller.quorum.fetch.timeout.ms": "1000",
}
IN_BOTH = {  # quicker than by default, so that a short run has many elections
    "replica.lag.time.max.ms": "2000",
    "replica.fetch.wait.max.ms": "200",
    "min.insync.replicas": "2",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "3",
    "log.segment.bytes": "400000",  # so that a short run has several segments
    "log.index.interval.bytes": "1000",
    "replica.high.watermark.checkpoint.interval.ms": "200",
}
CONFIG = IN_BOTH | OF_ZOOKEEPER

Say = Callable[[str], None]


class TransactionClients:
    """Copiers, and clients with random transactions, at the same time; as `ChaosWorkload`."""

    def __init__(self, copiers: CopierWorkload, clients: RandomWorkload) -> None:
        self.copiers, self.clients = copiers, clients
        self.await_whole = copiers.await_whole

    def advance(self, count: int = 50) -> None:
        self.copiers.advance(count)
        self.clients.advance(count)

    def verdict(self) -> ChaosVerdict:
        copied, found = self.copiers.verdict(), self.clients.verdict()
        evidence = f"{copied.evidence}; {found.evidence}"
        return ChaosVerdict((*copied.findings, *found.findings), evidence)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clients.close()
        self.copiers.close()


Workload = ChaosWorkload | TransactionClients


def run(
    seconds: float,
    seed: int,
    brokers: int = 3,
    data: Path | None = None,
    say: Say = print,
    zookeepers: int = 1,
    transactions: bool = False,
    switch: bool = False,
    history: Path | None = None,
    late: bool = False,
    rules: Mapping[str, type | Path | str] | None = None,
    controllers: int | None = None,
) -> ChaosVerdict:
    """`data`: the directory in which the cluster's files are kept. `switch`: to SASL_SSL.

    `history`: where the random transactions are written down, for Jepsen (jepsen_edn.py). `late`:
    requests that end a transaction come a second time. `rules`: a learner's, in every broker.
    `controllers`: without ZooKeeper, with so many; 0: the brokers are controllers, too.
    """
    topics = [TOPIC, COPIES, RANDOM] if transactions else [TOPIC]
    kraft = controllers is not None
    mode = (
        {"metadata": "kraft", "controllers": controllers} if kraft else {"zookeepers": zookeepers}
    )
    config: Mapping[str, str] = settings(brokers, kraft=kraft)
    cluster = Cluster(brokers, data=data, config=config, rules=rules, **mode)
    give_disks(cluster)
    with cluster:
        for topic in topics:
            create(cluster.bootstrap, NewTopic(topic, PARTITIONS, min(brokers, 3)))
        until(lambda: is_whole(cluster, topics), WHOLE, "that the topic is there")
        whole = partial(await_whole, cluster, topics)
        work: Workload
        steps: SecuritySwitch | None = None
        if transactions:
            work = TransactionClients(
                CopierWorkload(cluster, TOPIC, COPIES, whole, partitions=PARTITIONS),
                RandomWorkload(cluster, RANDOM, whole, partitions=PARTITIONS),
            )
        else:
            work = ChaosWorkload(cluster, TOPIC, whole, partitions=PARTITIONS)
            steps = SecuritySwitch(cluster, work, seed) if switch else None
        with work:
            findings = blow(work, FaultStorm(cluster, seed, late), seconds, say, steps)
            verdict = work.verdict()
            if history is not None and isinstance(work, TransactionClients):
                work.clients.write_history(history)
        return ChaosVerdict(
            (*rule_failures(cluster), *verdict.findings, *findings, *bugs(cluster)),
            verdict.evidence,
        )


def settings(brokers: int, *, kraft: bool = False) -> dict[str, str]:
    """With one broker there is one replica in sync at most."""
    of_mode = OF_KRAFT if kraft else OF_ZOOKEEPER
    return IN_BOTH | of_mode | {"min.insync.replicas": str(min(brokers, 2))}


def blow(
    work: Workload,
    storm: FaultStorm,
    seconds: float,
    say: Say,
    switch: SecuritySwitch | None = None,
) -> list[ChaosFinding]:
    story = list[str]()
    try:
        work.advance()  # all clients are at work: copiers are processes that have to start
        began = time.monotonic()
        while time.monotonic() < began + seconds or (switch and not switch.is_done):
            if switch and not switch.is_done:
                story.append(switch.restart())
                say(f"{time.monotonic() - began:6.1f} s  {story[-1]}")
            for _ in range(ROUND):
                if done := storm.harm():
                    story.append(done)
                    say(f"{time.monotonic() - began:6.1f} s  {done}")
                time.sleep(storm.pick(*WAIT))
            storm.heal()
            say(f"{time.monotonic() - began:6.1f} s  all is healed")
            if storm.damaged:
                work.await_whole()
                storm.damaged = False
            work.advance(count=20)
    except Late as late:
        storm.heal()
        return [
            ChaosFinding(FindingKind.ERROR, f"{late}; before: {', '.join(story[-2 * ROUND :])}")
        ]
    return []


def is_whole(cluster: Cluster, topics: Sequence[str] = (TOPIC,)) -> bool:
    """Every partition has a leader, and every replica is up and in sync."""
    found = [
        state
        for partition, state in cluster.state().partitions.items()
        if partition.topic in topics
    ]
    return len(found) == PARTITIONS * len(topics) and all(
        state.leader in state.isr
        and set(state.isr) == set(state.assignment) == set(state.replicas)
        and all(each.answers for each in state.replicas.values())
        for state in found
    )


def await_whole(cluster: Cluster, topics: Sequence[str] = (TOPIC,)) -> None:
    """Wait for it; if it never is, the judge finds what is missing."""
    until(lambda: is_whole(cluster, topics), WHOLE, "that all replicas are in sync again")


def rule_failures(cluster: Cluster) -> list[ChaosFinding]:
    """A learner's rule has ended its broker: the sentence is the same in each of them."""
    lines = {
        line
        for broker in cluster.brokers
        for line in (cluster.directory(broker) / "broker.log").read_text().splitlines()
        if line.startswith(FAILED)
    }
    return [ChaosFinding(FindingKind.ERROR, line) for line in sorted(lines)]


def bugs(cluster: Cluster) -> list[ChaosFinding]:
    logs = [cluster.directory(broker) / "broker.log" for broker in cluster.brokers]
    if cluster.is_kraft:
        logs += [cluster.directory(it) / "controller.log" for it in cluster.metadata_servers]
    return [
        ChaosFinding(FindingKind.ERROR, f"a node met a bug of ours: see {'/'.join(log.parts[-2:])}")
        for log in logs
        if "Traceback" in log.read_text()
    ]
