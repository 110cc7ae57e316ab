"""A Kafka-compatible broker engine, small enough to read in a weekend.

docs/weekend.md names the files that carry all of Kafka's ideas, in reading order. The packages,
from the bottom up: `wire` and `storage` (bytes on the network and on the disk), `replication`,
`controller` and `coordinator` (what decides, without a socket or a clock), `broker` and `client`
(what does it), `cluster`, `cli` and `sim`. Imports point down only.

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
    from engine.client.listener.ack_mode import AckMode
    from engine.client.listener.application import application_settings
    from engine.client.listener.container import Acknowledgment, ListenerContainer
    from engine.client.listener.start_offset import PartitionOffset
    from engine.client.producer import Producer
    from engine.client.values import KafkaError, KafkaException, TopicPartition
    from engine.cluster.cluster import Cluster
    from engine.cluster.scripts.kafka_home import KafkaHome
    from engine.sim.simulation import Simulation
    from engine.table import Table

__version__ = "0.1.0"

_HOME = {
    "AckMode": "engine.client.listener.ack_mode",
    "Acknowledgment": "engine.client.listener.container",
    "AdminClient": "engine.client.admin.client",
    "Cluster": "engine.cluster.cluster",
    "Consumer": "engine.client.consumer",
    "KafkaError": "engine.client.values",
    "KafkaException": "engine.client.values",
    "KafkaHome": "engine.cluster.scripts.kafka_home",
    "ListenerContainer": "engine.client.listener.container",
    "PartitionOffset": "engine.client.listener.start_offset",
    "Producer": "engine.client.producer",
    "Simulation": "engine.sim.simulation",
    "Table": "engine.table",
    "TopicPartition": "engine.client.values",
    "application_settings": "engine.client.listener.application",
}

__all__ = [
    "AckMode",
    "Acknowledgment",
    "AdminClient",
    "Cluster",
    "Consumer",
    "KafkaError",
    "KafkaException",
    "KafkaHome",
    "ListenerContainer",
    "PartitionOffset",
    "Producer",
    "Simulation",
    "Table",
    "TopicPartition",
    "__version__",
    "application_settings",
]


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: a broker process uses none of them."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
