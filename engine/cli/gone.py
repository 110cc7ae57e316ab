"""Options that Kafka once had and 2.8 has no longer, and those that we leave out: what to type now.

    console-consumer --zookeeper localhost:2181 --topic orders
    python -m engine: there is no --zookeeper since Kafka 2.0: ...

Books and articles name options of old releases. A command that has lost an option says in one
sentence what replaced it; it does not only say that the option is unknown.
"""

from collections.abc import Iterable

ASK_BROKERS = (
    "there is no --zookeeper since Kafka 2.0, as consumers find everything through the brokers: "
    "give a broker's address, --bootstrap-server HOST:9092, and not ZooKeeper's"
)
ONE_CONSUMER = "there is one consumer since Kafka 2.0, the one that was new then: leave {} out"
OLD_PRODUCER = (
    "{} was an option of the producer before 0.9: give --bootstrap-server, and leave it out"
)
NOT_HERE = "Kafka 2.8 still takes {}, as deprecated; here a broker does it: give --bootstrap-server"

GONE: dict[str, dict[str, str]] = {
    "console-consumer": {
        "--zookeeper": ASK_BROKERS,
        "--new-consumer": ONE_CONSUMER,
        "--old-consumer": ONE_CONSUMER,
        "--blacklist": "there is no {} since Kafka 2.0: name a --topic",
        "--whitelist": "name one --topic: a pattern of topics is left out here",
        "--delete-consumer-offsets": "offsets are not in ZooKeeper any more: consumer-groups "
        "--delete-offsets, or --reset-offsets, changes them",
    },
    "console-producer": {
        "--zookeeper": "no producer has ever asked ZooKeeper: give a broker's address, "
        "--bootstrap-server HOST:9092",
        "--new-producer": OLD_PRODUCER,
        "--old-producer": OLD_PRODUCER,
        "--queue-size": OLD_PRODUCER,
        "--queue-enqueuetimeout-ms": OLD_PRODUCER,
        "--key-serializer": OLD_PRODUCER,
        "--value-serializer": OLD_PRODUCER,
    },
    "consumer-groups": {"--zookeeper": ASK_BROKERS, "--new-consumer": ONE_CONSUMER},
    "reassign-partitions": {"--zookeeper": NOT_HERE},
    "acls": {"--authorizer-properties": NOT_HERE, "--authorizer": NOT_HERE},
    "leader-election": {
        "--zookeeper": "a broker elects leaders since Kafka 2.4: give --bootstrap-server, and "
        "--election-type preferred --all-topic-partitions"
    },
}


def sentence(command: str, arguments: Iterable[str]) -> str:
    """What replaced the first of these arguments that is gone; "" if none is."""
    known = GONE.get(command, {})
    for argument in arguments:
        option = argument.partition("=")[0]
        if option in known:
            return known[option].format(option)
    return ""
