"""Topics and partitions, as they lie about: folders, nodes of ZooKeeper, leaders."""

import json
import logging
from collections import Counter
from contextlib import closing
from datetime import timedelta
from pathlib import Path

from kazoo.client import KazooClient
from kio.schema.produce.v9.request import PartitionProduceData, ProduceRequest, TopicProduceData

from engine import Cluster
from engine.client.admin.values import NewPartitions
from engine.client.connection import Address, Connection
from engine.client.values import KafkaException
from engine.errors import ErrorCode
from engine.model import TopicPartition
from engine.wire.apis import Api
from storage import disk, real

QUIET = logging.getLogger("storage.topics")  # a cluster that is stopped is no news
QUIET.addHandler(logging.NullHandler())
QUIET.propagate = False


def refused(cluster: Cluster, topic: str) -> str:
    """What a broker answers to a Produce request for a topic that nobody has made."""
    data = PartitionProduceData(index=0, records=disk.batch())
    request = ProduceRequest(
        transactional_id=None,
        acks=-1,
        timeout=timedelta(seconds=10),
        topic_data=(TopicProduceData(name=topic, partition_data=(data,)),),
    )
    with Connection(Address.parse(cluster.bootstrap.split(",")[0])) as connection:
        answer = connection.ask(Api.PRODUCE, request)
    return ErrorCode(answer.responses[0].partition_responses[0].error_code).name


def folders(cluster: Cluster, topic: str) -> dict[int, list[str]]:
    """By broker: the partition folders of a topic that lie in its directory."""
    return {
        broker: disk.names(cluster.directory(broker), f"{topic}-[0-9]*")
        for broker in cluster.brokers
    }


def assigned(cluster: Cluster, topic: str) -> dict[int, list[str]]:
    """The same as ZooKeeper has it: from the topic's node."""
    with closing(KazooClient(cluster.zookeeper, logger=QUIET)) as keeper:
        keeper.start()
        told = json.loads(keeper.get(f"/brokers/topics/{topic}")[0])["partitions"]
        keeper.stop()
    return {
        broker: sorted(f"{topic}-{it}" for it, brokers in told.items() if broker in brokers)
        for broker in cluster.brokers
    }


def groups(folder: Path) -> dict[str, set[str]]:
    """By base name: the endings of a folder's segment files."""
    found: dict[str, set[str]] = {}
    for name in disk.names(folder, "[0-9]*"):
        base, _, ending = name.partition(".")
        found.setdefault(base, set()).add(ending)
    return found


def number(cluster: Cluster, topic: str) -> int:
    """Of partitions, as brokers tell clients."""
    return len(cluster.admin.list_topics(topic).topics[topic].partitions)


def created(cluster: Cluster, name: str, partitions: int = -1) -> str:
    """A topic with a number of partitions, or without saying one."""
    return real.topic(cluster, name, partitions, -1)


def accepts(cluster: Cluster, topic: str, **config: int) -> bool:
    """Whether a broker takes these settings for a topic."""
    try:
        real.configure(cluster, topic, **config)
    except KafkaException:
        return False
    return True


def resized(cluster: Cluster, topic: str, partitions: int) -> str:
    """What comes of asking for another number of partitions."""
    asked = cluster.admin.create_partitions([NewPartitions(topic, partitions)])[topic]
    try:
        asked.result()
    except KafkaException as error:
        return str(error.args[0].name())
    wait_for_leaders(cluster, topic, partitions)
    return "done"


def wait_for_leaders(cluster: Cluster, topic: str, partitions: int) -> None:
    real.until(
        f"leaders for {topic}",
        lambda: number(cluster, topic) == partitions and all(map(bool, _leaders(cluster, topic))),
    )


def _leaders(cluster: Cluster, topic: str) -> list[int]:
    state = cluster.state()
    count = number(cluster, topic)
    found = (state.partitions.get(TopicPartition(topic, it)) for it in range(count))
    return [it.leader if it and it.leader > 0 else 0 for it in found]


def leaders(cluster: Cluster, topic: str) -> dict[int, int]:
    """By broker: how many partitions of a topic it leads."""
    wait_for_leaders(cluster, topic, number(cluster, topic))
    found = Counter(_leaders(cluster, topic))
    return {broker: found[broker] for broker in cluster.brokers}


def sizes(cluster: Cluster, topic: str) -> dict[int, int]:
    """By broker: the bytes of a topic that it has on its disk."""
    return {
        broker: sum(
            path.stat().st_size
            for folder in cluster.directory(broker).glob(f"{topic}-[0-9]*")
            for path in folder.glob("*.log")
        )
        for broker in cluster.brokers
    }


def readers(cluster: Cluster, topic: str, members: int = 3) -> int:
    """How many members of a group are given something to read."""
    group = f"readers of {topic} {number(cluster, topic)}"
    consumers = [cluster.consumer({"group.id": group}) for _ in range(members)]
    try:
        for each in consumers:
            each.subscribe([topic])

        def shares() -> list[int]:
            for each in consumers:
                each.poll(0.05)
            return [len(each.assignment()) for each in consumers]

        def settled() -> list[int]:
            known = cluster.state().groups.get(group)
            found = shares()
            whole = sum(found) == number(cluster, topic)
            steady = known is not None and len(known.members) == members
            return found if whole and steady and known and known.state == "Stable" else []

        return sum(it > 0 for it in real.until(f"shares of {topic}", settled))
    finally:
        for each in consumers:
            each.close()
