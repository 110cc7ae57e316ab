"""A Kafka-compatible broker engine, small enough to read in a weekend.

Read it bottom up: `errors` and `model`, then `wire` and `storage` (bytes on the network and on
the disk), then what decides (`replication`, `controller`, `coordinator`), then the shells that
carry the decisions out (`broker`, `client`, `cluster`, `cli`). Imports point down only.

    from engine import Cluster

    with Cluster(brokers=3) as cluster:
        cluster.kill(1)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.client.admin.client import AdminClient
    from engine.client.consumer import Consumer
    from engine.client.producer import Producer
    from engine.client.values import KafkaError, KafkaException, TopicPartition
    from engine.cluster.cluster import Cluster

__all__ = [
    "AdminClient",
    "Cluster",
    "Consumer",
    "KafkaError",
    "KafkaException",
    "Producer",
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
    "TopicPartition": "engine.client.values",
}


def __getattr__(name: str) -> Any:
    """What stands at the top is fetched from below when it is asked for: a broker needs none."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
