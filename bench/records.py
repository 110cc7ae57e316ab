"""Our encoder and decoder of record batches against those of kafka-python.

    python -m bench.records [--rounds N]

Both do the same work on the same records, in turn, and each row is the median over the rounds
of one's time divided by the other's: 2.0 says that ours took half as long. kafka-python needs
its own codec packages for anything but gzip; where they are not installed, lz4 is left out.
"""

import argparse
import statistics
import time
from collections.abc import Callable

from kafka.codec import has_lz4
from kafka.record.default_records import DefaultRecordBatchBuilder
from kafka.record.memory_records import MemoryRecords

from engine.storage.batch import Codec
from engine.storage.records import Builder, Headers, Record, decode, encode

RECORDS = 100  # in a batch
REPEAT = 20  # batches in one measurement
TRACE: Headers = (("trace-id", b"0af7651916cd43dd8448eb211c80319c"), ("source", b"orders"))


def batch_of(size: int, headers: Headers = ()) -> list[Record]:
    """Records with a key of 10 bytes and values that compress about as well as JSON does."""
    text = b"".join(b'{"order": %d, "customer": %d}' % (i * 7919, i % 97) for i in range(9000))
    return [
        Record(i, 1_700_000_000_000 + i // 3, b"key-%06d" % i, text[i * size :][:size], headers)
        for i in range(RECORDS)
    ]


def measure(ours: Callable[[], object], theirs: Callable[[], object], rounds: int) -> float:
    """How many times faster ours is."""

    def seconds(work: Callable[[], object]) -> float:
        start = time.perf_counter()
        for _ in range(REPEAT):
            work()
        return time.perf_counter() - start

    return statistics.median(seconds(theirs) / seconds(ours) for _ in range(rounds))


def compare(records: list[Record], codec: Codec, rounds: int) -> list[float]:
    """Ratios for encode, Builder and decode; what they give is compared first."""
    theirs_in = [(offset, time, key, value, list(h)) for offset, time, key, value, h in records]

    def their_encode() -> bytes:
        builder = DefaultRecordBatchBuilder(2, codec, False, -1, -1, -1, 1 << 30)
        for record in theirs_in:
            builder.append(*record)
        return bytes(builder.build())

    def build() -> bytes:
        builder = Builder()
        for _, timestamp, key, value, headers in records:
            builder.append(key, value, timestamp, headers)
        return builder.build(codec)

    def their_decode() -> list[object]:
        batch = MemoryRecords(whole).next_batch()
        assert batch is not None
        return list(batch)

    whole = encode(records, codec=codec)
    assert build() == whole
    assert decode(whole) == decode(their_encode()) == records
    assert [record.value for record in their_decode()] == [record.value for record in records]
    return [
        measure(lambda: encode(records, codec=codec), their_encode, rounds),
        measure(build, their_encode, rounds),
        measure(lambda: decode(whole), their_decode, rounds),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Record batches: ours against kafka-python's.")
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    cases = {
        "100 x 200 bytes": batch_of(200),
        "100 x 200 bytes, 2 headers": batch_of(200, TRACE),
        "100 x 1 KB": batch_of(1024),
    }
    codecs = [Codec.NONE, Codec.GZIP, *([Codec.LZ4] if has_lz4() else [])]
    print(f"{'times faster than kafka-python':32} {'encode':>8} {'Builder':>8} {'decode':>8}")
    for codec in codecs:
        for name, records in cases.items():
            ratios = compare(records, codec, rounds)
            row = f"{name}, {codec.name.lower()}" if codec else name
            print(f"{row:32} " + " ".join(f"{ratio:8.1f}" for ratio in ratios))


if __name__ == "__main__":
    main()
