"""The proxies between the servers of an ensemble: bytes pass, wait at a cut, and arrive later."""

import socket
from collections.abc import Iterator

import pytest

from engine.cluster.link_faults import LinkFaults
from engine.cluster.ports import HOST
from engine.cluster.zookeepers.quorum_links import CONNECTED, REFUSED, LoopThread, QuorumLinks

SOON = 0.3  # seconds in which nothing may arrive


class Ends:
    """Server 1's connection to server 2, as both see it."""

    def __init__(self, links: QuorumLinks, proxy: int, listener: socket.socket) -> None:
        self.links, self.proxy, self.listener = links, proxy, listener

    def dial(self, port: int | None = None) -> socket.socket:
        """The greeting and the request of Java's SOCKS client."""
        end = socket.create_connection((HOST, self.proxy), timeout=10)
        end.sendall(b"\5\2\0\2")
        assert end.recv(2) == b"\5\0"
        port = port or self.listener.getsockname()[1]
        end.sendall(b"\5\1\0\1" + socket.inet_aton(HOST) + port.to_bytes(2, "big"))
        return end

    def set(self, faults: LinkFaults) -> None:
        for number in (1, 2):
            self.links.change(number, faults.of(f"zookeeper-{number}"))


@pytest.fixture
def ends() -> Iterator[Ends]:
    thread = LoopThread("test of links")
    links = QuorumLinks(thread, (1, 2))
    with socket.create_server((HOST, 0)) as listener:
        listener.settimeout(10)
        proxies = links.start({1: [1], 2: [listener.getsockname()[1]]})
        yield Ends(links, proxies[1], listener)
        links.close()
        thread.close()


def nothing(end: socket.socket) -> bool:
    """Nothing comes for a while."""
    end.settimeout(SOON)
    try:
        end.recv(100)
    except TimeoutError:
        return True
    finally:
        end.settimeout(10)
    return False


def test_bytes_pass_in_both_directions_and_so_does_the_end(ends):
    with ends.dial() as near, ends.listener.accept()[0] as far:
        assert near.recv(10) == CONNECTED
        near.sendall(b"vote")
        assert far.recv(100) == b"vote"
        far.sendall(b"mine")
        assert near.recv(100) == b"mine"
        far.close()
        assert near.recv(100) == b""


def test_a_cut_holds_back_one_direction_and_loses_nothing(ends):
    faults = LinkFaults()
    with ends.dial() as near, ends.listener.accept()[0] as far:
        far.settimeout(10)
        assert near.recv(10) == CONNECTED
        faults.cut("zookeeper-1", "zookeeper-2")
        ends.set(faults)
        near.sendall(b"vote")
        assert nothing(far)
        far.sendall(b"mine")
        assert near.recv(100) == b"mine"
        faults.heal()
        ends.set(faults)
        assert far.recv(100) == b"vote"


def test_a_new_connection_waits_for_both_directions(ends):
    faults = LinkFaults()
    faults.cut("zookeeper-2", "zookeeper-1")
    ends.set(faults)
    with ends.dial() as near:
        assert nothing(near)
        faults.heal()
        ends.set(faults)
        with ends.listener.accept()[0]:
            assert near.recv(10) == CONNECTED


def test_a_server_that_is_down_refuses(ends):
    with socket.socket() as free:
        free.bind((HOST, 0))
        with ends.dial(free.getsockname()[1]) as near:
            assert near.recv(10) == REFUSED
            assert near.recv(10) == b""
