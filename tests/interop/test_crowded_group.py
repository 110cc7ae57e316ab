"""More members than partitions: the rest have nothing to do, and nobody comes to harm by it."""

import pytest

from tests.interop import readers
from tests.interop.readers import SOON
from tests.interop.watch import until

CONFIG = readers.CONFIG | {"num.partitions": "5"}
MEMBERS, PARTITIONS = 10, 5


@pytest.mark.parametrize("strategy", ["range", "roundrobin", "sticky", "cooperative-sticky"])
def test_ten_members_share_five_partitions(cluster, strategy):
    topic = f"five-{strategy}"
    cluster.admin.create_topic(topic, partitions=PARTITIONS)
    produce = readers.producing(cluster)
    read: list[bytes] = []

    def poll():
        for member in members:
            for message in member.consume(100, 0.01):
                assert message.error() is None, message.error()
                read.append(message.value())
        return sorted(len(member.assignment()) for member in members)

    with readers.consumers(cluster) as make:
        settings = {"partition_assignment_strategy": strategy, "heartbeat_interval_ms": 100}
        members = [make(group_id=f"crowd-{strategy}", **settings) for _ in range(MEMBERS)]
        for member in members:
            member.subscribe([topic])
        until(lambda: poll() == [0] * (MEMBERS - PARTITIONS) + [1] * PARTITIONS, SOON)
        owned = [each.partition for member in members for each in member.assignment()]
        assert sorted(owned) == list(range(PARTITIONS))

        for partition in range(PARTITIONS):
            produce(topic, *(b"%d-%d" % (partition, n) for n in range(20)), partition=partition)
        wanted = {b"%d-%d" % (partition, n) for partition in range(PARTITIONS) for n in range(20)}
        until(lambda: poll() and set(read) == wanted, SOON)

        # One that worked goes: one that waited takes its place.
        worker = next(member for member in members if member.assignment())
        members.remove(worker)
        worker.close()
        until(lambda: poll() == [0] * (MEMBERS - PARTITIONS - 1) + [1] * PARTITIONS, SOON)
