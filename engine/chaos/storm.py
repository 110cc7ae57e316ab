"""What is done to a real cluster, in an order that a seed decides.

    storm = Storm(cluster, seed)
    storm.harm()      one fault, of a broker that is up
    storm.heal()      nobody is cut off, paused or dead any more

The seed decides what is done, and not what comes of it: how far the clients are by then is the
machine's doing. So a run cannot be replayed to the last event, as those of the simulator can.
"""

from collections.abc import Callable
from random import Random

from engine.cluster.cluster import Cluster


def kill(cluster: Cluster, broker: int, other: int) -> None:
    cluster.kill(broker)


def stop(cluster: Cluster, broker: int, other: int) -> None:
    cluster.stop_broker(broker)


def pause(cluster: Cluster, broker: int, other: int) -> None:
    cluster.pause(broker)


def cut(cluster: Cluster, broker: int, other: int) -> None:
    cluster.cut(broker, other)


def cut_one_way(cluster: Cluster, broker: int, other: int) -> None:
    cluster.cut(broker, other, both=False)


def cut_from_zookeeper(cluster: Cluster, broker: int, other: int) -> None:
    cluster.cut(broker, "zookeeper")


def slow(cluster: Cluster, broker: int, other: int) -> None:
    cluster.slow(broker, other, 400)


def drop_an_answer(cluster: Cluster, broker: int, other: int) -> None:
    cluster.drop_next_answer(broker)


Fault = Callable[[Cluster, int, int], None]
FAULTS: tuple[Fault, ...] = (
    kill, stop, pause, cut, cut_one_way, cut_from_zookeeper, slow, drop_an_answer,
)  # fmt: skip
ALONE = {kill, stop, pause, cut_from_zookeeper, drop_an_answer}  # these need no other end


class Storm:
    def __init__(self, cluster: Cluster, seed: int) -> None:
        self._cluster = cluster
        self._chance = Random(seed)

    def harm(self) -> str:
        """One fault; says which. A broker that is away already is left alone: then it is ""."""
        cluster, fault = self._cluster, self._chance.choice(FAULTS)
        broker = self._chance.choice(cluster.brokers)
        others = [each for each in cluster.brokers if each != broker]
        other = self._chance.choice(others) if others else broker
        child = cluster.child(broker)
        if not child.alive or child.paused or (other == broker and fault not in ALONE):
            return ""
        fault(cluster, broker, other)
        words = [fault.__name__.replace("_", " "), f"{broker}"]
        return " ".join(words if fault in ALONE else [*words, f"{other}"])

    def pick(self, least: float, most: float) -> float:
        return self._chance.uniform(least, most)

    def heal(self) -> None:
        heal(self._cluster)


def heal(cluster: Cluster) -> None:
    """Nobody is cut off, paused or dead."""
    cluster.heal()
    for broker in cluster.brokers:
        child = cluster.child(broker)
        if not child.alive:
            cluster.restart(broker)
        elif child.paused:
            cluster.resume(broker)
