"""The connection to another broker, against one that a test plays."""

import asyncio
import socket
from contextlib import asynccontextmanager
from functools import wraps
from struct import pack, unpack
from types import SimpleNamespace

import pytest

from engine.broker.peer import Peer
from engine.errors import ErrorCode
from engine.links import Links
from engine.wire import fetch
from engine.wire.apis import APIS, Api
from engine.wire.codec import decode_request
from engine.wire.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    RemainingPartition,
)
from tests.limits import ANSWER_S
from tests.unit.wire.frames import encode_response


class Broker3:
    """Keeps what it is asked until the test answers."""

    def __init__(self):
        self.connections = 0
        self.hung_up = 0
        self.asked = asyncio.Queue()  # (header, request, how to answer)
        self.port = 0

    async def serve(self, reader, writer):
        self.connections += 1
        try:
            while True:
                (size,) = unpack(">i", await reader.readexactly(4))
                header, request = decode_request(await reader.readexactly(size), APIS)
                self.asked.put_nowait((header, request, writer))
        except (asyncio.IncompleteReadError, ConnectionError):
            self.hung_up += 1
        finally:
            writer.close()

    async def answer(self, left=0):
        """The next request, answered with the number of partitions that its broker still leads."""
        header, request, writer = await self.asked.get()
        writer.write(encode_response(header, remaining(left)))
        return header, request


@asynccontextmanager
async def broker3(timeout=ANSWER_S):
    played = Broker3()
    server = await asyncio.start_server(played.serve, "127.0.0.1", 0)
    played.port = server.sockets[0].getsockname()[1]
    bugs = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, bug: bugs.append(bug))
    links = Links()
    peer = Peer("127.0.0.1", played.port, 3, links, "broker-1-test", timeout)
    try:
        yield played, peer, links
    finally:
        peer.close()
        server.close()
        await server.wait_closed()
        await until(lambda: played.hung_up == played.connections)
        assert not bugs


def remaining(count):
    left = [RemainingPartition(topic_name="t", partition_index=n) for n in range(count)]
    return ControlledShutdownResponse(remaining_partitions=tuple(left))


def request(number=1):
    return ControlledShutdownRequest(broker_id=number, broker_epoch=300)


def ask(peer, number=1):
    return asyncio.create_task(peer.ask(Api.CONTROLLED_SHUTDOWN, request(number)))


async def until(true):
    async with asyncio.timeout(ANSWER_S):
        while not true():
            await asyncio.sleep(0.001)


async def turns(count=50):
    """What could happen without time passing has happened then."""
    for _ in range(count):
        await asyncio.sleep(0)


def story(told):
    """A test that the event loop runs."""

    @wraps(told)
    def test(*given, **named):
        asyncio.run(told(*given, **named))

    return test


@story
async def test_a_question_and_its_answer():
    async with broker3() as (played, peer, _):
        asked = ask(peer)
        header, read = await played.answer(left=2)
        assert (header.api_key, header.api_version) == (Api.CONTROLLED_SHUTDOWN, 3)
        assert header.client_id == "broker-1-test"
        assert read == request()
        assert await asked == remaining(2)
        assert str(peer) == f"broker 3 at 127.0.0.1:{played.port}"


@story
async def test_one_at_a_time_in_the_order_in_which_they_were_asked():
    async with broker3() as (played, peer, _):
        asked = [ask(peer, number) for number in range(5)]
        for number in range(5):
            header, read, writer = await played.asked.get()
            assert read == request(number)
            await turns()
            assert played.asked.empty()  # the next waits for this answer
            assert not asked[number].done()
            writer.write(encode_response(header, remaining(number)))
        assert await asyncio.gather(*asked) == [remaining(number) for number in range(5)]
        assert played.connections == 1


@story
async def test_a_large_answer_in_many_pieces():
    async with broker3() as (played, peer, _):
        follower = SimpleNamespace(
            replica_id=1, max_wait=500, min_bytes=1, max_bytes=1, isolation_level=0, topics=()
        )
        asked = asyncio.create_task(peer.ask(Api.FETCH, follower))
        header, read, writer = await played.asked.get()
        assert read.replica_id == 1
        records = bytes(range(256)) * 40_000  # ten megabytes
        partition = fetch.FetchedPartition(0, high_watermark=9, records=records)
        response = fetch.FetchAnswer([fetch.FetchedTopic("t", [partition])])
        writer.write(encode_response(header, response))
        (topic,) = (await asked).responses
        assert topic.partitions[0].records == records
        again = ask(peer)
        await played.answer()
        assert await again == remaining(0)


@story
async def test_nobody_listens():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    peer = Peer("127.0.0.1", port, 3, Links(), "me", ANSWER_S)
    with pytest.raises(OSError, match=str(port)):
        await ask(peer)


@story
async def test_no_answer_in_time():
    async with broker3(timeout=0.05) as (played, peer, _):
        with pytest.raises(TimeoutError, match=r"broker 3 at .* has not answered within 0\.05 s"):
            await ask(peer)
        await until(lambda: played.hung_up == 1)


@story
async def test_a_late_answer_is_not_that_of_the_next_request():
    async with broker3(timeout=1.0) as (played, peer, _):
        with pytest.raises(TimeoutError):
            await ask(peer)
        header, _, first = await played.asked.get()
        asked = ask(peer, 2)
        late = header._replace(correlation_id=header.correlation_id + 1)
        first.write(encode_response(late, remaining(1)))
        await played.answer(left=2)
        assert await asked == remaining(2)
        assert played.connections == 2


@story
async def test_the_time_of_a_request_begins_with_its_turn():
    async with broker3(timeout=1.0) as (played, peer, _):
        asked = [ask(peer, number) for number in range(3)]
        for number in range(3):  # the last one has to wait for longer than that
            header, _, writer = await played.asked.get()
            await asyncio.sleep(0.5)
            writer.write(encode_response(header, remaining(number)))
        assert await asyncio.gather(*asked) == [remaining(number) for number in range(3)]


@story
async def test_the_other_side_goes_away_and_comes_back():
    async with broker3() as (played, peer, _):
        asked = [ask(peer, number) for number in range(2)]
        _, _, writer = await played.asked.get()
        writer.close()
        with pytest.raises(ConnectionError, match="the other side closed the connection"):
            await asked[0]
        _, read = await played.answer(left=1)  # who waited goes on over a new one
        assert read == request(1)
        assert await asked[1] == remaining(1)
        assert played.connections == 2


@story
async def test_a_connection_that_was_closed_while_idle_is_made_again():
    async with broker3() as (played, peer, _):
        asked = ask(peer)
        header, _, writer = await played.asked.get()
        writer.write(encode_response(header, remaining(0)))
        await asked
        writer.close()
        await until(lambda: played.hung_up == 1)
        await turns()
        asked = ask(peer)
        await played.answer(left=3)
        assert await asked == remaining(3)


@pytest.mark.parametrize(
    "wrong",
    [
        pack(">i", -5),
        pack(">i", 2**31 - 1),
        pack(">ii", 4, 1),
        pack(">iibhbb", 9, 2, 0, 0, 1, 0),
        pack(">iibhbb", 9, 1, 0, 9999, 1, 0),
        pack(">iibhbb", 9, 1, 0, 0, 1, 0)[:-1] + b"\x01\x63\xff",
    ],
    ids=["size below 0", "huge", "too short", "another's", "no error code", "cut tag"],
)
@story
async def test_what_is_no_answer_closes_the_connection(wrong):
    async with broker3() as (played, peer, _):
        asked = ask(peer)
        _, _, writer = await played.asked.get()
        writer.write(wrong)
        with pytest.raises(ConnectionError, match="does not speak Kafka's protocol"):
            await asked
        await until(lambda: played.hung_up == 1)
        asked = ask(peer)
        await played.answer(left=1)
        assert await asked == remaining(1)


@pytest.mark.parametrize("at_once", [True, False])
@story
async def test_an_answer_that_nobody_asked_for_closes_the_connection(at_once):
    async with broker3() as (played, peer, _):
        asked = ask(peer)
        header, _, writer = await played.asked.get()
        whole = encode_response(header, remaining(1))
        writer.write(whole + whole if at_once else whole)
        assert await asked == remaining(1)
        if not at_once:
            writer.write(whole)
        await until(lambda: played.hung_up == 1)


@story
async def test_whoever_is_cancelled_closes_the_connection():
    async with broker3() as (played, peer, _):
        asked = ask(peer)
        await played.asked.get()
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        await until(lambda: played.hung_up == 1)


@story
async def test_whoever_is_cancelled_while_waiting_disturbs_nobody():
    async with broker3() as (played, peer, _):
        first, second, third = (ask(peer, number) for number in range(3))
        header, _, writer = await played.asked.get()
        second.cancel()
        await turns()
        writer.write(encode_response(header, remaining(0)))
        assert await first == remaining(0)
        _, read = await played.answer(left=2)
        assert read == request(2)
        assert await third == remaining(2)
        assert played.connections == 1


@story
async def test_close_ends_what_is_on_the_way():
    async with broker3() as (played, peer, _):
        asked = ask(peer)
        await played.asked.get()
        peer.close()
        with pytest.raises(ConnectionError, match="this side closed"):
            await asked
        await until(lambda: played.hung_up == 1)


class TestLinks:
    @staticmethod
    async def silence(played, asked):
        """Nothing arrives and nothing breaks."""
        await turns()
        await asyncio.sleep(0.05)
        assert played.asked.empty()
        assert not asked.done()

    @story
    async def test_a_cut_link_lets_no_connection_be_made(self):
        async with broker3() as (played, peer, links):
            links.change("3", out_cut=True)
            asked = ask(peer)
            await self.silence(played, asked)
            assert played.connections == 0
            links.heal()
            await played.answer(left=1)
            assert await asked == remaining(1)

    @story
    async def test_a_cut_link_stops_what_goes_over_an_old_connection(self):
        async with broker3() as (played, peer, links):
            asked = ask(peer)
            await played.answer()
            await asked
            links.change("3", out_cut=True)
            asked = ask(peer)
            await self.silence(played, asked)
            links.heal()
            await played.answer(left=1)
            assert await asked == remaining(1)
            assert played.connections == 1

    @story
    async def test_a_link_that_stays_cut_is_a_failure_in_the_end(self):
        async with broker3(timeout=0.05) as (played, peer, links):
            links.change("3", out_cut=True)
            with pytest.raises(TimeoutError):
                await ask(peer)
            assert played.connections == 0

    @story
    async def test_a_connection_may_break_behind_a_cut_link(self):
        async with broker3() as (played, peer, links):
            asked = ask(peer)
            header, _, writer = await played.asked.get()
            writer.write(encode_response(header, remaining(0)))
            await asked
            links.change("3", out_cut=True)
            asked = ask(peer)
            await turns()
            writer.close()
            await until(lambda: played.hung_up == 1)
            await turns()
            links.heal()
            with pytest.raises(ConnectionError, match="broke before the request was sent"):
                await asked
            assert played.asked.empty()

    @story
    async def test_the_links_of_others_do_not_matter(self):
        async with broker3() as (played, peer, links):
            links.change("2", out_cut=True)
            asked = ask(peer)
            await played.answer()
            assert (await asked).error_code == ErrorCode.none

    @story
    async def test_a_slow_link(self):
        async with broker3() as (played, peer, links):
            asked = ask(peer)
            await played.answer()
            await asked
            links.change("3", delay=0.1)
            started = asyncio.get_running_loop().time()
            asked = ask(peer)
            await played.answer()
            await asked
            assert asyncio.get_running_loop().time() - started >= 0.1
