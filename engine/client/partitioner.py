"""Which partition a record goes to: Kafka's default partitioner.

A key always goes to the same partition, whoever sends it, since all clients in all languages have
to agree on the hash (as long as the number of partitions stays the same). It is 32-bit murmur2
with a seed of its own. Where a record without a key goes is up to the sender.
"""

_SEED, _MIX, _SHIFT, _MASK = 0x9747B28C, 0x5BD1E995, 24, 0xFFFFFFFF


def partition_of(key: bytes, partitions: int) -> int:
    return (murmur2(key) & 0x7FFFFFFF) % partitions


def murmur2(data: bytes) -> int:
    """The hash, unsigned; Java shows the same 32 bits as a signed number."""
    size = len(data)
    whole = size & ~3
    mixed = (_SEED ^ size) & _MASK
    for at in range(0, whole, 4):
        word = int.from_bytes(data[at : at + 4], "little") * _MIX & _MASK
        word = (word ^ word >> _SHIFT) * _MIX & _MASK
        mixed = mixed * _MIX & _MASK ^ word
    if whole < size:
        mixed = (mixed ^ int.from_bytes(data[whole:], "little")) * _MIX & _MASK
    mixed = (mixed ^ mixed >> 13) * _MIX & _MASK
    return mixed ^ mixed >> 15
