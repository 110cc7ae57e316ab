"""A controller that votes alone, in this process."""

import asyncio
from contextlib import asynccontextmanager
from types import SimpleNamespace

from engine.broker.peer import Peer
from engine.cluster.ports import free_port
from engine.config.quorum import ControllerConfig, parse_voters
from engine.errors import ErrorCode
from engine.links import Links
from engine.quorum_server.controller_server import ControllerServer
from engine.wire.controller_apis import CONTROLLER_APIS, ControllerApi
from tests.limits import ANSWER_S

NODE, CLUSTER = 101, "O2whmP1nSWeNENpX08USQQ"
KEYS = {"controller_quorum_election_timeout_ms": 20, "metadata_max_idle_interval_ms": 0}
QUICK = ControllerConfig(**KEYS)


@asynccontextmanager
async def controller(data, config=QUICK):
    """The connection to a controller that runs."""
    port, ready = free_port(), asyncio.Event()
    voters = parse_voters(f"{NODE}@127.0.0.1:{port}", NODE)
    server = ControllerServer(NODE, port, voters, data, config)
    running = asyncio.create_task(server.run(lambda port: ready.set()))
    try:
        async with asyncio.timeout(ANSWER_S):
            await ready.wait()
            peer = Peer("127.0.0.1", port, NODE, Links(), "test", 5.0, _apis=CONTROLLER_APIS)
            while (await describe(peer)).error_code is ErrorCode.not_leader_or_follower:
                await asyncio.sleep(0)
            yield peer
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def describe(peer, topic="__cluster_metadata"):
    partition = SimpleNamespace(partition_index=0)
    topics = (SimpleNamespace(topic_name=topic, partitions=(partition,)),)
    return await peer.ask(ControllerApi.DESCRIBE_QUORUM, SimpleNamespace(topics=topics))
