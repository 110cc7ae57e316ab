"""What the labs share: one cluster each that is whole again, waiting with words, topic settings.

    shared = lab.LabCluster({"zookeeper.session.timeout.ms": "4000"})
    cluster = shared.cluster("kraft")       three brokers, in the mode that a lab's first cell names
    cluster = shared.cluster()              in the same mode: started by whoever asks first, and
                                            mended after a section that left one dead
    cluster = shared.with_zookeeper()       for a section about ZooKeeper, whatever the mode is
    lab.until("a leader", lambda: ...)      what it finds, or an error that says what was missing
    lab.state_now(cluster)                  a state that no broker is behind with
    lab.best_of_three(measure, is_good)     measures again if a busy machine was slow
    lab.configure(cluster, "orders", retention_ms=1000)
    with lab.traced(cluster, "orders") as served: ...     the requests about a topic

Invariant: a cluster that `LabCluster` returns is running, with all its brokers up.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar, cast

from engine import Cluster
from engine.client.admin.values import AlterConfigOpType, ConfigEntry, ConfigResource
from engine.cluster.state import ClusterState, Status, now
from widgets.metadata_switch import ZOOKEEPER, wanted
from widgets.notebook.guide import shared_clusters

T = TypeVar("T")

PATIENCE = 60.0  # seconds; a busy machine takes its time, but not forever
LOOK = 0.03  # seconds between two looks


class LabCluster:
    def __init__(
        self,
        config: Mapping[str, str],
        mend: Callable[[Cluster], None] | None = None,
        metadata: str = "",
    ) -> None:
        """`mend`: how a cluster that was used before is made whole. It undoes faults first: behind
        a link that is cut no broker is ever ready. None: brokers are raised, nothing else.
        `metadata`: of a lab that is about one of the modes; in others the learner chooses."""
        self.config = config
        self._mend, self._metadata = mend, metadata
        self._running: dict[str, Cluster] = {}

    def cluster(self, metadata: str = "") -> Cluster:
        """The one that runs in this mode, all its brokers up; or a new one, if it was stopped. A
        mode that is named is that of later calls, too."""
        mode = metadata or self._metadata or wanted()
        cluster = self._whole(mode)
        self._metadata = mode
        return cluster

    def with_zookeeper(self) -> Cluster:
        """For what only ZooKeeper can show; one more cluster, if the others have none."""
        return self._whole(ZOOKEEPER)

    def _whole(self, mode: str) -> Cluster:
        running = self._running.get(mode)
        if running is None or not running.data.exists():
            running = Cluster(brokers=3, config=self._settings(mode), metadata=mode).start()
            self._running[mode] = running
            shared_clusters.add(running)
        if self._mend is None:
            raise_all(running)
        else:
            self._mend(running)
        return running

    def _settings(self, mode: str) -> dict[str, str]:
        """A session lasts as long in both modes."""
        session = self.config.get("zookeeper.session.timeout.ms")
        if mode == ZOOKEEPER or session is None:
            return dict(self.config)
        heartbeats = {"broker.heartbeat.interval.ms": "500"}
        return {"broker.session.timeout.ms": session, **heartbeats, **self.config}


def raise_all(cluster: Cluster) -> None:
    """Those that sleep first: a broker that starts waits for them."""
    for number, broker in cluster.state().brokers.items():
        if broker.status is Status.PAUSED:
            cluster.resume(number)
    for number, broker in cluster.state().brokers.items():
        if broker.status is Status.DOWN:
            cluster.restart(number)


def until(what: str, look: Callable[[], T], patience: float = PATIENCE) -> T:
    """What `look` finds, as soon as that is something; otherwise it is told what was missing."""
    deadline = time.monotonic() + patience
    while not (found := look()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {patience:.0f} seconds; run this cell again")
        time.sleep(LOOK)
    return found


def state_now(cluster: Cluster) -> ClusterState:
    """The state of a cluster, in which each broker that is up has answered since this call.

    `cluster.state()` does not wait for a busy broker: it has what that one said before.
    """
    began = now()

    def found() -> ClusterState | None:
        state = cluster.state()
        up = [each for each in state.brokers.values() if each.status is Status.UP]
        return state if all(each.answers and each.at >= began for each in up) else None

    return cast(ClusterState, until("an answer of each broker", found))


def best_of_three(measure: Callable[[], T], is_good: Callable[[T], bool]) -> T:
    """The first of three measurements that is good, or the last one.

    A machine that stands still for a moment, or is busy with something else, is not measured.
    """
    for _ in range(2):
        if is_good(found := measure()):
            return found
    return measure()


# -- settings of a topic, in which a cell writes _ for a dot -----------------------------------


def dotted(config: Mapping[str, Any]) -> dict[str, str]:
    return {name.replace("_", "."): str(value) for name, value in config.items()}


def configure(cluster: Cluster, topic: str, **config: Any) -> None:
    """Set some of a topic's settings; it is refused with the broker's own words."""
    changes = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        for name, value in dotted(config).items()
    ]
    resource = ConfigResource("topic", topic, incremental_configs=changes)
    cluster.admin.incremental_alter_configs([resource])[resource].result()


def settings(cluster: Cluster, topic: str) -> dict[str, str]:
    resource = ConfigResource("topic", topic)
    found = cluster.admin.describe_configs([resource])[resource].result()
    return {name: entry.value or "" for name, entry in found.items()}


# -- requests, as the brokers have served them --------------------------------------------------


class TracedPartition(NamedTuple):
    """One partition of a request that a broker has answered."""

    client: str
    api: str
    took: int  # ms, waiting included
    partition: int
    offset: int
    bytes: int
    request: int  # its number among the cluster's events


@contextmanager
def traced(cluster: Cluster, topic: str) -> Iterator[list[TracedPartition]]:
    """Afterwards, the requests about a topic that brokers have served meanwhile."""
    found: list[TracedPartition] = []
    after = max((each.number for each in cluster.events()), default=0)
    cluster.trace()
    try:
        yield found
    finally:
        requests = [each for each in cluster.events(after) if each.kind == "request"]
        cluster.trace(False)
        for request in requests:
            facts = request.data
            for row in facts.get("partitions", ()):
                if row.get("topic") == topic:
                    who = facts["client"], facts["api"], facts["took"]
                    place = row["partition"], row.get("offset", -1), row.get("bytes", 0)
                    found.append(TracedPartition(*who, *place, request.number))
