"""Apache Kafka 3.9.1 goes from ZooKeeper to KRaft, while a producer writes with acks=all.

 0 s   ZooKeeper and three brokers, which know of controllers that are not there yet
 3 s   three controllers start      the leader takes /controller and /migration, and copies the
                                    tree into its log: MIGRATION
       a topic is created           a record, and then a znode: dual writes
20 s   that leader is killed        another one takes both znodes, and goes on
35 s   the brokers are restarted    one by one, as brokers of KRaft
75 s   the controllers, too         without the migration: POST_MIGRATION, and no way back
90 s   ZooKeeper is stopped         nobody notices; a topic is a record, and no znode
"""

import tempfile
from pathlib import Path

from lab import until

from engine.cluster.kraft.metadata_log_reader import LOG_TRACK
from engine.cluster.recording import Recorder
from recorded.migrating import BROKERS, CONTROLLERS, MigratingCluster

TOPICS = "orders", "teas", "pots"
MIGRATION, POST_MIGRATION = 1, 3  # as ZkMigrationState has them


def play(path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder, MigratingCluster(Path(folder)) as cluster:
        cluster.topic("orders", partitions=2)
        until("all in sync", lambda: cluster.in_sync("orders"))
        tracks = {"znodes": cluster.znodes.track(), LOG_TRACK: cluster.log.track()}
        with Recorder(path, cluster.state, cluster.events, tracks):
            cluster.write("orders")
            migrate(cluster)
            cluster.stop_writing()
        found = cluster.read("orders", len(cluster.acknowledged))
        lost = {*cluster.acknowledged} - {*found}
        assert not lost, f"acknowledged, and not there: {sorted(lost)}"
        assert not cluster.refused, cluster.refused


def migrate(cluster: MigratingCluster) -> None:
    """From the first controller to the last request without ZooKeeper."""
    beat(cluster)
    cluster.step("three controllers start, with the migration enabled", "controllers")
    cluster.start_controllers()
    until("the migration", lambda: cluster.migration_states()[-1:] == [MIGRATION])
    until("a mark in ZooKeeper", lambda: cluster.znode("/migration"))
    beat(cluster)
    cluster.step("a topic is created: by the quorum, and in ZooKeeper, too", "dual write")
    cluster.topic("teas")
    until("its znode", lambda: cluster.znode("/brokers/topics/teas"))
    beat(cluster)
    leader = cluster.leader()
    cluster.step("the leader of the quorum is killed, in the middle of the migration", "kill")
    cluster.kill_controller(leader)
    until("another one in ZooKeeper", lambda: migrates(cluster) not in (leader, -1))
    cluster.topic("pots")
    until("its znode", lambda: cluster.znode("/brokers/topics/pots"))
    cluster.restart_controller(leader)
    beat(cluster)
    cluster.step("brokers are restarted, one by one, without ZooKeeper", "brokers")
    for id in BROKERS:
        cluster.leave_zookeeper(id)
        until("all in sync", lambda: all(map(cluster.in_sync, TOPICS)))
    beat(cluster)
    cluster.step("controllers are restarted without the migration: no way back", "finalise")
    leader = cluster.leader()
    for id in sorted(CONTROLLERS, key=lambda id: id == leader):
        cluster.finalize(id)
    until("the end", lambda: cluster.migration_states()[-1:] == [POST_MIGRATION])
    beat(cluster)
    cluster.step("ZooKeeper is stopped, and nobody needs it", "no ZooKeeper")
    cluster.end_zookeeper()
    cluster.topic("cups")
    until("cups in sync", lambda: cluster.in_sync("cups"))
    beat(cluster)


def migrates(cluster: MigratingCluster) -> int:
    """The controller that writes to ZooKeeper; -1: none."""
    return int((cluster.znode("/migration") or {}).get("kraft_controller_id", -1))


def beat(cluster: MigratingCluster) -> None:
    """What goes on can be watched: so many records are acknowledged meanwhile."""
    wanted = len(cluster.acknowledged) + 10
    until("records that are acknowledged", lambda: len(cluster.acknowledged) >= wanted)
