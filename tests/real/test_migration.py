"""Kafka 3.9.1 goes from ZooKeeper to KRaft while a producer writes with acks=all.

The run is the one that lab 10 shows as a recording (labs/recorded/migration.py).
"""

import importlib
import json
import sys

import pytest

from tests.labs.reader import LABS
from tests.real.jars import KRAFT, check

PRE_MIGRATION, MIGRATION, POST_MIGRATION = 2, 1, 3
TOPICS = {"orders", "teas", "pots", "cups"}


@pytest.fixture(scope="module", autouse=True)
def kraft_is_here():
    check(KRAFT)


@pytest.fixture(scope="module")
def migrated(tmp_path_factory):
    """The cluster after the last step, its clients done."""
    sys.path.insert(0, str(LABS))
    try:
        migrating = importlib.import_module("recorded.migrating")
        migration = importlib.import_module("recorded.migration")
    finally:
        sys.path.remove(str(LABS))
    folder = tmp_path_factory.mktemp("migration")
    with migrating.MigratingCluster(folder) as cluster:
        cluster.topic("orders", partitions=2)
        cluster.write("orders")
        migration.migrate(cluster)
        cluster.stop_writing()
        yield cluster


def owners(cluster, path, key):
    """Whom a znode has named, one after another."""
    found = []
    for change in cluster.znodes.changes():
        if change.path == path and change.znode is not None:
            name = json.loads(change.znode.data)[key]
            found += [name] if found[-1:] != [name] else []
    return found


def test_no_acknowledged_record_is_lost(migrated):
    assert len(migrated.acknowledged) > 100
    assert migrated.refused == []
    found = migrated.read("orders", len(migrated.acknowledged))
    assert {*migrated.acknowledged} <= {*found}


def test_the_log_tells_the_phases(migrated):
    assert migrated.migration_states() == [PRE_MIGRATION, MIGRATION, POST_MIGRATION]
    registrations = [it for it in migrated.log.entries() if it.record == "RegisterBrokerRecord"]
    was = [(it.fields["brokerId"], it.fields["isMigratingZkBroker"]) for it in registrations]
    assert {*was[:3]} == {(1, True), (2, True), (3, True)}
    assert [it for it in was if not it[1]] == [(1, False), (2, False), (3, False)]


def test_two_controllers_take_the_tree_one_after_the_other(migrated):
    first, second = (it for it in owners(migrated, "/migration", "kraft_controller_id") if it > 0)
    broker, *quorum = owners(migrated, "/controller", "brokerid")
    assert broker in (1, 2, 3)
    assert quorum == [first, second]


def test_each_topic_is_a_znode_but_for_the_one_created_after_the_end(migrated):
    records = {it.fields["name"] for it in migrated.log.entries() if it.record == "TopicRecord"}
    assert records - {"__consumer_offsets"} == TOPICS
    assert [name for name in sorted(TOPICS) if not migrated.znode(f"/brokers/topics/{name}")] == [
        "cups"
    ]
