"""What ten views of one cluster cost: `python -m bench.views`.

    five on the screen     polled ten times a second, as a page has it
    five scrolled out      only recorded
    ─────────────────────────────────────────────────────────────────
    event to picture       a kill, and a new leader, until the last view on the screen shows it
    recording              share of a core, while nothing happens and no view is on the screen
    an hour of it          MB, the most, while every partition is written to

The way from a picture to its pixels, in a browser, is measured by bench/pixels.py.
"""

import argparse
import gc
import os
import sys
import time
import tracemalloc
from collections.abc import Callable

from engine import Cluster
from engine.model import TopicPartition
from widgets import ClusterView, ReplicaView, WireView, ZooKeeperTree
from widgets.run_source import RECORD, LiveRun
from widgets.stage import SceneWidget

QUICK = {"zookeeper.session.timeout.ms": "2000"}
PARTITION = TopicPartition("orders", 0)
PARTITIONS = 3
HOUR = round(3600 / RECORD)  # states that the recorder sees
SAMPLED = 100  # states from one measurement of the memory to the next
PATIENCE = 60.0  # seconds


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seconds", type=float, default=20, help="of each measurement")
    options.add_argument("--states", type=int, default=HOUR, help="that are recorded")
    seconds = options.parse_args().seconds
    with Cluster(brokers=3, config=QUICK) as cluster:
        cluster.admin.create_topic("orders", partitions=PARTITIONS, replication=3)
        most = growth(cluster, options.parse_args().states)
        print(f"an hour of recording, with records: at most {most / 1e6:.1f} MB")
        views = [make(cluster) for make in [*MAKERS, *MAKERS]]
        for view in views:
            view._repr_mimebundle_()
        share = idle(cluster, seconds)
        print(f"recording while nothing happens: {share:.2%} of a core")
        on_screen = views[: len(views) // 2]
        for number, view in enumerate(on_screen):
            view._watched(f"page {number}", True)
        killed, elected = failover(cluster, on_screen)
        print(f"event to picture, ten views: a kill {killed:.0f} ms, a new leader {elected:.0f} ms")
        for view in views:
            view.close()
    print(f"load of the machine: {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores", file=sys.stderr)


MAKERS: list[Callable[[Cluster], SceneWidget]] = [
    ClusterView,
    lambda cluster: ReplicaView(cluster, "orders", 0),
    lambda cluster: ReplicaView(cluster, "orders", 1),
    ZooKeeperTree,
    WireView,
]


def idle(cluster: Cluster, seconds: float) -> float:
    """The processor time of the recorder, as a share of the time that passed."""
    time.sleep(3)  # until the brokers have come to rest
    began, used = time.monotonic(), time.process_time()
    time.sleep(seconds)
    return (time.process_time() - used) / (time.monotonic() - began)


def growth(cluster: Cluster, states: int) -> float:
    """The most bytes that a run takes while it records an hour: as many states as the recorder sees
    in one, as quickly as they come, and a record in each partition from one to the next."""
    run, producer, most = LiveRun.of(cluster), cluster.producer(), 0
    gc.collect()
    tracemalloc.start()
    for number in range(states):
        for partition in range(PARTITIONS):
            producer.produce("orders", b"tea", partition=partition)
        producer.flush()
        run.poll()
        if number % SAMPLED == 0:
            gc.collect()
            most = max(most, tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    return most


def failover(cluster: Cluster, views: list[SceneWidget]) -> tuple[float, float]:
    """ms from an event until each view shows it: the death of a leader, and the election."""
    leader = cluster.state().partitions[PARTITION].leader
    shown = [view for view in views if isinstance(view, ClusterView)]
    time.sleep(2)
    cluster.kill(leader)
    seen = wait(lambda: all(says(it, f"broker {leader}", "killed") for it in shown))
    killed = event(cluster, "broker.killed", leader)
    wait(lambda: any(leads(cluster) == it for it in (1, 2, 3) if it != leader))
    new = leads(cluster)
    drawn = wait(
        lambda: all(says(it, f"broker {new}", "orders-0: leader", deep=True) for it in shown)
    )
    return seen - killed, drawn - event(cluster, "leader.elected", None)


def leads(cluster: Cluster) -> int:
    return cluster.state().partitions[PARTITION].leader


def says(view: SceneWidget, key: str, words: str, deep: bool = False) -> bool:
    picture = view.picture
    assert picture is not None
    found = picture[key]
    inside = [found, *type(picture)(1, 1, [found]).all()] if deep else [found]
    return any(words in each.label for each in inside)


def event(cluster: Cluster, kind: str, broker: int | None) -> int:
    found = [it for it in cluster.events() if it.kind == kind]
    mine = [it for it in found if broker is None or it.data.get("broker") == broker]
    topic = [it for it in mine if it.data.get("topic", "orders") == "orders"]
    return topic[-1].at


def wait(condition: Callable[[], bool]) -> float:
    """ms since 1970 when it was true."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("the views do not show it")
        time.sleep(0.002)
    return time.time() * 1000


if __name__ == "__main__":
    main()
