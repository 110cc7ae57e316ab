"""A run of chaos, from an empty directory to a verdict.

    |-- a topic --|-- harm, wait, harm, wait, heal, go on --|-- ... --|-- heal, read all, judge --|
                  clients write and read all the time

Whatever happens, it is healed after a while, and the writers have to get on: a cluster that never
recovers is a finding, as is a traceback in a broker's log.
"""

import time
from collections.abc import Callable
from pathlib import Path

from confluent_kafka.cimpl import NewTopic

from engine.chaos.judge import Finding, Kind, Verdict
from engine.chaos.reading import create
from engine.chaos.storm import Storm
from engine.chaos.waiting import Late, until
from engine.chaos.workload import Workload
from engine.cluster.cluster import Cluster

TOPIC = "chaos"
PARTITIONS = 3
ROUND = 3  # faults at most, before all is healed
WAIT = (0.1, 1.5)  # seconds between two faults
WHOLE = 60.0  # seconds within which a healed cluster is whole
CONFIG = {  # quicker than by default, so that a short run has many elections
    "zookeeper.session.timeout.ms": "2000",
    "replica.lag.time.max.ms": "2000",
    "replica.fetch.wait.max.ms": "200",
    "min.insync.replicas": "2",
    "offsets.topic.num.partitions": "1",
    "log.segment.bytes": "400000",  # some segments in a short run, and borders to be unlike
    "log.index.interval.bytes": "1000",
    "replica.high.watermark.checkpoint.interval.ms": "200",
}

Say = Callable[[str], None]


def run(
    seconds: float, seed: int, brokers: int = 3, data: Path | None = None, say: Say = print
) -> Verdict:
    """`data`: where the cluster's files are left, to be looked into."""
    with Cluster(brokers, data=data, config=settings(brokers)) as cluster:
        create(cluster.bootstrap, NewTopic(TOPIC, PARTITIONS, min(brokers, 3)))
        until(lambda: is_whole(cluster), WHOLE, "that the topic is there")
        with Workload(cluster, TOPIC, lambda: await_whole(cluster), partitions=PARTITIONS) as work:
            findings = blow(cluster, work, seconds, seed, say)
            verdict = work.verdict()
        return Verdict(verdict.findings + tuple(findings) + tuple(bugs(cluster)), verdict.evidence)


def settings(brokers: int) -> dict[str, str]:
    """One broker alone has nobody to be in sync with."""
    return CONFIG | {"min.insync.replicas": str(min(brokers, 2))}


def blow(cluster: Cluster, work: Workload, seconds: float, seed: int, say: Say) -> list[Finding]:
    storm, began, story = Storm(cluster, seed), time.monotonic(), list[str]()
    try:
        work.advance()
        while time.monotonic() < began + seconds:
            for _ in range(ROUND):
                if done := storm.harm():
                    story.append(done)
                    say(f"{time.monotonic() - began:6.1f} s  {done}")
                time.sleep(storm.pick(*WAIT))
            storm.heal()
            say(f"{time.monotonic() - began:6.1f} s  all is healed")
            work.advance(count=20)
    except Late as late:
        storm.heal()
        return [Finding(Kind.ERROR, f"{late}; before: {', '.join(story[-2 * ROUND :])}")]
    return []


def is_whole(cluster: Cluster) -> bool:
    """Every partition has a leader, and every replica is there and in sync."""
    found = [
        state for partition, state in cluster.state().partitions.items() if partition.topic == TOPIC
    ]
    return len(found) == PARTITIONS and all(
        state.leader in state.isr
        and set(state.isr) == set(state.assignment) == set(state.replicas)
        and all(each.answers for each in state.replicas.values())
        for state in found
    )


def await_whole(cluster: Cluster) -> None:
    """If that never comes, the judge finds what is missing."""
    until(lambda: is_whole(cluster), WHOLE, "that all replicas are in sync again")


def bugs(cluster: Cluster) -> list[Finding]:
    logs = [cluster.directory(broker) / "broker.log" for broker in cluster.brokers]
    return [
        Finding(Kind.ERROR, f"a broker met a bug of ours: see {'/'.join(log.parts[-2:])}")
        for log in logs
        if "Traceback" in log.read_text()
    ]
