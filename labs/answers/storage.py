"""Answers to the exercises of 01_storage. There are others; look after you have tried."""

from collections.abc import Sequence

from lab import configure

from engine import Cluster
from engine.storage.batch import crc_ok, scan


def name(offset: int) -> str:
    return f"{offset:020d}.log"


def rolled(cluster: Cluster) -> None:
    cluster.admin.create_topic("rolls", 1, 1, {"segment.bytes": "20000"})
    for _ in range(4):
        cluster.write("rolls", ["x" * 1000] * 19, linger_ms=1000)


def emptied(cluster: Cluster) -> None:
    configure(cluster, "rolls", retention_bytes=20_000)


def lookup(entries: Sequence[tuple[int, int]], offset: int) -> int:
    low, high = 0, len(entries)  # the entries before `low` are not above, those from `high` on are
    position = 0
    while low < high:
        middle = (low + high) // 2
        found, at = entries[middle]
        if found <= offset:
            low, position = middle + 1, at
        else:
            high = middle
    return position


def kept(keys: Sequence[str]) -> list[int]:
    return sorted({key: offset for offset, key in enumerate(keys)}.values())


def good(data: bytes) -> int:
    end = 0
    for position, header in scan(data):
        if not crc_ok(data, position, header):
            break
        end = position + header.size
    return end
