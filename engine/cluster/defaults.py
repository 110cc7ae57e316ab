"""Settings of the brokers of a small cluster, as in Kafka's quickstart."""


def small(brokers: int) -> dict[str, str]:
    """Fewer than three brokers can't hold three replicas of the offsets and transactions topics;
    and in a lab a group need not wait for more members to join."""
    return {
        "offsets.topic.replication.factor": str(min(3, brokers)),
        "transaction.state.log.replication.factor": str(min(3, brokers)),
        "transaction.state.log.min.isr": str(min(2, brokers)),
        "group.initial.rebalance.delay.ms": "0",
    }
