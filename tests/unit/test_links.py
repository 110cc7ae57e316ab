"""Answers on cut, slow and whole links, of a server that answers each request by itself."""

import asyncio
from contextlib import asynccontextmanager, suppress

import pytest

from engine.broker.request_faults import RequestFaults
from engine.broker.server import Server
from engine.links import Links
from engine.wire.apis import Api
from engine.wire.frame import SIZE

SOON, LATER = 0.05, 20.0


@asynccontextmanager
async def serving(links, faults=None):
    """Who a connection belongs to is what its first byte says: "3" is broker 3, "c" a client."""

    async def handle(connection, frame):
        name = bytes(frame).decode()[-1]
        connection.peer_id = int(name) if name.isdecimal() else None
        return [bytes(frame)]

    server = Server(
        handle,
        max_request_bytes=100,
        max_connections=lambda: 100,
        idle_ms=60_000,
        links=links,
        faults=faults or RequestFaults(),
    )
    port = await server.bind("127.0.0.1", 0)
    await server.serve()
    writers = []

    async def connect(name):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writers.append(writer)

        async def ask(api=0):
            message = api.to_bytes(2, "big") + name.encode()
            writer.write(SIZE.pack(len(message)) + message)
            return await reader.read(100) == message

        return ask

    yield connect
    await server.close()
    for writer in writers:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def story_of_a_cut_link():
    links = Links()
    async with serving(links) as connect, asyncio.timeout(LATER):
        third, second, client = [await connect(name) for name in ("3", "2", "c")]
        links.change("3", out_cut=True)
        held = asyncio.ensure_future(third())
        assert await second() and await client()
        await asyncio.sleep(SOON)
        assert not held.done()
        links.change("3", in_cut=True)  # changes nothing about what goes out
        await asyncio.sleep(SOON)
        assert not held.done()
        links.heal()
        assert await held
        assert await third()


async def story_of_a_slow_link():
    links = Links()
    async with serving(links) as connect, asyncio.timeout(LATER):
        third, client, loop = await connect("3"), await connect("c"), asyncio.get_running_loop()
        links.change("3", delay=0.2)
        began = loop.time()
        assert await client()
        quick = loop.time() - began
        assert await third()
        assert loop.time() - began >= 0.2 > quick


async def story_of_a_cut_link_that_is_never_healed():
    links = Links()
    async with serving(links) as connect, asyncio.timeout(LATER):
        third = await connect("3")
        links.change("3", out_cut=True)
        held = asyncio.ensure_future(third())
        await asyncio.sleep(SOON)
    assert not await held  # the server has closed


async def story_of_dropped_answers():
    faults = RequestFaults()
    async with serving(Links(), faults) as connect, asyncio.timeout(LATER):
        third, first, second = [await connect(name) for name in ("3", "c", "c")]
        assert await third() and await first()
        faults.drop(1, Api.CONTROLLED_SHUTDOWN)
        assert await third(7)  # a broker's is not dropped
        assert await first(6)
        assert not await first(7)
        assert await second(7)


@pytest.mark.parametrize(
    "story",
    [
        story_of_a_cut_link,
        story_of_a_slow_link,
        story_of_a_cut_link_that_is_never_healed,
        story_of_dropped_answers,
    ],
)
def test_links(story):
    asyncio.run(story())
