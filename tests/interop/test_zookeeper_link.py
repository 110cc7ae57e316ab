"""The link between a broker and the real ZooKeeper, cut and slowed from inside the broker."""

import asyncio
import itertools
import time

import pytest
from kazoo.client import KazooClient

from engine.cluster.zookeeper import ZookeeperServer
from engine.errors import MetadataUnavailable
from engine.links import Links
from engine.zookeeper.client import SessionState, ZookeeperClient
from engine.zookeeper.requests import Changed, Create, Delete, Exists, Get, Set

SESSION = 1.0  # seconds
CUTS = {
    "both ways": {"out_cut": True, "in_cut": True},
    "out": {"out_cut": True},
    "in": {"in_cut": True},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with ZookeeperServer(tmp_path_factory.mktemp("zookeeper")) as server:
        yield server


@pytest.fixture(autouse=True)
def clean(server):
    """Each test finds no znode but ZooKeeper's own."""
    client = KazooClient(server.address)
    client.start()
    for name in client.get_children("/"):
        if name != "zookeeper":
            client.delete(f"/{name}", recursive=True)
    client.stop()
    client.close()


class Stage:
    """A client whose link can be cut, and an observer with a good one."""

    def __init__(self, client, observer, links, events):
        self.client, self.observer, self.events = client, observer, events
        self._links = links

    def fault(self, **fault):
        self._links.change("zookeeper", **fault)

    def heal(self):
        self._links.heal()

    async def told(self):
        return await asyncio.wait_for(self.events.get(), 20)


def on_stage(server, story, session=SESSION):
    async def told():
        events, links = asyncio.Queue(), Links()
        async with (
            ZookeeperClient(server.address, 10.0) as observer,
            ZookeeperClient(server.address, session, events.put_nowait, links.zookeeper) as client,
        ):
            await observer.connect(20)
            await client.connect(20)
            assert (await events.get()).state is SessionState.CONNECTED
            await asyncio.wait_for(story(Stage(client, observer, links, events)), 60)

    asyncio.run(told())


async def gone(stage, path):
    """Wait until the observer hears that a node is deleted."""
    changed = asyncio.Event()
    if await stage.observer.ask([Exists(path, watch=True)], lambda _: changed.set()) != [None]:
        await asyncio.wait_for(changed.wait(), 20)
    assert await stage.observer.ask([Exists(path)]) == [None]


@pytest.mark.parametrize("way", CUTS)
def test_a_session_does_not_outlive_a_long_cut(server, way):
    async def story(stage):
        first = stage.client.session_id
        heard = []
        await stage.client.ask([Create("/mine", ephemeral=True)])
        await stage.client.ask([Get("/mine", watch=True)], heard.append)
        stage.fault(**CUTS[way])
        assert (await stage.told()).state is SessionState.SUSPENDED
        await gone(stage, "/mine")
        assert heard == [Changed("/mine")]
        assert stage.events.empty()  # whether the session lives on, only the server knows
        stage.heal()
        assert (await stage.told()).state is SessionState.EXPIRED
        again = await stage.told()
        assert again.state is SessionState.CONNECTED
        assert again.session_id == stage.client.session_id != first
        assert await stage.client.ask([Create("/mine", ephemeral=True)])

    on_stage(server, story)


@pytest.mark.parametrize("way", CUTS)
def test_a_short_cut_only_makes_late(server, way):
    async def story(stage):
        session = stage.client.session_id
        await stage.client.ask([Create("/mine", ephemeral=True)])
        stage.fault(**CUTS[way])
        asked = asyncio.ensure_future(stage.client.ask([Set("/mine", b"late"), Get("/mine")]))
        await asyncio.sleep(0.2)
        assert not asked.done()
        stage.heal()
        version, node = await asked
        assert (version, node.data, node.stat.owner) == (1, b"late", session)
        assert stage.events.empty()
        assert stage.client.session_id == session

    on_stage(server, story, session=10.0)


def test_what_leaves_is_done_though_no_answer_comes(server):
    async def story(stage):
        done = asyncio.Event()
        await stage.observer.ask([Exists("/a", watch=True)], lambda _: done.set())
        stage.fault(in_cut=True)
        asked = asyncio.ensure_future(stage.client.ask([Create("/a", b"1")]))
        await asyncio.wait_for(done.wait(), 10)
        assert (await stage.observer.ask([Get("/a")]))[0].data == b"1"
        assert not asked.done()
        stage.heal()
        ((path, _),) = await asked
        assert path == "/a"

    on_stage(server, story, session=10.0)


def test_what_can_not_leave_is_not_done_though_news_come(server):
    async def story(stage):
        heard = asyncio.Queue()
        await stage.client.ask([Exists("/a", watch=True)], heard.put_nowait)
        stage.fault(out_cut=True)
        asked = asyncio.ensure_future(stage.client.ask([Create("/b")]))
        await stage.observer.ask([Create("/a")])
        assert await asyncio.wait_for(heard.get(), 10) == Changed("/a")
        assert await stage.observer.ask([Exists("/b")]) == [None]
        stage.heal()
        await asked
        assert await stage.observer.ask([Exists("/b")]) != [None]

    on_stage(server, story, session=10.0)


def test_what_was_asked_on_a_cut_link_is_lost_with_the_connection_or_the_patience(server):
    async def story(stage):
        stage.fault(out_cut=True, in_cut=True)
        with pytest.raises(MetadataUnavailable, match="ConnectionLoss"):
            await stage.client.ask([Create("/a")])
        assert (await stage.told()).state is SessionState.SUSPENDED
        began = time.monotonic()
        with pytest.raises(MetadataUnavailable, match="ConnectionLoss"):
            await stage.client.ask([Create("/a")])
        assert time.monotonic() - began > SESSION / 2
        with pytest.raises(MetadataUnavailable, match="ConnectionLoss"):  # and from now on at once
            await asyncio.wait_for(stage.client.ask([Create("/a")]), 0.1)

    on_stage(server, story)


def test_a_slow_link_makes_late_and_not_slow(server):
    async def story(stage):
        await stage.client.ask([Create("/a")])
        stage.fault(delay=0.1)
        for questions in (1, 100):
            began = time.monotonic()
            versions = await stage.client.ask([Set("/a", b"")] * questions)
            took = time.monotonic() - began
            assert len(versions) == questions
            assert 0.2 <= took < 2  # there and back; a hundred by themselves would take 20
        stage.heal()
        assert stage.events.empty()

    on_stage(server, story, session=10.0)


def test_the_loop_goes_on_however_much_is_asked_on_a_cut_link(server):
    async def story(stage):
        await stage.client.ask([Create("/a")])
        stage.fault(out_cut=True)
        asks = [asyncio.ensure_future(stage.client.ask([Set("/a", b"")] * 1000)) for _ in range(4)]
        await asyncio.sleep(0.1)
        assert not any(asked.done() for asked in asks)
        stage.heal()
        versions = itertools.chain.from_iterable(await asyncio.gather(*asks))
        assert list(versions) == list(range(1, 4001))

    on_stage(server, story, session=10.0)


def test_closing_does_not_wait_for_the_link_to_heal(server):
    async def story(stage):
        await stage.client.ask([Create("/mine", ephemeral=True)])
        stage.fault(out_cut=True, in_cut=True)
        await asyncio.wait_for(stage.client.close(), 5)
        assert await stage.observer.ask([Exists("/mine")]) != [None]  # nobody said goodbye
        await stage.observer.ask([Delete("/mine")])

    on_stage(server, story, session=30.0)


def test_a_server_that_forgets_a_connection_is_called_again(server):
    """As one does that is just starting. kazoo would wait for a session's time-out."""

    async def story():
        calls = []  # how long each caller waited, in seconds

        async def forward(reader, writer):
            while data := await reader.read(65536):
                writer.write(data)
            writer.close()

        async def called(reader, writer):
            began = time.monotonic()
            if len(calls) < 2:
                await reader.read()  # until the caller gives up
                calls.append(time.monotonic() - began)
                return writer.close()
            to_server = await asyncio.open_connection("127.0.0.1", server.port)
            await asyncio.gather(forward(reader, to_server[1]), forward(to_server[0], writer))

        async with await asyncio.start_server(called, "127.0.0.1", 0) as porter:
            port = porter.sockets[0].getsockname()[1]
            async with ZookeeperClient(f"127.0.0.1:{port}", 60.0) as client:
                await client.connect(20)
                assert await client.ask([Create("/a")])
        assert calls[0] < 10
        assert calls[1] > 0.9  # twice as patient as the first time

    asyncio.run(story())
