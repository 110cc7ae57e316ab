"""Broken and forged requests to the controllers of a quorum: they go on, and nothing is lost.

Nobody but brokers and controllers should reach their listener. Whoever does can make the voters
elect again and again, but can end no process, and the quorum is whole afterwards.
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from random import Random

import pytest

from engine import Cluster
from engine.broker.kraft.wire_messages import APIS_OF_RAFT, request_to_wire
from engine.metadata.meta_properties import read_meta_properties
from engine.raft.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchSnapshotRequest,
    RaftFetchRequest,
    RaftRequest,
    VoteRequest,
)
from engine.raft.model import OffsetAndEpoch
from engine.wire import codec
from engine.wire.controller_apis import CONTROLLER_APIS, ControllerApi
from engine.wire.errors import RequestHeader
from tests.interop.raw import Raw, batch, framed
from tests.interop.watch import until
from tests.properties.test_wire import message, mutated

AT_ONCE = 50
VOTERS, STRANGERS = (101, 102, 103), (1, 7, -1)
LEAST, MOST = -(2**31), 2**31 - 1


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster(brokers=1, metadata="kraft", controllers=3) as cluster:
        yield cluster


def addresses(cluster: Cluster) -> list[str]:
    return [voter.partition("@")[2] for voter in cluster.controllers.split(",")]


def good_frames() -> list[bytes]:
    """Of every API and version: nothing in it, one of all, many of all."""
    return [
        encoded(api, version, message(Random(f"{api} {version}"), declared, size))
        for api in ControllerApi
        for version in range(api.oldest, api.newest + 1)
        for declared in [codec.message(api, version, "request")]
        for size in (0, 1, 2, 3)
    ]


def encoded(api: ControllerApi, version: int, request: object) -> bytes:
    return codec.encode_request(RequestHeader(api, version, 7, "fuzz"), request, CONTROLLER_APIS)[
        4:
    ]


def in_its_api(request: RaftRequest) -> bytes:
    api = APIS_OF_RAFT[type(request)]
    return encoded(api, api.newest, request_to_wire(request))


def forged(random: Random, cluster_id: str) -> RaftRequest:
    """A request of the quorum in the name of a voter, with numbers beyond reason."""

    def epoch() -> int:
        return random.choice([-1, 0, 1, 2, random.randrange(99), 2**30, LEAST, MOST])

    def offset() -> int:
        return random.choice([-1, 0, 1, random.randrange(99), -(2**63), 2**63 - 1])

    def node() -> int:
        return random.choice([*VOTERS, *VOTERS, *STRANGERS])

    successors = tuple(node() for _ in range(random.randrange(4)))
    end, size = OffsetAndEpoch(offset(), epoch()), random.choice([0, -1, 99, MOST])
    position = offset()
    return random.choice(
        [
            VoteRequest(cluster_id, epoch(), node(), end),
            BeginQuorumEpochRequest(cluster_id, epoch(), node()),
            EndQuorumEpochRequest(cluster_id, epoch(), node(), successors),
            RaftFetchRequest(cluster_id, epoch(), node(), offset(), epoch(), 0),
            FetchSnapshotRequest(cluster_id, epoch(), node(), end, position, size),
        ]
    )


@contextmanager
def unharmed(cluster: Cluster) -> Iterator[None]:
    """Afterwards all controllers run, nothing that was there is lost, and there can be more."""
    with Raw(cluster.bootstrap) as client:
        assert client.create("kept") == 0
        assert client.produce("kept", batch("before")).error_code == 0
        yield
        until(lambda: client.create("after") == 0)
        assert client.read("kept")[0].value == b"before"
    for name in ("controller-1", "controller-2", "controller-3"):
        child = cluster.child(name)
        assert child.alive
        assert "Traceback" not in child.output()


def bombard(cluster: Cluster, random: Random, frames: Iterable[bytes]) -> None:
    """Send each on a connection of its own, to the controllers in turn."""
    with ExitStack() as connections:
        for frame in frames:
            raw = connections.enter_context(Raw(random.choice(addresses(cluster))))
            raw.send(framed(frame))


def test_broken_requests_leave_no_trace(cluster: Cluster) -> None:
    random, good = Random(20210419), good_frames()
    with unharmed(cluster):
        for _ in range(60):
            frames = [
                mutated(random, random.choice(good), random.choice(good)) for _ in range(AT_ONCE)
            ]
            bombard(cluster, random, frames)


def test_forged_requests_of_voters_end_no_process_and_leave_a_quorum(cluster: Cluster) -> None:
    random = Random(20221003)
    properties = read_meta_properties(cluster.data / "controller-1")
    assert properties is not None

    with unharmed(cluster):
        for _ in range(30):
            requests = [forged(random, properties.cluster_id) for _ in range(AT_ONCE)]
            bombard(cluster, random, [in_its_api(request) for request in requests])
