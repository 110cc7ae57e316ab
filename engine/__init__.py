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
    from engine.client.admin.client import AdminClient as AdminClient
    from engine.client.consumer import Consumer as Consumer
    from engine.client.listener.ack_mode import AckMode as AckMode
    from engine.client.listener.application import application_settings as application_settings
    from engine.client.listener.container import Acknowledgment as Acknowledgment
    from engine.client.listener.container import ListenerContainer as ListenerContainer
    from engine.client.listener.start_offset import PartitionOffset as PartitionOffset
    from engine.client.producer import Producer as Producer
    from engine.client.values import KafkaError as KafkaError
    from engine.client.values import KafkaException as KafkaException
    from engine.client.values import TopicPartition as TopicPartition
    from engine.cluster.cluster import Cluster as Cluster
    from engine.cluster.scripts.kafka_home import KafkaHome as KafkaHome
    from engine.sim.simulation import Simulation as Simulation
    from engine.table import Table as Table

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

__all__ = ["__version__"]
__all__ += list(_HOME)


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: a broker process uses none of them."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
