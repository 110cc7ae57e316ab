"""A cluster without ZooKeeper as a whole: its controllers die, are cut off, and come back."""

import pytest

from engine.cli.main import FAILED, USAGE, main
from engine.client.admin.values import NewTopic
from engine.client.values import TopicPartition
from engine.cluster.cluster import Cluster
from engine.cluster.recording import Recording
from engine.cluster.state import Status
from engine.errors import ApiException
from engine.raft.metadata_directory import METADATA_PARTITION
from proof.chaos.run import OF_KRAFT
from tests.interop.watch import until
from tests.limits import START_S

CONFIG = OF_KRAFT | {"min.insync.replicas": "2", "replica.lag.time.max.ms": "2000"}
BRIEF_S = 1.5  # without a majority, for a request that could be answered at once


@pytest.fixture(scope="module")
def kraft():
    with Cluster(3, metadata="kraft", config=CONFIG) as cluster:
        yield cluster


@pytest.fixture(autouse=True)
def mended(kraft):
    yield
    kraft.mend()
    logs = [kraft.directory(it) / "broker.log" for it in kraft.brokers]
    logs += [kraft.directory(it) / "controller.log" for it in kraft.metadata_servers]
    for log in logs:
        assert "Traceback" not in log.read_text(), log


def active(cluster):
    """The name of the active controller, once there is one."""
    node = until(lambda: max(cluster.state().controller, 0))
    return f"controller-{node - 100}"


def agreed(cluster):
    """The state, once each controller answers, and says the same of who leads."""
    state = cluster.state()
    nodes = state.controllers.values()
    same = all(it.answers for it in nodes) and {it.leader for it in nodes} == {state.controller}
    return state if same else None


def metadata_logs(cluster):
    return [
        b"".join(it.read_bytes() for it in sorted(directory.glob("*.log")))
        for name in cluster.metadata_servers
        for directory in [cluster.directory(name) / str(METADATA_PARTITION)]
    ]


def test_there_is_no_zookeeper_and_a_sentence_says_so(kraft):
    assert kraft.zookeepers == [] and kraft.controllers.startswith("101@127.0.0.1:")
    for ask in (lambda: kraft.znode("/controller"), kraft.znodes, lambda: kraft.zookeeper):
        with pytest.raises(ApiException, match="this cluster has no ZooKeeper"):
            ask()
    names = {it.name for it in (kraft.data / "bin").iterdir()}
    assert "kafka-metadata-quorum.sh" in names and "zookeeper-server-start.sh" not in names


def test_the_state_events_and_a_recording_have_the_quorum(kraft, tmp_path):
    path = tmp_path / "run.jsonl"
    recorder = kraft.record(path)
    first = active(kraft)
    kraft.kill(first)
    found = kraft.state()
    assert [it.status for it in found.controllers.values()].count(Status.DOWN) == 1
    assert active(kraft) != first
    kraft.restart(first)
    state = until(lambda: agreed(kraft))
    recorder.stop()
    assert {it.voters for it in state.controllers.values()} == {(101, 102, 103)}
    assert state.controllers[state.controller].registered == (1, 2, 3)
    kinds = {event.kind for event in kraft.events()}
    assert kinds >= {"quorum.leader", "controller.killed", "broker.registered", "broker.unfenced"}
    *_, last = Recording.load(path)
    assert last.controllers.keys() == state.controllers.keys()


def test_a_write_does_not_wait_for_a_broker_that_has_stopped_in_order():
    """It fetched when it was stopped, and by that alone it would count for ten minutes."""
    config = {"replica.lag.time.max.ms": "600000"}
    with Cluster(3, metadata="kraft", controllers=1, config=config) as cluster:
        topic = cluster.topic("calm", replicas=[1, 2, 3])
        cluster.write(topic, ["before"], acks="all")
        cluster.stop_broker(3)
        cluster.write(topic, ["after"], acks="all")
        assert cluster.isr(topic) == (1, 2)
        assert cluster.read(topic) == ["before", "after"]


def test_the_active_controller_dies_and_topics_are_created_as_before(kraft):
    kraft.topic("before")
    first = active(kraft)
    kraft.kill(first)
    after = kraft.topic("after")
    assert kraft.write(after, ["a"], acks="all") == [0]
    kraft.restart(first)
    until(lambda: len(set(metadata_logs(kraft))) == 1)


def test_idle_partitions_move(kraft):
    """New replicas hear of it from the log, some of them before the leader; nothing is written
    that would make a leader look at them again."""
    for number in range(20):
        name = kraft.topics.create(f"idle-{number}", partitions=1, replicas=1)
        where = {TopicPartition(name, 0): [3, 2]}
        for moved in kraft.admin.alter_partition_reassignments(where).values():
            moved.result(START_S)
        until(lambda: kraft.admin.list_partition_reassignments().result(START_S) == {})


def test_without_a_majority_records_are_written_and_nothing_is_decided(kraft):
    topic = kraft.topic("orders")
    away = ["controller-1", "controller-2"]
    for name in away:
        kraft.kill(name)
    assert kraft.write(topic, ["a", "b"], acks="all") == [0, 1]
    (asked,) = kraft.admin.create_topics([NewTopic("nobody-decides", 1, 3)]).values()
    with pytest.raises(TimeoutError):
        asked.result(BRIEF_S)
    for name in away:
        kraft.restart(name)
    assert set(kraft.isr(kraft.topic("later"))) == {1, 2, 3}


def test_a_broker_that_is_cut_off_from_the_controllers_is_fenced_and_comes_back(kraft):
    topic = kraft.topic("orders", replicas=[1, 2, 3])
    kraft.cut(1, "controllers")
    until(lambda: kraft.leader(topic) in (2, 3))
    until(lambda: kraft.state().brokers[1].fenced)
    assert kraft.write(topic, ["a"], acks="all") == [0]
    kraft.heal()
    until(lambda: set(kraft.isr(topic)) == {1, 2, 3}, START_S)


def test_a_controller_that_is_cut_off_leads_no_more(kraft):
    first = active(kraft)
    kraft.cut(first, "controllers")
    until(lambda: active(kraft) != first)
    kraft.heal()
    until(lambda: len({it.leader for it in kraft.state().controllers.values()}) == 1)


@pytest.mark.parametrize("controllers", [3, pytest.param(0, marks=pytest.mark.advanced)])
def test_what_was_there_is_there_after_another_start(tmp_path, controllers):
    shared = {"metadata": "kraft", "controllers": controllers, "config": CONFIG}
    with Cluster(3, data=tmp_path, **shared) as cluster:
        topic = cluster.topic("orders")
        cluster.write(topic, ["a", "b"], acks="all")
    with Cluster(3, data=tmp_path, **shared) as cluster:
        assert cluster.read(topic) == ["a", "b"]
        leader = cluster.leader(topic)
        cluster.kill(leader)
        assert cluster.write(topic, ["c"], acks="all") == [2]


def test_directories_of_another_quorum_are_refused(tmp_path):
    (tmp_path / "controller-3").mkdir()
    with pytest.raises(ApiException, match=r"another quorum \(controller-3\)"):
        Cluster(1, metadata="kraft", controllers=1, data=tmp_path).start()


@pytest.mark.parametrize(("brokers", "other"), [(2, 3), (1, 0), (1, 2)])
def test_a_quorum_with_more_controllers_than_before_is_refused(tmp_path, brokers, other):
    """The new ones have no log: together they would elect a leader without one."""
    shared = {"metadata": "kraft", "data": tmp_path, "config": OF_KRAFT}
    with Cluster(1, controllers=1, **shared) as cluster:
        cluster.write(cluster.topic("orders"), ["a"], acks="all")
    with pytest.raises(ApiException, match=r"another quorum \("):
        Cluster(brokers, controllers=other, **shared).start()
    with Cluster(1, controllers=1, **shared) as cluster:
        assert cluster.read("orders") == ["a"]


def test_combined_nodes_stay_the_voters(tmp_path):
    shared = {"metadata": "kraft", "data": tmp_path, "config": OF_KRAFT}
    with Cluster(1, controllers=0, **shared) as cluster:
        cluster.write(cluster.topic("orders"), ["a"], acks="all")
    with pytest.raises(ApiException, match=r"\(voters 1\).* as before, not 3"):
        Cluster(1, **shared).start()
    with pytest.raises(ApiException, match=r"\(voters 1\).* not 0 in 3 brokers"):
        Cluster(3, controllers=0, **shared).start()
    with Cluster(1, controllers=0, **shared) as cluster:
        assert cluster.read("orders") == ["a"]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"metadata": "raft"}, '"zookeeper" or "kraft"'),
        ({"controllers": 3}, "without ZooKeeper"),
        ({"metadata": "kraft", "controllers": -1}, "not -1"),
        ({"metadata": "kraft", "zookeepers": 3}, "leave it out"),
        ({"metadata": "kraft", "zookeeper": "127.0.0.1:2181"}, "leave it out"),
        ({"metadata": "kraft", "users": {"alice": "a"}}, "users need a security"),
    ],
)
def test_what_a_cluster_cannot_have_is_refused_in_a_sentence(settings, words):
    with pytest.raises(ApiException, match=words):
        Cluster(1, **settings)


@pytest.mark.parametrize("where", ["--bootstrap-server", "--bootstrap-controller"])
def test_the_quorum_is_described_by_a_broker_and_by_a_controller(kraft, where, capsys):
    voters = ",".join(each.partition("@")[2] for each in kraft.controllers.split(","))
    addresses = kraft.bootstrap if where == "--bootstrap-server" else voters
    assert main(["metadata-quorum", where, addresses, "describe", "--status"]) == 0
    assert f"LeaderId:               {kraft.state().controller}\n" in capsys.readouterr().out


def test_the_levels_and_the_id_are_told_and_a_broker_is_forgotten(kraft, capsys):
    def said(*words, code=0):
        assert main([*words]) == code
        return "".join(capsys.readouterr())

    server = "--bootstrap-server", kraft.bootstrap
    known = said("features", *server, "describe").split("\t")
    assert known[:4] == [
        *("Feature: metadata.version", "SupportedMinVersion: 3.0-IV1"),
        *("SupportedMaxVersion: 3.3-IV3", "FinalizedVersionLevel: 3.3-IV3"),
    ]
    change = "features", *server, "downgrade", "--feature", "metadata.version=99", "--dry-run"
    assert said(*change, code=FAILED).startswith("Can not downgrade metadata.version to 99. ")
    assert "1 out of 1 operation(s) failed." in said(*change, code=FAILED)
    id = (kraft.directory(1) / "meta.properties").read_text().partition("cluster.id=")[2]
    assert said("cluster-tool", "cluster-id", *server) == f"Cluster ID: {id.split()[0]}\n"
    stranger = "cluster-tool", "unregister", *server, "--id", "77"
    assert "Broker ID 77 is not currently registered" in said(*stranger, code=FAILED)
    assert "an address is HOST:PORT" in said(
        "features", "--bootstrap-server", "here", "describe", code=USAGE
    )
