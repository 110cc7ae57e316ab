"""A Kafka-compatible broker engine, small enough to read in a weekend.

docs/weekend.md names the files that carry all of Kafka's ideas, in reading order. The packages,
from the bottom up: `wire` and `storage` (bytes on the network and on the disk), `replication`,
`controller` and `coordinator` (what decides, without a socket or a clock), `broker` and `client`
(what does it), `cluster`, `cli`, `streams` and `sim`. Imports point down only.

    from engine import Cluster, Simulation

    with Cluster(brokers=3) as cluster:         real processes and a real ZooKeeper
        cluster.kill(1)

    sim = Simulation(brokers=3)                 the same code, in simulated time
    sim.kill(1)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.client.admin.client import AdminClient
    from engine.client.consumer import Consumer
    from engine.client.producer import Producer
    from engine.client.values import KafkaError, KafkaException, TopicPartition
    from engine.cluster.cluster import Cluster
    from engine.sim.simulation import Simulation
    from engine.table import Table

__all__ = [
    "AdminClient",
    "Cluster",
    "Consumer",
    "KafkaError",
    "KafkaException",
    "Producer",
    "Simulation",
    "Table",
    "TopicPartition",
    "__version__",
]

__version__ = "0.1.0"

_HOME = {
    "AdminClient": "engine.client.admin.client",
    "Cluster": "engine.cluster.cluster",
    "Consumer": "engine.client.consumer",
    "KafkaError": "engine.client.values",
    "KafkaException": "engine.client.values",
    "Producer": "engine.client.producer",
    "Simulation": "engine.sim.simulation",
    "Table": "engine.table",
    "TopicPartition": "engine.client.values",
}


def __getattr__(name: str) -> Any:
    """What stands at the top is fetched from below when it is asked for: a broker needs none."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
