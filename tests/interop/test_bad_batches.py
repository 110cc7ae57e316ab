"""Batches that must not enter a log: each is refused with Kafka's code, and only this one.

Beside every bad batch the request holds a good one for another partition, which is stored.
"""

import time
from itertools import count
from struct import pack
from zlib import crc32

import confluent_kafka
import cramjam
import pytest
from confluent_kafka import KafkaError

import engine
from engine.storage import records
from engine.storage.batch import Codec
from engine.storage.records import Record
from engine.wire.apis import Api
from tests.interop.raw import Raw, altered, batch, produce, undecided
from tests.interop.watch import bounded, told, until

CONFIG = {"log.cleaner.enable": "false", "num.partitions": "2"}
SMALL = {"max_message_bytes": 2000, "segment_bytes": 2000}
HOUR_MS = 3_600_000

good = batch("a", "b", "c")
marker = altered(good, attributes=0x20)
control = records.encode([Record(0, 0, b"\0\0\0\0", b"\0\0\0\0\0\0")], control=True)


def old_format(magic: int) -> bytes:
    """A message of the time before batches: offset, size, CRC, magic, attributes, key, value."""
    time = pack(">q", 0) if magic else b""
    body = pack(">bb", magic, 0) + time + pack(">i", -1) + pack(">i", 5) + b"value"
    return pack(">qiI", 0, len(body) + 4, crc32(body)) + body


def at(timestamp: int) -> bytes:
    return records.encode([Record(0, timestamp, None, b"v")])


def late(milliseconds: int) -> bytes:
    return at(time.time_ns() // 1_000_000 + milliseconds)


def bomb(codec: Codec, megabytes: int = 300) -> bytes:
    """A batch of a size that is taken, which holds far more than anyone would want to keep."""
    return altered(good, compressed_zeros(codec, megabytes), attributes=codec, count=3)


def compressed_zeros(codec: Codec, megabytes: int) -> bytes:
    zeros = bytes(megabytes << 20)
    match codec:
        case Codec.GZIP:
            return bytes(cramjam.gzip.compress(zeros, 9))
        case Codec.LZ4:
            return bytes(cramjam.lz4.compress(zeros))
        case Codec.ZSTD:
            return bytes(cramjam.zstd.compress(zeros, 3))
    raise AssertionError(codec)


BAD = {
    "bad CRC": (2, good[:-1] + b"x"),
    "no batch": (87, None),
    "an empty one": (87, b""),
    "less than a header": (87, good[:30]),
    "truncated": (87, good[:-1]),
    "one byte too many": (87, good + b"x"),
    "two batches": (87, good + good),
    "magic 0": (87, old_format(0)),
    "magic 1": (87, old_format(1) * 3),
    "magic 3": (87, good[:16] + b"\3" + good[17:]),
    "a length of -1": (87, good[:8] + pack(">i", -1) + good[12:]),
    "a base offset": (87, pack(">q", 1) + good[8:]),
    "fewer records than offsets": (87, altered(good, count=2)),
    "more records than offsets": (87, altered(good, count=4)),
    "a count of 0": (87, altered(good, b"", count=0, last_offset_delta=-1)),
    "a negative count": (87, altered(good, count=-3, last_offset_delta=-4)),
    "fewer records than the payload": (
        87,
        altered(z := batch("a", "b", "c", codec=Codec.GZIP), z[61:], count=2, last_offset_delta=1),
    ),
    "more records than the payload": (
        87,
        altered(
            z := batch("a" * 50, "b" * 50, codec=Codec.GZIP), z[61:], count=3, last_offset_delta=2
        ),
    ),
    "more records than bytes": (87, altered(good, count=100, last_offset_delta=99)),
    "a control batch": (87, control),
    "a transactional marker": (87, marker),
    "the broker's time": (32, altered(good, attributes=8)),
    "codec 5": (-1, altered(good, attributes=5)),
    "codec 7": (-1, altered(good, attributes=7)),
    "gzip that is none": (-1, altered(good, attributes=1)),
    "snappy that is none": (-1, altered(good, attributes=2)),
    "lz4 that is none": (-1, altered(good, attributes=3)),
    "zstd that is none": (-1, altered(good, attributes=4)),
    "half of a gzip": (-1, altered(z := batch("a" * 999, codec=Codec.GZIP), z[61:-9])),
    "half of a zstd": (-1, altered(z := batch("a" * 999, codec=Codec.ZSTD), z[61:-9])),
}


def send(client: Raw, topic: str, bad: bytes | None, version: int = 9, acks: int = -1) -> int:
    """The code for a bad batch in partition 0, with a good one for partition 1 beside it."""
    end = client.end_offset(topic, 0), client.end_offset(topic, 1)
    request = produce(topic, bad, acks=acks, more=((1, good),))
    answer = client.ask(Api.PRODUCE, request, version)
    first, second = answer.responses[0].partition_responses
    assert second.error_code == 0
    assert second.base_offset == end[1]
    assert first.base_offset == -1
    assert (client.end_offset(topic, 0), client.end_offset(topic, 1)) == (end[0], end[1] + 3)
    return int(first.error_code)


@pytest.mark.parametrize(("code", "bad"), BAD.values(), ids=BAD)
def test_a_bad_batch_is_refused_and_the_others_are_stored(cluster, client, topic, code, bad):
    with told(cluster.child(1), f"{topic}-0"):
        assert send(client, topic, bad) == code


def test_a_batch_may_be_as_large_as_the_topic_says(cluster, client, topic):
    large = "large-" + topic
    assert client.create(large, 2, max_message_bytes=2000, segment_bytes=2000) == 0
    fits = batch("x" * (2000 - len(batch("x" * 1000)) + 1000))
    assert len(fits) == 2000
    assert client.produce(large, fits).error_code == 0
    with told(cluster.child(1), f"{large}-0.*max.message.bytes is 2000"):
        assert send(client, large, batch("x" * 2000)) == 10


def test_a_batch_must_fit_a_segment(cluster, client, topic):
    narrow = "narrow-" + topic
    assert client.create(narrow, 2, max_message_bytes=9000, segment_bytes=2000) == 0
    with told(cluster.child(1), f"{narrow}-0.*segment.bytes is 2000"):
        assert send(client, narrow, batch("x" * 3000)) == 18


def test_a_compacted_topic_wants_keys(cluster, client, topic):
    compacted = "compacted-" + topic
    assert client.create(compacted, 2, cleanup_policy="compact") == 0
    keyed = [Record(0, 0, b"k", b"v"), Record(1, 0, b"k", None)]
    for codec in Codec:
        request = produce(compacted, records.encode(keyed, codec=codec))
        answer = client.ask(Api.PRODUCE, request).responses[0].partition_responses[0]
        assert answer.error_code == 0
        keyless = records.encode([*keyed, Record(2, 0, None, b"v")], codec=codec)
        with told(cluster.child(1), f"{compacted}-0.*without key"):
            assert client.produce(compacted, keyless).error_code == 87
    assert client.end_offset(compacted) == 2 * len(Codec)


@pytest.mark.parametrize("version", [3, 7, 8, 9])
def test_the_bad_records_of_a_batch_are_named(cluster, client, topic, version):
    compacted = f"named-{version}-{topic}"
    assert client.create(compacted, 1, cleanup_policy="compact") == 0
    keys = [None if number % 10 == 3 else b"k" for number in range(100)]
    data = records.encode([Record(number, 0, key, b"v") for number, key in enumerate(keys)])
    with told(cluster.child(1), f"{compacted}-0.*without key"):
        answer = client.produce(compacted, data, version)
    assert answer.error_code == 87
    named = {each.batch_index for each in answer.record_errors}
    assert named == (set(range(3, 100, 10)) if version >= 8 else set())
    assert all("without key" in it.batch_index_error_message for it in answer.record_errors)


@pytest.mark.parametrize("library", [confluent_kafka, engine], ids=lambda it: it.__name__)
def test_a_client_tells_the_bad_records_from_the_others(cluster, client, topic, library):
    compacted, codes = f"mixed-{topic}", {}
    assert client.create(compacted, 1, cleanup_policy="compact") == 0
    producer = library.Producer(
        {"bootstrap.servers": cluster.bootstrap, "linger.ms": 60_000, "enable.idempotence": False}
    )

    def delivered(error, message):
        codes.setdefault(error.code(), []).append(int(message.value()))

    with told(cluster.child(1), f"{compacted}-0.*without key"):
        for number in range(100):
            key = None if number % 10 == 3 else b"k"
            producer.produce(compacted, str(number), key, 0, delivered)
        assert producer.flush(60) == 0
    assert codes.pop(KafkaError.INVALID_RECORD) == list(range(3, 100, 10))
    assert len(codes.pop(KafkaError._INVALID_DIFFERENT_RECORD)) == 90
    assert not codes


@pytest.mark.parametrize("milliseconds", [-HOUR_MS, HOUR_MS])
def test_the_clock_of_a_producer_must_be_about_right(cluster, client, topic, milliseconds):
    punctual = "punctual" + topic + str(milliseconds)
    assert client.create(punctual, 2, message_timestamp_difference_max_ms=HOUR_MS // 2) == 0
    with told(cluster.child(1), f"{punctual}-0.*timestamp"):
        assert send(client, punctual, late(milliseconds)) == 32
    assert client.produce(punctual, late(milliseconds // 4)).error_code == 0


def test_zstd_needs_produce_7(cluster, client, topic):
    zstd = batch("a" * 99, codec=Codec.ZSTD)
    for version in (3, 6):
        with told(cluster.child(1), f"{topic}-0.*zstd"):
            assert send(client, topic, zstd, version) == 76
    assert client.produce(topic, zstd, version=7).error_code == 0


def test_a_transaction_needs_a_transactional_id(cluster, client, topic):
    """No coordinator would know of it, and nobody could end it. The other row is refused, too."""
    bad = undecided("b")
    request = produce(topic, bad, more=((1, good),))
    rows = client.ask(Api.PRODUCE, request).responses[0].partition_responses
    assert {row.error_code for row in rows} == {53}  # TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    with Raw(cluster.bootstrap) as careless:
        careless.post(Api.PRODUCE, produce(topic, bad, acks=0))
        assert careless.hung_up()
    assert client.end_offset(topic) == client.end_offset(topic, 1) == 0
    assert client.produce(topic, bad, transactional_id="t").error_code == 0


@pytest.mark.parametrize("acks", [2, -2, 32767])
def test_acks_are_one_none_or_all(cluster, client, topic, acks):
    with told(cluster.child(1), f"{topic}-0.*acks must be -1, 0 or 1"):
        assert client.produce(topic, good, acks=acks).error_code == 21
    assert client.end_offset(topic) == 0


@pytest.mark.parametrize("bad", [None, good[:-1] + b"x"], ids=["no batch", "bad CRC"])
def test_without_acks_an_error_closes_the_connection(cluster, client, topic, bad):
    with told(cluster.child(1), f"{topic}-0"), Raw(cluster.bootstrap) as careless:
        careless.post(Api.PRODUCE, produce(topic, bad, acks=0, more=((1, good),)))
        assert careless.hung_up()
    assert client.end_offset(topic, 1) == 3


def test_without_acks_all_that_was_sent_is_stored_though_the_client_is_gone(cluster, client, topic):
    with Raw(cluster.bootstrap) as hasty:
        for _ in range(500):
            hasty.post(Api.PRODUCE, produce(topic, good, acks=0))
    until(lambda: client.end_offset(topic) == 1500)


# -- idempotent producers --------------------------------------------------------------------


@pytest.fixture
def numbered(client, topic):
    """Produces a batch of two records of one producer; the code, and where it is stored."""
    producer, values = client.producer_id(), count()

    def send(sequence: int, epoch: int = 0) -> tuple[int, int]:
        data = batch(
            str(next(values)),
            "x",
            producer_id=producer,
            producer_epoch=epoch,
            base_sequence=sequence,
        )
        answer = client.produce(topic, data)
        return int(answer.error_code), answer.base_offset

    return send


def test_sequence_numbers_leave_no_gap(cluster, numbered, topic):
    assert numbered(0) == (0, 0)
    with told(cluster.child(1), f"{topic}-0.*sequence 4, not 2"):
        assert numbered(4) == (45, -1)
    assert numbered(2) == (0, 2)


def test_one_of_the_last_five_again_gets_the_first_answer_again(cluster, client, numbered, topic):
    for sequence in range(0, 14, 2):
        assert numbered(sequence) == (0, sequence)
    for sequence in range(4, 14, 2):
        assert numbered(sequence) == (0, sequence)
    with told(cluster.child(1), f"{topic}-0.*sequence 2, not 14"):
        assert numbered(2) == (45, -1)
    assert [record.value for record in client.read(topic)][::2] == [
        str(number).encode() for number in range(7)
    ]


def test_an_older_epoch_is_fenced(cluster, numbered, topic):
    assert numbered(0, epoch=0) == (0, 0)
    assert numbered(0, epoch=1) == (0, 2)
    with told(cluster.child(1), f"{topic}-0.*epoch 0, but 1"):
        assert numbered(2, epoch=0) == (47, -1)
    assert numbered(2, epoch=1) == (0, 4)


# -- bombs -----------------------------------------------------------------------------------


BOMBS = [Codec.ZSTD, *(pytest.param(it, marks=pytest.mark.long) for it in (Codec.GZIP, Codec.LZ4))]


@pytest.mark.parametrize("codec", BOMBS, ids=lambda codec: codec.name)
def test_a_decompression_bomb_takes_bounded_memory(cluster, client, topic, codec):
    roomy = f"roomy-{topic}"
    assert client.create(roomy, 2, max_message_bytes=4 << 20) == 0
    data = bomb(codec)
    assert len(data) < 4 << 20
    with bounded(cluster.child(1).pid, 150 << 20), told(cluster.child(1), f"{roomy}-0.*holds more"):
        assert send(client, roomy, data) == 10


def test_a_time_is_looked_for_in_a_bomb_without_keeping_its_records(cluster, client, topic):
    number = 300_000
    rising = [Record(offset, offset, None, None) for offset in range(number)]
    with bounded(cluster.child(1).pid, 25 << 20):
        assert client.produce(topic, records.encode(rising, codec=Codec.ZSTD)).error_code == 0
        assert client.offset_of(topic, number - 1) == number - 1


def test_a_bomb_of_records_takes_bounded_memory(cluster, client, topic):
    """A million tiny records in a small batch: they are decoded one by one, and not kept."""
    compacted, number = f"bombed-{topic}", 1_000_000
    assert client.create(compacted, 2, cleanup_policy="compact", max_message_bytes=4 << 20) == 0
    tiny = [Record(offset, 0, b"", b"") for offset in range(number)]
    tiny[-1] = tiny[-1]._replace(key=None)
    data = records.encode(tiny, codec=Codec.ZSTD)
    with bounded(cluster.child(1).pid, 150 << 20), told(cluster.child(1), "without key"):
        assert client.produce(compacted, data).error_code == 87
