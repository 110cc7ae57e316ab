"""What ZooKeeper tells of its tree, beside what a broker's death does to it."""

import time
from collections.abc import Callable, Iterator

import pytest
from kazoo.client import KazooClient

from engine.cluster import znode_watcher, zookeeper
from engine.cluster.recording import Recording
from engine.cluster.znode_changes import ChangeKind, ZnodeChange
from engine.cluster.znode_watcher import ZnodeWatcher
from engine.cluster.zookeeper import ZookeeperServer, free_port
from engine.errors import ApiException
from engine.zookeeper.znodes import ControllerInfo, broker_path
from tests.cluster.conftest import new_topic
from tests.interop.watch import until
from widgets.znodes.history import ZnodeHistory, recorded


@pytest.fixture
def server(tmp_path) -> Iterator[ZookeeperServer]:
    with ZookeeperServer(tmp_path / "zookeeper") as server:
        yield server


@pytest.fixture
def kazoo(server: ZookeeperServer) -> Iterator[KazooClient]:
    """Somebody who writes."""
    forever = {"max_tries": -1, "max_delay": 0.2}
    client = KazooClient(server.address, connection_retry=forever, command_retry=forever)
    client.start()
    yield client
    client.stop()
    client.close()


@pytest.fixture
def seen(server: ZookeeperServer) -> Iterator[ZnodeWatcher]:
    look = ZnodeWatcher(server.address)
    until(lambda: look.changes() and not look.reading)
    yield look
    look.close()


def after(look: ZnodeWatcher, number: int, holds: Callable[[ZnodeChange], bool]) -> ZnodeChange:
    """The first change after a number of which this holds."""
    return until(lambda: next(filter(holds, look.changes(number)), None))


def everything(client: KazooClient, path: str = "/") -> dict[str, tuple[str, int, int]]:
    """The tree as it is, read plainly."""
    data, stat = client.get(path)
    found = {path: (data.decode(errors="backslashreplace"), stat.mzxid, stat.ephemeralOwner)}
    for name in client.get_children(path):
        if name != "zookeeper":
            found |= everything(client, f"{path.rstrip('/')}/{name}")
    return found


def mirrored(look: ZnodeWatcher) -> dict[str, tuple[str, int, int]]:
    """The same from all changes, one after another."""
    nodes = ZnodeHistory(look.changes()).now.nodes
    return {path: (it.data, it.mzxid, it.owner) for path, it in nodes.items()}


def test_a_broker_dies_and_zookeeper_tells_who_was_told(cluster, truth):
    look = cluster.znodes()
    topic = new_topic(cluster, truth)
    state = cluster.state()
    controller = state.controller
    victim = next(broker for broker in cluster.brokers if broker != controller)
    session = state.brokers[victim].session
    path = broker_path(victim)
    watching = state.brokers[controller].session
    after(look, 0, lambda it: it.kind is ChangeKind.WATCHED and it.path == path)
    owners = {it.path: it.znode.owner for it in look.changes() if it.znode}
    assert {owners[broker_path(n)]: n for n in cluster.brokers} == {
        it.session: n for n, it in state.brokers.items()
    }
    number = len(look.changes())

    cluster.kill(victim)

    gone = after(look, number, lambda it: it.kind is ChangeKind.DELETED and it.path == path)
    assert gone.notified == (watching,)
    ended = next(it for it in look.changes(number) if it.kind is ChangeKind.ENDED)
    assert ended.session == session == gone.znode.owner
    assert ended.number < gone.number
    state_path = f"/brokers/topics/{topic}/partitions/{victim - 1}/state"
    after(look, number, lambda it: it.kind is ChangeKind.CHANGED and it.path == state_path)
    assert look.trouble == look.no_watches == ""

    cluster.restart(victim)
    back = after(look, gone.number, lambda it: it.kind is ChangeKind.CREATED and it.path == path)
    assert back.znode.czxid == cluster.state().brokers[victim].epoch > gone.znode.czxid


def test_the_controller_dies_and_all_others_are_reported(cluster, truth):
    look = cluster.znodes()
    controller = truth.await_controller()
    others = {it.session for n, it in cluster.state().brokers.items() if n != controller}
    after(look, 0, lambda it: not look.reading)
    until(lambda: others <= ZnodeHistory(look.changes()).now.watchers.get("/controller", set()))
    number = len(look.changes())

    cluster.kill(controller)

    gone = after(
        look, number, lambda it: it.kind is ChangeKind.DELETED and it.path == "/controller"
    )
    assert set(gone.notified) == others
    new = after(
        look, gone.number, lambda it: it.kind is ChangeKind.CREATED and it.path == "/controller"
    )
    assert ControllerInfo.decode(new.znode.data.encode()).broker_id != controller
    cluster.restart(controller)


def test_who_was_notified_counts_before_who_watches_now(server, kazoo, monkeypatch):
    """Also if the thread of the notifications is late."""
    arrive = ZnodeWatcher._notify

    def late(watcher, event):
        time.sleep(0.5)
        arrive(watcher, event)

    monkeypatch.setattr(ZnodeWatcher, "_notify", late)
    look, session = ZnodeWatcher(server.address), kazoo.client_id[0]
    try:
        kazoo.create("/watched")
        kazoo.exists("/watched", watch=lambda event: None)
        after(look, 0, lambda it: it.path == "/watched" and it.session == session)
        number = len(look.changes())
        kazoo.delete("/watched")
        look._due = 0.0  # it asks now who watches
        gone = after(look, number, lambda it: it.path == "/watched")
        assert (gone.kind, gone.notified) == (ChangeKind.DELETED, (session,))
    finally:
        look.close()


def test_nobody_sees_our_own_session(cluster):
    look = cluster.znodes()
    after(look, 0, lambda it: it.kind is ChangeKind.WATCHED)
    assert look.session not in {it.session for it in look.changes()}
    assert look.session in znode_watcher.watches(
        zookeeper.ask(int(look.hosts.split(":")[1]), "wchc")
    )


def test_a_recording_has_it_all(cluster, truth, tmp_path):
    with cluster.record(tmp_path / "run.jsonl", znodes=True):
        topic = new_topic(cluster, truth)
        until(lambda: f"/brokers/topics/{topic}" in mirrored(cluster.znodes()))
        until(lambda: not cluster.znodes().reading)
    known = recorded(Recording.load(tmp_path / "run.jsonl"))
    assert known == cluster.znodes().changes()[: len(known)]
    assert f"/brokers/topics/{topic}" in ZnodeHistory(known).now.nodes


def test_a_tree_is_as_it_was_read_and_as_it_was_told(server, kazoo, seen):
    kazoo.create("/a/b", b"1", makepath=True)
    kazoo.create("/a/c", b"2", ephemeral=True)
    kazoo.set("/a/b", "Grüße".encode())
    kazoo.create("/a/b/d")
    kazoo.create("/no-text", b"\xff\x00")
    kazoo.delete("/a/b", recursive=True)
    kazoo.create("/a/b", b"again")
    wanted = everything(kazoo)
    until(lambda: mirrored(seen) == wanted)
    assert not any(it.kind is ChangeKind.ENDED for it in seen.changes())

    late = ZnodeWatcher(server.address)  # somebody who comes when all has happened
    until(lambda: mirrored(late) == wanted)
    assert {it.kind for it in late.changes()} <= {ChangeKind.THERE, ChangeKind.WATCHED}
    late.close()


def test_a_large_tree_is_read_in_portions_and_no_change_is_missed(server, kazoo, monkeypatch):
    monkeypatch.setattr(znode_watcher, "AT_ONCE", 10)
    monkeypatch.setattr(znode_watcher, "PORTION", 0.0001)
    for number in range(200):
        kazoo.create(f"/a/{number}", makepath=True)
    look = ZnodeWatcher(server.address)
    until(lambda: "/a" in mirrored(look))
    assert look.reading
    kazoo.set("/a/7", b"new")
    kazoo.delete("/a/50")
    kazoo.create("/a/50", b"again")
    kazoo.delete("/a/199")
    wanted = everything(kazoo)
    until(lambda: mirrored(look) == wanted and not look.reading)
    kinds = {it.path: it.kind for it in look.changes()}
    assert kinds["/a/7"] is kinds["/a/8"] is ChangeKind.THERE
    assert kinds["/a/50"] is ChangeKind.CREATED
    look.close()


def test_a_watch_fires_once(kazoo, seen):
    kazoo.create("/a", b"1")
    fired = []
    kazoo.get("/a", watch=fired.append)
    watched = after(seen, 0, lambda it: it.kind is ChangeKind.WATCHED and it.path == "/a")
    assert watched.session == kazoo.client_id[0]
    kazoo.set("/a", b"2")
    told = after(seen, watched.number, lambda it: it.kind is ChangeKind.CHANGED)
    until(lambda: fired)
    assert told.notified == (kazoo.client_id[0],)
    kazoo.set("/a", b"3")
    again = after(seen, told.number, lambda it: it.kind is ChangeKind.CHANGED)
    assert (again.znode.data, again.notified) == ("3", ())


def test_an_owner_who_removes_its_node_goes_on_living(kazoo, seen):
    kazoo.create("/mine", ephemeral=True)
    kazoo.create("/also", ephemeral=True)
    after(seen, 0, lambda it: it.path == "/also")
    kazoo.delete("/mine")
    gone = after(seen, 0, lambda it: it.kind is ChangeKind.DELETED)
    assert not any(it.kind is ChangeKind.ENDED for it in seen.changes())
    kazoo.stop()
    ended = after(seen, gone.number, lambda it: it.kind is ChangeKind.ENDED)
    last = after(seen, ended.number, lambda it: it.kind is ChangeKind.DELETED)
    assert (last.path, last.znode.owner) == ("/also", ended.session)
    kazoo.start()


def test_what_happened_while_we_were_away_is_found(tmp_path):
    with ZookeeperServer(tmp_path / "zookeeper") as server:
        client = KazooClient(server.address)
        client.start()
        client.create("/stays", b"1")
        client.create("/goes/too", makepath=True)
        look = ZnodeWatcher(server.address)
        until(lambda: "/goes/too" in mirrored(look))
        client.stop()
        server.stop()
        server.start()
        client.start()
        client.delete("/goes", recursive=True)
        client.set("/stays", b"2")
        client.create("/new")
        wanted = everything(client)
        until(lambda: mirrored(look) == wanted)
        assert look.trouble == ""
        client.stop()
        client.close()
        look.close()


def test_a_server_that_refuses_the_words_is_still_looked_at(tmp_path, monkeypatch):
    plain = zookeeper.CONFIG.replace(",wchc,dump", "")
    assert plain != zookeeper.CONFIG
    monkeypatch.setattr(zookeeper, "CONFIG", plain)
    with ZookeeperServer(tmp_path / "zookeeper") as server:
        look = ZnodeWatcher(server.address)
        until(lambda: "/" in mirrored(look))
        assert "refuses the word 'wchc' (4lw.commands.whitelist" in look.no_watches
        client = KazooClient(server.address)
        client.start()
        client.create("/a", b"1", ephemeral=True)
        after(look, 0, lambda it: it.path == "/a")
        client.stop()
        client.close()
        after(look, 0, lambda it: it.kind is ChangeKind.DELETED)
        assert {it.kind for it in look.changes()} == {
            ChangeKind.THERE,
            ChangeKind.CREATED,
            ChangeKind.DELETED,
        }
        assert look.trouble == ""
        look.close()


def test_below_a_root_of_its_own(server, kazoo):
    kazoo.create("/lab/a", b"1", makepath=True)
    kazoo.create("/other")
    look = ZnodeWatcher(f"{server.address}/lab")
    until(lambda: "/a" in mirrored(look))
    kazoo.get("/lab/a", watch=print)
    kazoo.get("/other", watch=print)
    watched = after(look, 0, lambda it: it.kind is ChangeKind.WATCHED)
    assert watched.path == "/a"
    kazoo.create("/also-other")
    kazoo.set("/lab/a", b"2")
    assert after(look, 0, lambda it: it.kind is ChangeKind.CHANGED).notified == (
        kazoo.client_id[0],
    )
    assert {it.path for it in look.changes()} == {"/", "/a"}
    look.close()


def test_where_nobody_answers_the_error_says_so(monkeypatch):
    monkeypatch.setattr(znode_watcher, "ANSWER_WAIT_S", 0.2)
    with pytest.raises(ApiException, match=r"no answer from ZooKeeper .* is it running"):
        ZnodeWatcher(f"127.0.0.1:{free_port()}")
