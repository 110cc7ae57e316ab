"""Groups of different clients: they agree on a strategy, and read every record between them.

Whoever is there first leads, as long as it stays. kafka-python is not made to lead where members
have to remember (its sticky user data are not what others write).
"""

from itertools import count

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions

from tests.interop.crew import crew

PARTITIONS = 6
CONFIG = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "offsets.topic.num.partitions": "1",
}
OURS, CONFLUENT, KAFKA_PYTHON, AIOKAFKA = "ours", "confluent", "kafka-python", "aiokafka"


_numbers = count()


@pytest.fixture
def topic(cluster):
    """Known, with its leaders: kafka-python may overlook partitions that come while it assigns."""
    name = f"mixed-{next(_numbers)}"
    cluster.admin.create_topic(name, partitions=PARTITIONS)
    return name


# Who comes first leads, and assigns: here two kinds of stock client do it once; the long ones are
# more of the same. A mixed cooperative group is in tests/cluster/test_groups_faults.py.
GROUPS = [
    ("range", [KAFKA_PYTHON, OURS, CONFLUENT]),
    ("sticky", [AIOKAFKA, OURS, OURS]),
]
MORE = [
    ("cooperative-sticky", [CONFLUENT, OURS, OURS]),
    ("roundrobin", [OURS, CONFLUENT, KAFKA_PYTHON, AIOKAFKA]),
    ("range", [OURS, CONFLUENT, KAFKA_PYTHON, AIOKAFKA]),
    ("roundrobin", [AIOKAFKA, OURS, OURS]),
    ("sticky", [OURS, KAFKA_PYTHON, AIOKAFKA, OURS]),
    ("cooperative-sticky", [OURS, CONFLUENT, KAFKA_PYTHON, OURS]),
]


@pytest.mark.parametrize(
    ("strategy", "clients"),
    [*GROUPS, *(pytest.param(*each, marks=pytest.mark.long) for each in MORE)],
    ids=lambda it: it if isinstance(it, str) else "-".join(it),
)
def test_they_share_a_topic_and_lose_one_of_them(cluster, topic, tmp_path, strategy, clients):
    with crew(cluster.bootstrap, topic, PARTITIONS, tmp_path) as group:
        leader = group.join(clients[0], strategy)
        group.settle()
        others = [group.join(each, strategy) for each in clients[1:]]
        group.settle()
        group.kill(others[0])
        group.settle()
        group.leave(others[1])
        group.settle()
        group.join(OURS, strategy)
        group.settle()
        assert leader in group.members
        group.judge()


BACKWARDS = pytest.param([CONFLUENT, OURS], marks=pytest.mark.long)


@pytest.mark.parametrize("clients", [[OURS, CONFLUENT], BACKWARDS], ids="-".join)
def test_the_leader_sees_more_partitions_and_all_share_them(cluster, topic, tmp_path, clients):
    with crew(cluster.bootstrap, topic, PARTITIONS, tmp_path) as group:
        for each in clients:
            group.join(each, "range")
            group.settle()
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
        admin.create_partitions([NewPartitions(topic, PARTITIONS + 2)])[topic].result()
        group.shared = [f"{topic}-{number}" for number in range(PARTITIONS + 2)]
        group.settle()
        group.judge()


def test_a_new_topic_that_matches_is_shared_by_all(cluster, client, topic, tmp_path):
    with crew(cluster.bootstrap, topic, PARTITIONS, tmp_path) as group:
        for each in (OURS, CONFLUENT):
            group.join(each, "range", pattern=f"^{topic}")
            group.settle()
        assert client.create(f"{topic}-too", partitions=2) == 0
        group.shared += [f"{topic}-too-0", f"{topic}-too-1"]
        group.settle()
        group.judge()
