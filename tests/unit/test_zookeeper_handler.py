"""Which server of an ensemble is tried, and whose link holds it back; no server is needed."""

import asyncio
import socket
from collections.abc import Callable

import pytest

from engine.links import Link, Links
from engine.zookeeper.client import EnsembleKazoo
from engine.zookeeper.handler import LoopHandler

HOST = "127.0.0.1"


def test_the_beginning_of_an_epoch_is_no_transaction_that_a_follower_must_know() -> None:
    client = EnsembleKazoo()
    seen = []
    for zxid in (0x200000026, 0x300000000, 0x300000001, 0):  # 0: a new session
        client.last_zxid = zxid
        seen.append(client.last_zxid)
    assert seen == [0x200000026, 0x200000026, 0x300000001, 0]


def tried(story: Callable[[LoopHandler, Links, list[int]], None], listeners: int = 2) -> None:
    async def told() -> None:
        links = Links()
        handler = LoopHandler(asyncio.get_running_loop(), links.zookeeper)
        handler.start()
        ends = [socket.create_server((HOST, 0)) for _ in range(listeners)]
        ports = [end.getsockname()[1] for end in ends]
        handler.servers = {
            (HOST, port): links.to_server(number) for number, port in enumerate(ports, 1)
        }
        try:
            story(handler, links, ports)
        finally:
            for end in ends:
                end.close()

    asyncio.run(told())


def connects(handler: LoopHandler, port: int, timeout: float = 10.0) -> bool:
    try:
        handler.create_connection((HOST, port), hostname=HOST, timeout=timeout).close()
    except TimeoutError:
        return False
    return True


def test_another_server_comes_before_the_one_that_was_tried_last() -> None:
    def story(handler: LoopHandler, links: Links, ports: list[int]) -> None:
        one, other = ports
        found = [connects(handler, port) for port in (one, one, other, one, one, one)]
        assert found == [True, False, True, True, False, True]

    tried(story)


def test_a_single_server_is_tried_again_at_once() -> None:
    def story(handler: LoopHandler, links: Links, ports: list[int]) -> None:
        assert [connects(handler, ports[0]) for _ in range(3)] == [True] * 3

    tried(story, 1)


@pytest.mark.parametrize("fault", [{"out_cut": True}, {"in_cut": True}])
def test_a_cut_holds_for_one_server_or_for_all(fault: dict[str, bool]) -> None:
    def story(handler: LoopHandler, links: Links, ports: list[int]) -> None:
        links.change("zookeeper-1", **fault)
        assert [connects(handler, port, 0.1) for port in ports] == [False, True]
        links.change("zookeeper", **fault)
        assert [connects(handler, port, 0.1) for port in ports] == [False, False]
        links.heal()
        assert [connects(handler, port) for port in ports] == [True, True]
        assert links.to_server(1) == Link()

    tried(story)
