"""The exercises of 06_sending, and how each is judged: by a live cluster.

decoded   a function that reads the bytes of a Fetch response, beside what was written
hashed    a function that chooses partitions for a live producer, beside kafka-python's
"""

import socket
import struct
from collections.abc import Callable
from typing import Any

import kafka  # type: ignore[import-untyped]

from engine import Cluster
from widgets import Trial
from widgets.exercise import Code

Rows = list[tuple[int, bytes | None, bytes | None]]  # offset, key, value
BATCHES: list[list[tuple[bytes | None, bytes | None]]] = [
    [(None, b"tea"), (b"k" * 70, b"a long key"), (b"gone", None)],
    [(b"", b"x" * 200), (None, "Grüße".encode())],
]
KEYS = ["x" * size for size in range(20)] + ["Grüße", "日本", *map(str, range(30))]


def decoded(cluster: Cluster) -> Trial:
    return Trial(
        "decode(response): the offset, key and value of each record in a Fetch response",
        lambda code: _decodes(code, cluster),
        hint="Numbers in a record are varints: seven bits a byte, lowest first, then zigzag. There "
        "may be several batches, and a key or a value may be absent: its length is -1.",
    )


def _decodes(code: Code, cluster: Cluster) -> str:
    topic = cluster.topic("by-hand", replicas=[1])
    written: Rows = []
    for batch in BATCHES:
        with cluster.producer({"linger.ms": 1000, "acks": "all"}) as producer:
            for key, value in batch:
                producer.produce(topic, value, key)
        written += [(len(written) + n, *row) for n, row in enumerate(batch)]
    response = _fetched(cluster, topic)
    try:
        found = [tuple(row) for row in code(response)]
    except Exception as error:  # the learner's, and told
        return f"it raises {type(error).__name__}: {error}"
    if found == written:
        return ""
    if len(found) != len(written):
        return f"it gives {len(found)} of {len(written)} records"
    wrong = next(n for n, row in enumerate(found) if row != written[n])
    return f"record {wrong} is {found[wrong]}, and {written[wrong]} was written"


def _fetched(cluster: Cluster, topic: str) -> bytes:
    """The response to a Fetch of version 4 from the start of partition 0, without its size."""
    name = topic.encode()
    body = struct.pack(">iiiibi", -1, 0, 1, 1 << 20, 0, 1)
    body += struct.pack(">h", len(name)) + name + struct.pack(">iiqi", 1, 0, 0, 1 << 20)
    request = struct.pack(">hhih", 1, 4, 7, -1) + body
    port = cluster.state().brokers[cluster.leader(topic)].port
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        with connection.makefile("rb") as stream:
            return stream.read(*struct.unpack(">i", stream.read(4)))


def hashed(cluster: Cluster) -> Trial:
    return Trial(
        "my_murmur2(key): a live producer places keys with it where kafka-python does",
        lambda code: _hashes(code, cluster),
        hint="Cut to 32 bits after every product, and look at keys of four bytes and of three.",
    )


def _hashes(code: Code, cluster: Cluster) -> str:
    topic, placed = cluster.topic("hashed", partitions=7), dict[str, Any]()

    def choose(key: bytes, partitions: int) -> int:
        return (int(code(key)) & 0x7FFFFFFF) % partitions

    with kafka.KafkaProducer(bootstrap_servers=cluster.bootstrap.split(",")) as theirs:
        wanted = {key: theirs.send(topic, b"-", key.encode()) for key in KEYS}
        expected = {key: future.get(30).partition for key, future in wanted.items()}
    try:
        with cluster.producer({"partitioner": choose}) as yours:
            for key in KEYS:
                yours.produce(topic, b"-", key, on_delivery=_note(placed, key))
    except Exception as error:  # the learner's, and told
        return f"the producer got {type(error).__name__}: {error}"
    wrong = [key for key in KEYS if placed.get(key) != expected[key]]
    if not wrong:
        return ""
    key = wrong[0]
    places = f"in partition {placed.get(key)}, and kafka-python's in {expected[key]}"
    return f"{len(wrong)} of {len(KEYS)} keys are elsewhere: {key!r} is {places}"


def _note(placed: dict[str, Any], key: str) -> Callable[[Any, Any], None]:
    return lambda error, message: placed.update({key: message.partition()})
