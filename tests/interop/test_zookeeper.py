"""kazoo on an asyncio loop, against the real ZooKeeper, as a broker has them."""

import asyncio
import contextlib
import sys

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import (
    BadVersionError,
    ConnectionLoss,
    NodeExistsError,
    NoNodeError,
    SessionExpiredError,
)
from kazoo.protocol.states import EventType

from engine.cluster import zookeeper
from engine.cluster.child import Child
from engine.cluster.zookeeper import Zookeeper
from engine.controller.asks import (
    Changed,
    Check,
    Children,
    Create,
    Created,
    Delete,
    Exists,
    Get,
    Multi,
    Node,
    Reason,
    Refused,
    Set,
    Stat,
)
from engine.zookeeper.client import Session, State, ZookeeperClient
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


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Zookeeper(tmp_path_factory.mktemp("zookeeper")) as server:
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
            assert (await events.get()).state is State.CONNECTED
            await asyncio.wait_for(story(client, events), 30)

    asyncio.run(told())


# The sessions of others


@pytest.mark.parametrize("end", ["killed", "paused"])
def test_ephemeral_nodes_go_when_their_owner_is_silent_for_a_session_timeout(tmp_path, server, end):
    async def story(client, events):
        loop = asyncio.get_running_loop()
        ready, gone = loop.create_future(), loop.create_future()
        assert await client.exists("/ready", ready.set_result) is None
        with Child([sys.executable, "-c", CLIENT, server.address], tmp_path / "log") as other:
            assert (await ready).type == EventType.CREATED
            assert await client.exists("/theirs", gone.set_result) is not None
            began = loop.time()
            if end == "killed":
                other.kill()
            else:
                other.pause()
            assert (await gone).type == EventType.DELETED
            assert 0.3 < loop.time() - began < 5  # not at once: nobody said goodbye

    on_loop(server, story)


# The adapter


def test_reading_and_writing(server):
    async def story(client, events):
        path, created = await client.create("/a/b", b"one", parents=True)
        assert (path, created.version, created.ephemeralOwner) == ("/a/b", 0, 0)
        assert (await client.set("/a/b", b"two", 0)).version == 1
        data, stat = await client.get("/a/b")
        assert (data, stat.version, stat.czxid) == (b"two", 1, created.czxid)
        assert await client.children("/a") == ["b"]
        await client.ensure("/a/b")
        await client.delete("/a/b", 1)
        assert await client.exists("/a/b") is None

    on_loop(server, story)


def test_ephemeral_and_sequential_nodes(server):
    async def story(client, events):
        _, stat = await client.create("/mine", ephemeral=True)
        assert stat.ephemeralOwner == client.session_id
        await client.create("/changes")
        names = [(await client.create("/changes/n_", sequence=True))[0] for _ in range(2)]
        assert names == ["/changes/n_0000000000", "/changes/n_0000000001"]

    on_loop(server, story)
    assert with_client(server, lambda client: client.exists("/mine")) is None  # closing ends it


def test_errors_come_through_as_they_are(server):
    async def story(client, events):
        await client.create("/a", b"")
        with pytest.raises(NodeExistsError):
            await client.create("/a")
        with pytest.raises(BadVersionError):
            await client.set("/a", b"", 7)
        with pytest.raises(NoNodeError):
            await client.get("/none")
        with pytest.raises(NoNodeError):
            await client.create("/none/child")

    on_loop(server, story)


def test_a_tree_is_deleted_whole_and_none_is_no_error(server):
    async def story(client, events):
        await client.create("/t/a/b", parents=True)
        await client.create("/t/c")
        await client.delete_tree("/t")
        assert await client.exists("/t") is None
        await client.delete_tree("/t")

    on_loop(server, story)


def test_a_transaction_does_all_or_nothing(server):
    async def story(client, events):
        await client.create("/epoch", b"1")
        await client.create("/old", b"")
        done = await client.multi(
            Check("/epoch", 0),
            Create("/new", b"x", ephemeral=True),
            Set("/epoch", b"2", 0),
            Delete("/old"),
        )
        assert done[1] == "/new"
        assert done[2].version == 1
        assert await client.exists("/old") is None
        _, stat = await client.get("/new")
        assert stat.ephemeralOwner == client.session_id

        with pytest.raises(BadVersionError, match="/epoch"):
            await client.multi(Create("/half"), Check("/epoch", 0), Delete("/new"))
        with pytest.raises(NodeExistsError, match="/new"):
            await client.multi(Set("/epoch", b"3"), Create("/new"))
        assert await client.exists("/half") is None
        assert (await client.get("/epoch"))[0] == b"2"

    on_loop(server, story)


def test_of_two_who_write_what_they_read_one_wins(server):
    async def story(client, events):
        async with ZookeeperClient(server.address, 10.0) as other:
            await other.connect(20)
            await client.create("/leader", b"0")
            both = await asyncio.gather(
                client.multi(Check("/leader", 0), Set("/leader", b"1", 0)),
                other.multi(Check("/leader", 0), Set("/leader", b"2", 0)),
                return_exceptions=True,
            )
            lost = [result for result in both if isinstance(result, BadVersionError)]
            assert len(lost) == 1
            winner = b"1" if isinstance(both[1], BadVersionError) else b"2"
            assert (await client.get("/leader"))[0] == winner

    on_loop(server, story)


def test_a_watch_fires_once_on_the_loop(server):
    async def story(client, events):
        seen: asyncio.Queue = asyncio.Queue()

        def watch(event):
            assert asyncio.get_running_loop()
            seen.put_nowait((event.type, event.path))

        await client.create("/a", b"")
        await client.get("/a", watch)
        await client.children("/", watch)
        await client.set("/a", b"1")
        await client.set("/a", b"2")
        await client.create("/b", b"")
        await client.create("/c", b"")
        await client.get("/a")  # whatever fired before has been told by now
        assert seen.get_nowait() == (EventType.CHANGED, "/a")
        assert seen.get_nowait() == (EventType.CHILD, "/")
        assert seen.empty()

    on_loop(server, story)


def test_a_change_is_heard_of_before_it_is_seen(server):
    """ZooKeeper's promise, which needs answers and watches to stay in one line."""

    async def story(client, events):
        async with ZookeeperClient(server.address, 10.0) as other:
            await other.connect(20)
            await client.create("/a", b"0")
            heard: list[object] = []
            for turn in range(1, 200):
                value, _ = await client.get("/a", heard.append)
                assert int(value) == len(heard) == turn - 1
                write = asyncio.ensure_future(other.set("/a", b"%d" % turn))
                while int((await client.get("/a"))[0]) < turn:
                    assert len(heard) <= turn
                assert len(heard) == turn
                await write

    on_loop(server, story)


# Questions and answers; what ZooKeeper says to which is compared in test_zookeeper_model.py


def test_all_questions_of_a_list_are_answered_in_order(server):
    async def story(client, events):
        answers = await client.answer(
            [
                Create("/a/b", b"1", parents=True),
                Get("/a/b"),
                Set("/a/b", b"2", 7),
                Multi((Check("/a/b", 0), Set("/a/b", b"2"))),
                Multi((Create("/a/c"), Check("/a/b", 0))),
                Children("/a"),
                Exists("/a/c"),
            ]
        )
        (_, czxid), _, *rest = answers
        assert answers[:2] == [Created("/a/b", czxid), Node(b"1", Stat(0, czxid))]
        bad = Refused(Reason.BAD_VERSION, "/a/b")
        assert rest == [bad, (True, 1), bad, ("b",), None]
        assert await client.answer([]) == []

    on_loop(server, story)


def test_a_thousand_transactions_are_on_their_way_at_once(server):
    """What kazoo had to send without an answer to what it sent before."""

    async def story(client, events):
        await client.answer([Create("/epoch"), *(Create(f"/{n}") for n in range(1000))])
        asks = [Multi((Check("/epoch", 0), Set(f"/{n}", b"x", 0))) for n in range(1000)]
        answer = asyncio.ensure_future(client.answer(asks))
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
        await client.answer([Create("/a"), Create("/b")])
        for _ in range(20):
            asks = [Get("/a", watch=True), Children("/a", watch=True), Exists("/b", watch=True)]
            await client.answer(asks, heard.append)
        assert len(client._kazoo._data_watchers["/a"]) == 1
        await client.answer([Set("/b", b""), Delete("/a"), Create("/a"), Delete("/b")])
        assert heard == [Changed("/b"), Changed("/a")]

    on_loop(server, story)


def test_what_is_asked_before_the_end_of_the_session_was_heard_is_refused(server):
    async def story(client, events):
        await client.answer([Create("/mine", ephemeral=True)])
        expire(server, client)  # and the loop stands still meanwhile
        until(lambda: not client._kazoo.connected)  # kazoo knows, and the loop has not heard
        with pytest.raises(SessionExpiredError):
            await client.answer([Create("/theirs")])
        states = [(await events.get()).state for _ in range(3)]
        assert states == [State.SUSPENDED, State.EXPIRED, State.CONNECTED]
        assert await client.answer([Exists("/mine"), Exists("/theirs")]) == [None, None]

    on_loop(server, story)


def expire(server, client):
    """End a session as its time-out would: whoever closes a copy of it ends it for all."""
    copy = KazooClient(server.address, client_id=client._kazoo.client_id)
    copy.start()
    copy.stop()
    copy.close()


def test_an_expired_session_is_told_and_followed_by_another(server):
    async def story(client, events):
        first = client.session_id
        fired = asyncio.get_running_loop().create_future()
        await client.create("/mine", ephemeral=True)
        await client.get("/mine", fired.set_result)
        await asyncio.to_thread(expire, server, client)
        states = [await events.get() for _ in range(3)]
        assert [event.state for event in states] == [
            State.SUSPENDED,
            State.EXPIRED,
            State.CONNECTED,
        ]
        assert states[2].session_id == client.session_id != first
        assert (await fired).type in {EventType.NONE, EventType.DELETED}
        assert await client.exists("/mine") is None
        await client.create("/mine", ephemeral=True)  # so the broker registers again

    on_loop(server, story)


def test_a_lost_connection_keeps_the_session_and_fires_the_watches(tmp_path):
    with Zookeeper(tmp_path) as server:

        async def story(client, events):
            session = client.session_id
            fired = asyncio.get_running_loop().create_future()
            heard: list[Changed] = []
            await client.create("/mine", ephemeral=True)
            await client.get("/mine", fired.set_result)
            watched = [Get("/mine", watch=True), Children("/mine", watch=True)]
            await client.answer(watched, heard.append)
            await asyncio.to_thread(server.child.kill)
            asked = asyncio.ensure_future(client.answer([Exists("/mine")]))
            assert (await events.get()).state is State.SUSPENDED
            assert client.session_id is None
            assert (await fired).type == EventType.NONE
            assert heard == [Changed("/mine")]  # though both data and children were watched
            again = Zookeeper(server.data_dir, server.port)
            await asyncio.to_thread(server.stop)
            try:
                await asyncio.to_thread(again.start)
                assert await events.get() == Session(State.CONNECTED, session)
                assert await client.exists("/mine") is not None
                with contextlib.suppress(ConnectionLoss):  # it was asked as the server died
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
