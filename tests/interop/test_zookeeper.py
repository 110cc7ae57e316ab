"""kazoo on an asyncio loop, against the real ZooKeeper, as a broker has them."""

import asyncio
import contextlib
import sys
import time

import psutil
import pytest
from kazoo.client import KazooClient

from engine.cluster import zookeeper
from engine.cluster.child import Child
from engine.cluster.zookeeper import ZookeeperServer
from engine.errors import MetadataUnavailable
from engine.zookeeper.client import Session, SessionState, ZookeeperClient
from engine.zookeeper.requests import (
    Changed,
    CheckVersion,
    Children,
    Create,
    Created,
    Delete,
    Exists,
    Get,
    Multi,
    Reason,
    Refused,
    Set,
    Stat,
    ZnodeData,
)
from tests.interop.session_end import end_session
from tests.interop.watch import until

CLIENT = """
import sys
from kazoo.client import KazooClient
client = KazooClient(sys.argv[1], timeout=1.0)
client.start()
client.create("/theirs", ephemeral=True)
client.create("/ready")
sys.stdin.read() or __import__("signal").pause()
"""


def test_the_end_of_a_session_does_not_wait_for_a_server_that_hangs(tmp_path, monkeypatch):
    """The server is paused: the client gives up, and the session ends by its time-out."""
    monkeypatch.setattr("engine.zookeeper.client.CLOSE_WAIT_S", 0.5)

    async def story(hanging):
        zookeeper = ZookeeperClient(hanging.address, 30.0)
        await zookeeper.connect(30.0)
        hanging.child.pause()
        process = psutil.Process(hanging.child.pid)
        until(lambda: process.status() == psutil.STATUS_STOPPED)  # a busy machine takes its time
        began = time.monotonic()
        await zookeeper.close()
        return time.monotonic() - began

    with ZookeeperServer(tmp_path) as hanging:
        began = time.monotonic()
        assert 0.5 <= asyncio.run(story(hanging)) < 5.0
        assert time.monotonic() - began < 20.0  # the loop did not wait for the thread either
        hanging.child.resume()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with ZookeeperServer(tmp_path_factory.mktemp("zookeeper")) as server:
        yield server


@pytest.fixture(autouse=True)
def clean(request):
    """Each test finds no znode but ZooKeeper's own."""
    if "server" in request.fixturenames:
        with_client(request.getfixturevalue("server"), remove_all)


def with_client(server, work):
    client = KazooClient(server.address)
    client.start()
    try:
        return work(client)
    finally:
        client.stop()
        client.close()


def remove_all(client):
    for name in client.get_children("/"):
        if name != "zookeeper":
            client.delete(f"/{name}", recursive=True)


def on_loop(server, story, timeout=10.0):
    """Run one story with a connected client and the events of its session."""

    async def told():
        events: asyncio.Queue[Session] = asyncio.Queue()
        async with ZookeeperClient(server.address, timeout, events.put_nowait) as client:
            await client.connect(timeout=20)
            assert (await events.get()).state is SessionState.CONNECTED
            await asyncio.wait_for(story(client, events), 30)

    asyncio.run(told())


# The sessions of others


@pytest.mark.parametrize("end", ["killed", "paused"])
def test_ephemeral_nodes_go_when_their_owner_is_silent_for_a_session_timeout(tmp_path, server, end):
    async def story(client, events):
        loop = asyncio.get_running_loop()
        ready, gone = loop.create_future(), loop.create_future()
        asks = [Exists("/ready", watch=True)]
        assert await client.ask(asks, ready.set_result) == [None]
        with Child([sys.executable, "-c", CLIENT, server.address], tmp_path / "log") as other:
            await ready
            assert await client.ask([Exists("/theirs", watch=True)], gone.set_result) != [None]
            began = loop.time()
            if end == "killed":
                other.kill()
            else:
                other.pause()
            await gone
            assert await client.ask([Exists("/theirs")]) == [None]
            assert 0.3 < loop.time() - began < 5  # not at once: nobody said goodbye

    on_loop(server, story)


# The adapter


def test_ephemeral_and_sequential_nodes(server):
    async def story(client, events):
        asks = [Create("/mine", ephemeral=True), Exists("/mine"), Create("/changes")]
        _, stat, _ = await client.ask(asks)
        assert stat.owner == client.session_id
        names = await client.ask([Create("/changes/n_", sequence=True)] * 2)
        assert [each.path for each in names] == ["/changes/n_0000000000", "/changes/n_0000000001"]

    on_loop(server, story)
    assert with_client(server, lambda client: client.exists("/mine")) is None  # closing ends it


def test_of_two_who_write_what_they_read_one_wins(server):
    async def story(client, events):
        async with ZookeeperClient(server.address, 10.0) as other:
            await other.connect(20)
            await client.ask([Create("/leader", b"0")])
            [[first], [second]] = await asyncio.gather(
                client.ask([Multi((CheckVersion("/leader", 0), Set("/leader", b"1", 0)))]),
                other.ask([Multi((CheckVersion("/leader", 0), Set("/leader", b"2", 0)))]),
            )
            assert [first, second].count(Refused(Reason.BAD_VERSION, "/leader")) == 1
            winner = b"1" if isinstance(second, Refused) else b"2"
            (node,) = await client.ask([Get("/leader")])
            assert node.data == winner

    on_loop(server, story)


def test_a_watch_fires_once_on_the_loop(server):
    async def story(client, events):
        seen: asyncio.Queue = asyncio.Queue()

        def watch(change):
            assert asyncio.get_running_loop()
            seen.put_nowait(change.path)

        await client.ask([Create("/a")])
        await client.ask([Get("/a", watch=True), Children("/", watch=True)], watch)
        await client.ask([Set("/a", b"1"), Set("/a", b"2"), Create("/b"), Create("/c"), Get("/a")])
        assert seen.get_nowait() == "/a"
        assert seen.get_nowait() == "/"
        assert seen.empty()  # what fired before the last answer has been called by now

    on_loop(server, story)


def test_a_change_is_heard_of_before_it_is_seen(server):
    """ZooKeeper's promise, which needs answers and watches to stay in one line."""

    async def story(client, events):
        async with ZookeeperClient(server.address, 10.0) as other:
            await other.connect(20)
            await client.ask([Create("/a", b"0")])
            heard: list[object] = []
            for turn in range(1, 200):
                (node,) = await client.ask([Get("/a", watch=True)], heard.append)
                assert int(node.data) == len(heard) == turn - 1
                write = asyncio.ensure_future(other.ask([Set("/a", b"%d" % turn)]))
                while int((await client.ask([Get("/a")]))[0].data) < turn:
                    assert len(heard) <= turn
                assert len(heard) == turn
                await write

    on_loop(server, story)


# Questions and answers; what ZooKeeper says to which is compared in test_zookeeper_model.py


def test_all_questions_of_a_list_are_answered_in_order(server):
    async def story(client, events):
        answers = await client.ask(
            [
                Create("/a/b", b"1", parents=True),
                Get("/a/b"),
                Set("/a/b", b"2", 7),
                Multi((CheckVersion("/a/b", 0), Set("/a/b", b"2"))),
                Multi((Create("/a/c"), CheckVersion("/a/b", 0))),
                Children("/a"),
                Exists("/a/c"),
            ]
        )
        (_, czxid), _, *rest = answers
        ctime = answers[1].stat.ctime
        assert abs(time.time() * 1000 - ctime) < 60_000
        assert answers[:2] == [
            Created("/a/b", czxid),
            ZnodeData(b"1", Stat(0, czxid, ctime=ctime)),
        ]
        bad = Refused(Reason.BAD_VERSION, "/a/b")
        assert rest == [bad, (True, 1), bad, ("b",), None]
        assert await client.ask([]) == []

    on_loop(server, story)


def test_a_thousand_transactions_are_on_their_way_at_once(server):
    """What kazoo had to send without an answer to what it sent before."""

    async def story(client, events):
        await client.ask([Create("/epoch"), *(Create(f"/{n}") for n in range(1000))])
        asks = [Multi((CheckVersion("/epoch", 0), Set(f"/{n}", b"x", 0))) for n in range(1000)]
        answer = asyncio.ensure_future(client.ask(asks))
        unanswered = 0
        while not answer.done():
            unanswered = max(unanswered, len(client._kazoo._pending))
            await asyncio.sleep(0)
        assert await answer == [(True, 1)] * 1000
        assert unanswered > 10

    on_loop(server, story)


def test_a_path_is_told_once_however_often_it_is_watched(server):
    async def story(client, events):
        heard: list[Changed] = []
        await client.ask([Create("/a"), Create("/b")])
        for _ in range(20):
            asks = [Get("/a", watch=True), Children("/a", watch=True), Exists("/b", watch=True)]
            await client.ask(asks, heard.append)
        assert len(client._kazoo._data_watchers["/a"]) == 1
        await client.ask([Set("/b", b""), Delete("/a"), Create("/a"), Delete("/b")])
        assert heard == [Changed("/b"), Changed("/a")]

    on_loop(server, story)


def test_a_client_that_closes_hears_of_no_watch(server, monkeypatch):
    """The session of a client ends while the client still closes: none of its watches fires."""
    heard = []

    async def story(client, events):
        await client.ask([Exists("/none", watch=True)], heard.append)
        kazoo = client._kazoo
        finish = kazoo._safe_close

        def finish_late():
            until(lambda: kazoo.client_id is None)
            finish()

        monkeypatch.setattr(kazoo, "_safe_close", finish_late)
        await client.close()
        await asyncio.sleep(0)

    on_loop(server, story)
    assert not heard


def test_what_is_asked_before_the_end_of_the_session_was_heard_is_refused(server):
    async def story(client, events):
        await client.ask([Create("/mine", ephemeral=True)])
        end_session(server.address, client)  # and the loop stands still meanwhile
        until(lambda: not client._kazoo.connected)  # kazoo knows, and the loop has not heard
        with pytest.raises(MetadataUnavailable, match="SessionExpiredError"):
            await client.ask([Create("/theirs")])
        states = [(await events.get()).state for _ in range(3)]
        assert states == [SessionState.SUSPENDED, SessionState.EXPIRED, SessionState.CONNECTED]
        assert await client.ask([Exists("/mine"), Exists("/theirs")]) == [None, None]

    on_loop(server, story)


def test_an_expired_session_is_told_and_followed_by_another(server):
    async def story(client, events):
        first = client.session_id
        fired = asyncio.get_running_loop().create_future()
        await client.ask([Create("/mine", ephemeral=True)])
        await client.ask([Get("/mine", watch=True)], fired.set_result)
        await asyncio.to_thread(end_session, server.address, client)
        states = [await events.get() for _ in range(3)]
        assert [event.state for event in states] == [
            SessionState.SUSPENDED,
            SessionState.EXPIRED,
            SessionState.CONNECTED,
        ]
        assert states[2].session_id == client.session_id != first
        assert await fired == Changed("/mine")
        assert await client.ask([Exists("/mine")]) == [None]
        await client.ask([Create("/mine", ephemeral=True)])  # so the broker registers again

    on_loop(server, story)


def test_a_lost_connection_keeps_the_session_and_fires_the_watches(tmp_path):
    with ZookeeperServer(tmp_path) as server:

        async def story(client, events):
            session = client.session_id
            heard: asyncio.Queue[Changed] = asyncio.Queue()
            await client.ask([Create("/mine", ephemeral=True)])
            watched = [Get("/mine", watch=True), Children("/mine", watch=True)]
            await client.ask(watched, heard.put_nowait)
            await asyncio.to_thread(server.child.kill)
            asked = asyncio.ensure_future(client.ask([Exists("/mine")]))
            assert (await events.get()).state is SessionState.SUSPENDED
            assert client.session_id is None
            assert await heard.get() == Changed("/mine")
            assert heard.empty()  # though both data and children were watched
            again = ZookeeperServer(server.data_dir, server.port)
            await asyncio.to_thread(server.stop)
            try:
                await asyncio.to_thread(again.start)
                assert await events.get() == Session(SessionState.CONNECTED, session)
                assert await client.ask([Exists("/mine")]) != [None]
                with contextlib.suppress(MetadataUnavailable):  # it was asked as the server died
                    assert await asked != [None]
            finally:
                await asyncio.to_thread(again.stop)

        on_loop(server, story, timeout=30.0)


def test_nobody_there_is_told_with_the_address():
    port = zookeeper.free_port()

    async def story():
        async with ZookeeperClient(f"127.0.0.1:{port}", 5.0) as client:
            await client.connect(timeout=0.3)

    with pytest.raises(TimeoutError, match=rf"no answer from ZooKeeper at 127.0.0.1:{port} in 0.3"):
        asyncio.run(story())
