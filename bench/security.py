"""What security costs: python -m bench.security.

    open            neither, as a measure
    authorizer      with access control lists that let the client write and read
    SASL            SASL_PLAINTEXT: an exchange when a client connects, nothing after it
    TLS             records are encrypted, and no file is sent by the kernel alone
    Kafka, TLS      the same step for Apache Kafka 2.8, where its jars are (`make real`)

Rates as shares of the open cluster's, each taken within one round, the median of the rounds; above
0.9 is the goal for the authorizer, 1 for SASL, and for TLS what Kafka has. Last, how many
connections logged in and were open at once.
"""

import argparse
from contextlib import ExitStack
from statistics import median

from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from bench.peers.kafka import KafkaPeer
from bench.peers.peer import Load, Size
from bench.rounds import recycle
from bench.table import number, table
from engine import Cluster
from engine.client.address import Address
from engine.client.raw_connection import RawConnection
from engine.cluster.kafka_process import KAFKA
from engine.cluster.single_requests import Body
from engine.errors import ApiException
from engine.wire.apis import Api

USERS = {"alice": "her password"}
AUTHORIZER = {
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "allow.everyone.if.no.acl.found": "true",  # the topics of the benchmark have a list
}
LIST = AclBinding(
    *(ResourceType.TOPIC, "bench", ResourcePatternType.PREFIXED, "User:ANONYMOUS", "*"),
    *(AclOperation.ALL, AclPermissionType.ALLOW),
)
LOADS = ("produce", "consume")
METADATA = Body(
    topics=(),
    allow_auto_topic_creation=False,
    include_cluster_authorized_operations=False,
    include_topic_authorized_operations=False,
)


class OnBroker(KafkaPeer):
    """A client of one broker of a cluster: each topic is there."""

    name = "one broker"

    def __init__(self, cluster: Cluster, broker: int) -> None:
        self._cluster, self._broker = cluster, broker
        self.bootstrap = cluster.bootstrap
        secured = bool(cluster.security_settings)
        self.security = cluster.settings("alice") if secured else self.security

    def start(self, home: object) -> None:
        """The cluster runs already."""

    def stop(self) -> None:
        """It is stopped with the others."""

    def new_topic(self) -> str:
        return self._cluster.topic("bench", replicas=[self._broker])

    def loads(self, size: Size) -> dict[str, Load]:
        return {name: load for name, load in super().loads(size).items() if name in LOADS}


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.security", description=__doc__.split("\n")[0])
    parser.add_argument("--records", type=int, default=200_000, metavar="N")
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    parser.add_argument("--connections", type=int, default=500, metavar="N")
    options = parser.parse_args()
    with ExitStack() as stack:
        rows = shares(opened(stack), Size(records=options.records), options.rounds)
    print(table(["", *LOADS], rows))
    print(f"{connected(options.connections)} connections with SASL_SSL at once")


def opened(stack: ExitStack) -> dict[str, OnBroker]:
    """The clients, by the names of their rows, the open one first."""
    plain = stack.enter_context(Cluster())
    guarded = stack.enter_context(Cluster(config=AUTHORIZER))
    sasl = stack.enter_context(Cluster(security="SASL_PLAINTEXT", users=USERS))
    tls = stack.enter_context(Cluster(security="SSL", users=USERS))
    admin = AdminClient({"bootstrap.servers": guarded.bootstrap})
    for future in admin.create_acls([LIST]).values():
        future.result(30)
    found = {
        "open": OnBroker(plain, 1),
        "authorizer": OnBroker(guarded, 1),
        "SASL": OnBroker(sasl, 1),
        "TLS": OnBroker(tls, 1),
    }
    try:
        found |= {
            "Kafka, open": OnBroker(plain, plain.add_broker(KAFKA)),
            "Kafka, TLS": OnBroker(tls, tls.add_broker(KAFKA)),
        }
    except ApiException as error:
        print(f"Without Kafka: {error.message}")
    return found


def shares(clients: dict[str, OnBroker], size: Size, rounds: int) -> list[list[str]]:
    """The rate of each as a share of the open broker's of its kind, in rows of the table."""
    spent: dict[str, list[dict[str, float]]] = {name: [] for name in clients}
    for _ in range(rounds + 1):  # the first warms up
        for name, client in clients.items():
            recycle(2 * size.records * 200)
            spent[name].append({load: run() for load, run in client.loads(size).items()})
    rows = []
    for name, those in spent.items():
        base = spent["Kafka, open" if name.startswith("Kafka") else "open"]
        found = (
            median(one[load] / other[load] for one, other in zip(base[1:], those[1:], strict=True))
            for load in LOADS
        )
        if not name.endswith("open"):
            rows.append([name, *map(number, found)])
    return rows


def connected(wanted: int) -> int:
    """How many connections are answered while all the others are open."""
    with ExitStack() as stack:
        cluster = stack.enter_context(Cluster(security="SASL_SSL", users=USERS))
        address, security = Address.parse(cluster.bootstrap), cluster.settings("alice")
        opened = [
            stack.enter_context(RawConnection(address, f"client-{at}", security))
            for at in range(wanted)
        ]
        for each in opened:
            each.send(Api.METADATA, METADATA)
        answers = [each.receive() for each in opened]
        (broker,) = cluster.state().brokers.values()
        assert len(answers) == wanted <= broker.connections, broker
        return len(answers)


if __name__ == "__main__":
    main()
