"""What ten views of one cluster cost: `python -m bench.views`.

    five on the screen     polled ten times a second, as a page has it
    five scrolled out      only recorded
    ─────────────────────────────────────────────────────────────────
    event to picture       a kill, and a new leader, until the last view on the screen shows it
    recording              share of a core, while nothing happens and no view is on the screen
    an hour of it          MB, from the growth while records are written

The way from a picture to its pixels, in the browser, is not measured.
"""

import argparse
import gc
import os
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable

from engine import Cluster
from engine.model import TopicPartition
from widgets import ClusterView, ReplicaView, WireView, ZooKeeperTree
from widgets.run_source import LiveRun
from widgets.stage import SceneWidget

QUICK = {"zookeeper.session.timeout.ms": "2000"}
PARTITION = TopicPartition("orders", 0)
PATIENCE = 60.0  # seconds


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seconds", type=float, default=20, help="of each measurement")
    seconds = options.parse_args().seconds
    with Cluster(brokers=3, config=QUICK) as cluster:
        cluster.admin.create_topic("orders", partitions=3, replication=3)
        alone = ClusterView(cluster)
        alone._repr_mimebundle_()
        print(f"an hour of recording, with records: {growth(cluster, seconds) * 3600 / 1e6:.1f} MB")
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


def growth(cluster: Cluster, seconds: float) -> float:
    """Bytes a second that a run grows by, while ten records a second are written."""
    run, stop = LiveRun.of(cluster), threading.Event()
    writer = threading.Thread(target=write, args=(cluster, stop), daemon=True)
    gc.collect()
    tracemalloc.start()
    writer.start()
    time.sleep(2)
    before, began, states = tracemalloc.get_traced_memory()[0], time.monotonic(), len(run._states)
    time.sleep(seconds)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    print(f"{len(run._states) - states} states in {time.monotonic() - began:.0f} s")
    stop.set()
    writer.join()
    tracemalloc.stop()
    return max(grown, 0) / (time.monotonic() - began)


def write(cluster: Cluster, stop: threading.Event) -> None:
    producer = cluster.producer()
    while not stop.wait(0.1):
        producer.produce("orders", b"tea")
        producer.flush()


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
