"""Settings of the nodes of a small cluster on one machine, as in Kafka's quickstart."""

from collections.abc import Mapping

from engine.config.broker import BrokerConfig
from engine.config.quorum import QuorumKeys

KRAFT = "kraft"  # `metadata` of a cluster without ZooKeeper

# Controllers on one machine need not wait a second, as Kafka's do, before they elect a leader.
QUORUM = {"controller.quorum.election.timeout.ms": "300"}

# A busy machine may let ZooKeeper's first answer wait for longer than a short session lasts.
ZOOKEEPER = {"zookeeper.connection.timeout.ms": "18000"}


def small(brokers: int) -> dict[str, str]:
    """Fewer than three brokers can't hold three replicas of the offsets and transactions topics;
    and in a lab a group need not wait for more members to join."""
    return {
        "offsets.topic.replication.factor": str(min(3, brokers)),
        "transaction.state.log.replication.factor": str(min(3, brokers)),
        "transaction.state.log.min.isr": str(min(2, brokers)),
        "group.initial.rebalance.delay.ms": "0",
    }


def without_quorum(settings: Mapping[str, str]) -> dict[str, str]:
    """The keys of a cluster, for brokers with ZooKeeper: without those of nodes of a quorum."""
    others = QuorumKeys.known().keys() - BrokerConfig.known().keys()
    return {key: text for key, text in settings.items() if key not in others}
