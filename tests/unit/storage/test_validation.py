"""What may enter a log, and what a client is told of the rest."""

import pytest

from engine.config import TopicConfig
from engine.errors import ApiException, ErrorCode
from engine.storage import records
from engine.storage.batch import HEADER_SIZE, Codec, Header, seal
from engine.storage.records import Record
from engine.storage.validation import NAMED, validate, validate_copied
from tests.unit.storage.disk import NOW, batch, place, sequenced
from tests.unit.storage.older import message, newer

PLAIN = TopicConfig()
COMPACTED = TopicConfig(cleanup_policy=("compact",))


def edited(data: bytes, **fields: int) -> bytes:
    """With other header fields, and a CRC that is right."""
    return seal(Header.parse(data)._replace(**fields), data[HEADER_SIZE:])


def refused(data: bytes, config: TopicConfig = PLAIN, **how: bool) -> tuple[str, str]:
    with pytest.raises(ApiException) as raised:
        validate(data, config, NOW, **how)
    return raised.value.code.name, raised.value.message


def test_a_sound_batch_is_taken_as_it_is() -> None:
    data = batch(3)
    assert validate(data, PLAIN, NOW) == Header.parse(data)
    assert validate(memoryview(data), PLAIN, NOW) == Header.parse(data)


@pytest.mark.parametrize("codec", Codec)
def test_every_codec_is_taken(codec: Codec) -> None:
    data = batch(3, codec=codec)
    assert validate(data, PLAIN, NOW).codec is codec
    assert validate(data, COMPACTED, NOW).codec is codec


@pytest.mark.parametrize(
    ("data", "code", "says"),
    [
        (b"", "invalid_record", "0 bytes"),
        (batch()[:-1], "invalid_record", "header has"),
        (batch() + batch(), "invalid_record", "header has"),  # one batch at a time
        (batch()[:-1] + b"\1", "corrupt_message", "CRC"),
        (batch()[:16] + b"\1" + batch()[17:], "invalid_record", "magic 1"),
        (place(batch(), 5), "invalid_record", "base offset 5"),
        (edited(batch(3), count=2), "invalid_record", "2 records, last offset delta 2"),
        (edited(batch(3), last_offset_delta=5), "invalid_record", "last offset delta 5"),
        (edited(batch(), count=0, last_offset_delta=-1), "invalid_record", "0 records"),
        (batch(control=True, transactional=True), "invalid_record", "control"),
        (sequenced(7, -1), "invalid_record", "sequence -1"),
        (sequenced(7, -2), "invalid_record", "sequence -2"),
        (edited(batch(), attributes=5), "unknown_server_error", "no codec 5"),
        (edited(batch(codec=Codec.GZIP), attributes=4), "unknown_server_error", "zstd"),
        (edited(batch(), attributes=8), "invalid_timestamp", "LogAppendTime"),
    ],
)
def test_what_is_refused(data: bytes, code: str, says: str) -> None:
    found, message = refused(data)
    assert found == code
    assert says in message


def test_the_broker_may_write_what_clients_may_not() -> None:
    marker = batch(control=True, transactional=True)
    assert validate(marker, PLAIN, NOW, client=False).is_control
    assert validate(sequenced(7, -1), PLAIN, NOW, client=False).producer_id == 7


def test_sizes() -> None:
    data = batch(1, 1000)
    fits = TopicConfig(max_message_bytes=len(data), segment_bytes=len(data))
    assert validate(data, fits, NOW)
    small = TopicConfig(max_message_bytes=len(data) - 1)
    assert refused(data, small)[0] == "message_too_large"
    short = TopicConfig(segment_bytes=len(data) - 1)
    assert refused(data, short)[0] == "record_list_too_large"


def test_compaction_needs_keys() -> None:
    keyless = records.encode([Record(0, NOW, b"k", b"v"), Record(1, NOW, None, b"v")])
    assert validate(keyless, PLAIN, NOW)
    code, message = refused(keyless, COMPACTED)
    assert code == "invalid_record"
    assert "Compacted topic cannot accept message without key." in message
    assert validate(records.encode([Record(0, NOW, b"", None)]), COMPACTED, NOW)


def deltas(*numbers: int) -> bytes:
    """A batch of records with these offset deltas, and a header that fits their count."""
    record = records.encode([Record(0, NOW, b"k", b"v")])[HEADER_SIZE:]
    payload = b"".join(record[:3] + bytes([2 * number]) + record[4:] for number in numbers)
    last = len(numbers) - 1
    header = Header.parse(batch())._replace(count=len(numbers), last_offset_delta=last)
    return seal(header, payload)


@pytest.mark.parametrize(
    "data",
    [
        deltas(0, 0),
        deltas(0, 2, 2),
        deltas(1, 0),
        deltas(0, 2),
        edited(batch(3), count=2, last_offset_delta=1),
        edited(batch(3), count=4, last_offset_delta=3),
        seal(Header.parse(batch()), b"\x0c\0\0\0\x7f\0\0"),  # a key of -64 bytes
        seal(Header.parse(batch()), b"\x0c\0\0\0\x7e\0\0"),  # a key that is cut off
    ],
)
def test_what_compaction_could_not_decode_is_refused(data: bytes) -> None:
    with pytest.raises(ApiException) as cannot:
        records.decode(data)
    assert refused(data, COMPACTED) == (cannot.value.code.name, cannot.value.message)
    assert cannot.value.code is ErrorCode.invalid_record
    assert validate(deltas(0, 1, 2), COMPACTED, NOW)


@pytest.mark.parametrize("away", [-1001, 1001])
def test_a_timestamp_too_far_away(away: int) -> None:
    strict = TopicConfig(message_timestamp_difference_max_ms=1000)
    assert validate(batch(at=NOW + away // 2), strict, NOW)
    code, message = refused(batch(at=NOW + away), strict)
    assert code == "invalid_timestamp"
    assert f"Timestamp {NOW + away} is out of range" in message
    assert validate(batch(at=-1), strict, NOW)
    ours = TopicConfig(
        message_timestamp_difference_max_ms=1000, message_timestamp_type="LogAppendTime"
    )
    assert validate(batch(at=NOW + away), ours, NOW)  # the broker's clock will replace it


def named(data: bytes, config: TopicConfig) -> list[int]:
    """The numbers of the records that the refusal of a batch names."""
    with pytest.raises(ApiException) as raised:
        validate(data, config, NOW)
    return list(raised.value.records)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_the_records_without_a_key_are_named(codec: Codec) -> None:
    keys = [None if number % 10 == 3 else b"k" for number in range(100)]
    data = [Record(number, NOW, key, b"v") for number, key in enumerate(keys)]
    assert named(records.encode(data, codec=codec), COMPACTED) == list(range(3, 100, 10))


def test_the_records_of_a_wrong_time_are_named_and_also_those_without_a_key() -> None:
    strict = TopicConfig(message_timestamp_difference_max_ms=1000, cleanup_policy=("compact",))
    times = [NOW, NOW + 1001, -1, NOW - 1000, NOW - 1001]
    data = [Record(number, at, b"k", b"v") for number, at in enumerate(times)]
    data[3] = data[3]._replace(key=None)
    assert sorted(named(records.encode(data), strict)) == [1, 3, 4]
    assert refused(records.encode(data), strict)[0] == "invalid_timestamp"


def test_of_very_many_bad_records_the_first_are_named() -> None:
    data = [Record(number, NOW, None, None) for number in range(2 * NAMED)]
    assert named(records.encode(data), COMPACTED) == list(range(NAMED))
    early = [Record(number, 5, b"", None) for number in range(2 * NAMED)]
    strict = TopicConfig(message_timestamp_difference_max_ms=1000)
    assert named(records.encode(early), strict) == list(range(NAMED))


# -- from a leader ---------------------------------------------------------------------------


def test_a_torn_last_batch_is_left_for_later() -> None:
    data = place(batch(2), 5) + place(batch(3), 9)  # there may be a gap
    whole = [header.base_offset for header in validate_copied(data, 5)]
    assert whole == [5, 9]
    for torn in range(len(place(batch(3), 9))):
        cut = data[: len(data) - 1 - torn]
        assert [header.base_offset for header in validate_copied(cut, 5)] == [5]
    assert validate_copied(b"", 5) == []


def test_a_leader_may_not_send_what_the_log_has() -> None:
    with pytest.raises(ApiException, match="offset 5, but the log ends at 6") as raised:
        validate_copied(place(batch(2), 5), 6)
    assert raised.value.code is ErrorCode.offset_out_of_range
    with pytest.raises(ApiException, match="offset 6, but the log ends at 7"):
        validate_copied(place(batch(2), 5) + place(batch(), 6), 5)


@pytest.mark.parametrize(
    "other",
    [
        message(0, 6, b""),
        message(1, 6),
        newer(place(batch(), 6)),
        edited(place(batch(), 6), attributes=0x80),
    ],
)
@pytest.mark.parametrize("before", [b"", place(batch(), 5)])
def test_what_cannot_be_read_is_not_taken_from_a_leader(before: bytes, other: bytes) -> None:
    with pytest.raises(ApiException, match="cannot read, at offset") as raised:
        validate_copied(before + other, 5)
    assert raised.value.code is ErrorCode.unsupported_for_message_format


def test_attributes_without_a_meaning_are_refused_and_the_delete_horizon_is_known() -> None:
    with pytest.raises(ApiException, match="attributes 0x80") as raised:
        validate(edited(batch(), attributes=0x80), PLAIN, NOW)
    assert raised.value.code is ErrorCode.invalid_record
    assert validate(edited(batch(), attributes=0x40), PLAIN, NOW)


def test_a_corrupt_batch_from_a_leader_is_refused_with_its_place() -> None:
    good, bad = place(batch(), 5), bytearray(place(batch(), 6))
    bad[-1] ^= 1
    with pytest.raises(ApiException, match=f"at byte {len(good)}, offset 6") as raised:
        validate_copied(good + bad, 5)
    assert raised.value.code is ErrorCode.corrupt_message
