"""Twenty thousand broken requests, each on a connection of its own, to a real broker.

What only has to be read is tried in tests/properties, many times as often. Here what is read as a
request is carried out, too: with numbers beyond reason, names of nothing, and torn batches.
"""

import socket
from contextlib import ExitStack
from random import Random

import pytest

from engine.wire import codec
from engine.wire.apis import Api
from engine.wire.errors import RequestHeader
from tests.interop.raw import Message, Raw, batch, create, fetch, framed, metadata, produce
from tests.interop.watch import bounded, sockets, until
from tests.properties.test_wire import SERVED, mutated, seeds

AT_ONCE = 200
CONFIG = {"num.partitions": "1", "log.index.size.max.bytes": "4096"}


def sensible(client: Raw, topic: str) -> list[bytes]:
    """Requests that the broker would grant, before they are broken."""
    numbered = batch("a", "b", producer_id=client.producer_id(), producer_epoch=0, base_sequence=0)
    each = Message(partition_index=0, current_leader_epoch=-1, timestamp=1)
    offsets = Message(
        replica_id=-1, isolation_level=0, topics=(Message(name=topic, partitions=(each,)),)
    )
    configs = Message(
        resources=(Message(resource_type=2, resource_name=topic, configuration_keys=None),),
        include_synonyms=True,
        include_documentation=True,
    )
    wanted = [
        *((Api.PRODUCE, version, produce(topic, numbered)) for version in range(3, 10)),
        *((Api.PRODUCE, 9, produce(topic, batch("a" * 99, codec=codec))) for codec in range(1, 5)),
        *((Api.FETCH, version, fetch(topic, 0)) for version in range(4, 13)),
        (Api.FETCH, 12, fetch(topic, 0, session=(0, 0))),
        (Api.METADATA, 11, metadata(topic, "new", create=True)),
        (Api.CREATE_TOPICS, 7, create("made", retention_ms=1000)),
        (Api.LIST_OFFSETS, 6, offsets),
        (Api.DESCRIBE_CONFIGS, 4, configs),
    ]
    return [
        codec.encode_request(RequestHeader(api, version, 7, "fuzz"), request)[4:]
        for api, version, request in wanted
    ]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("frames", [8_000, pytest.param(20_000, marks=pytest.mark.long)])
def test_broken_requests_leave_no_trace(cluster, client, topic, frames):
    broker, random = cluster.child(1), Random(20210419)
    # What is broken may still be a request to delete the topic that is named in it.
    kept = f"nobody-names-it-{frames}"
    assert client.create(kept, partitions=2) == 0
    assert client.produce(kept, batch("before")).error_code == 0
    good = seeds(SERVED)
    good += sensible(client, topic) * (len(good) // 50)
    before = sockets(broker.pid)
    with bounded(broker.pid, 100 << 20):
        for _ in range(frames // AT_ONCE):
            with ExitStack() as connections:
                for _ in range(AT_ONCE):
                    frame = mutated(random, random.choice(good), random.choice(good))
                    raw = connections.enter_context(Raw(cluster.bootstrap))
                    raw.send(framed(frame))
            assert client.is_served()
        until(lambda: sockets(broker.pid) <= before)
    assert broker.alive
    assert "Traceback" not in broker.output()
    assert "in the middle of a request" not in broker.output()  # all of them arrived whole
    assert client.produce(kept, batch("after"), partition=1).error_code == 0
    assert client.read(kept)[0].value == b"before"


def test_noise_leaves_no_trace(cluster, client, topic):
    """Streams that are no frames at all, and streams that end anywhere."""
    broker, random = cluster.child(1), Random(7)
    stream = b"".join(framed(frame) for frame in sensible(client, topic))
    before = sockets(broker.pid)
    for _ in range(500):
        with socket.create_connection(cluster.bootstrap.split(":")) as noise:
            if random.random() < 0.5:
                noise.sendall(random.randbytes(random.randrange(1, 3000)))
            else:
                noise.sendall(stream[: random.randrange(1, len(stream))])
    until(lambda: sockets(broker.pid) <= before)
    assert client.is_served()
    assert "Traceback" not in broker.output()
