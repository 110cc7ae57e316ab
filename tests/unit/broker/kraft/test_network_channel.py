"""Requests to another voter that does not answer, or not as it should."""

import asyncio
from functools import partial

from engine.broker.kraft.controller_peer import connect_to_controller
from engine.broker.kraft.network_channel import NetworkChannel
from engine.broker.kraft.wire_messages import response_to_wire
from engine.config.quorum import VoterAddress
from engine.errors import ErrorCode
from engine.links import Links
from engine.raft.messages import (
    BeginQuorumEpochRequest,
    RaftFetchRequest,
    RaftMessage,
    VoteRequest,
    VoteResponse,
)
from engine.raft.model import OffsetAndEpoch
from engine.wire.codec import decode_request, encode_response
from engine.wire.controller_apis import CONTROLLER_APIS, ControllerApi
from tests.limits import ANSWER_S

FETCH = RaftMessage(102, 1, RaftFetchRequest("c", 5, 101, 40, 4, 500))
VOTE = RaftMessage(102, 2, VoteRequest("c", 6, 101, OffsetAndEpoch(40, 4)))
BEGIN = RaftMessage(102, 3, BeginQuorumEpochRequest("c", 5, 101))
GRANTED = VoteResponse(ErrorCode.none, 6, None, True)


class Outcomes:
    """What a channel reports."""

    def __init__(self) -> None:
        self.answers: list[RaftMessage] = []
        self.failures: list[RaftMessage] = []
        self.come = asyncio.Event()

    def answered(self, message: RaftMessage) -> None:
        self.answers.append(message)
        self.come.set()

    def failed(self, message: RaftMessage, error: OSError) -> None:
        self.failures.append(message)
        self.come.set()


async def voter(reader, writer):
    """Grants votes, and never answers anything else."""
    while size := await reader.read(4):  # small requests come in one piece
        frame = await reader.readexactly(int.from_bytes(size))
        header, _ = decode_request(frame, CONTROLLER_APIS, CONTROLLER_APIS)
        if header.api_key == ControllerApi.VOTE:
            wire = response_to_wire(GRANTED)
            writer.write(b"".join(encode_response(header, wire, CONTROLLER_APIS)))
    writer.close()
    await writer.wait_closed()


async def exchange(timeout_ms, *messages, port=None):
    """Send these one after the other, and wait for the first outcome."""
    serving = []

    def connected(reader, writer):
        serving.append(asyncio.create_task(voter(reader, writer)))

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    outcomes = Outcomes()
    address = VoterAddress("127.0.0.1", port or server.sockets[0].getsockname()[1])
    voters = {101: address, 102: address}
    connect = partial(connect_to_controller, Links(), None)
    told = outcomes.answered, outcomes.failed
    channel = NetworkChannel(101, voters, connect, timeout_ms, *told)
    async with asyncio.timeout(ANSWER_S), server:
        for message in messages:
            channel.send(message)
            await asyncio.sleep(0)
        await outcomes.come.wait()
        await channel.close()
        await asyncio.gather(*serving, return_exceptions=True)  # connections may have broken
    return outcomes


def test_a_newer_request_does_not_wait_for_the_answer_to_an_older_one():
    outcomes = asyncio.run(exchange(1_000_000, FETCH, VOTE))
    assert outcomes.answers == [VOTE._replace(body=GRANTED)]
    assert outcomes.failures == []


def test_a_request_without_an_answer_in_time_has_failed():
    assert asyncio.run(exchange(10, BEGIN)).failures == [BEGIN]


def test_a_request_to_a_voter_that_does_not_listen_has_failed():
    assert asyncio.run(exchange(1000, VOTE, port=1)).failures == [VOTE]
