"""The hash of a key is the same in every Kafka client, whatever its language."""

import pytest

from engine.client.partitioner import murmur2, partition_of


@pytest.mark.parametrize(
    ("key", "signed"),  # as Kafka's own tests have them
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_murmur2_is_kafkas(key: bytes, signed: int) -> None:
    assert murmur2(key) == signed & 0xFFFFFFFF
    assert partition_of(key, 7) == (signed & 0x7FFFFFFF) % 7


def test_every_partition_gets_its_share() -> None:
    counts = [0] * 4
    for number in range(4000):
        counts[partition_of(b"key-%d" % number, 4)] += 1
    assert min(counts) > 800
