"""The bytes of __transaction_state, beside what Kafka's schemas say, written out by hand."""

import pytest

from engine.coordinator import record_codec
from engine.coordinator.effects import TransactionalProducer
from engine.coordinator.transactions.metadata import TransactionMetadata, TxnState
from engine.coordinator.transactions.records import (
    TRANSACTION_STATE_TOPIC,
    TransactionValue,
    decode_key,
    decode_value,
    encode_key,
    encode_value,
)
from engine.errors import ApiException, ErrorCode
from tests.unit.coordinator.transactions.shell import T0, T1, U0

WRITER = TransactionalProducer(4000, 3)
HEAD = "0000 0000000000000fa0 0003 0000ea60"  # version 0, producer 4000, epoch 3, 60 s
TIMES = "0000000000000011 000000000000000c"  # updated at 17, started at 12
PARTITIONS = "00000002  0001 74 00000002 00000000 00000001  0001 75 00000001 00000000"
KEY = bytes.fromhex("0000 0007 62696c6c696e67")


def metadata(state, partitions=(), started=12):
    return TransactionMetadata(WRITER, 60_000, state, frozenset(partitions), 17, started)


VALUES = {
    "Empty": (metadata(TxnState.EMPTY, (), -1), f"{HEAD} 00 ffffffff 0000000000000011 {'ff' * 8}"),
    "Ongoing": (metadata(TxnState.ONGOING, (U0, T1, T0)), f"{HEAD} 01 {PARTITIONS} {TIMES}"),
    "PrepareCommit": (
        metadata(TxnState.PREPARE_COMMIT, (T0, T1, U0)),
        f"{HEAD} 02 {PARTITIONS} {TIMES}",
    ),
    "PrepareAbort": (
        metadata(TxnState.PREPARE_ABORT, (T0, T1, U0)),
        f"{HEAD} 03 {PARTITIONS} {TIMES}",
    ),
    "CompleteCommit": (metadata(TxnState.COMPLETE_COMMIT), f"{HEAD} 04 00000000 {TIMES}"),
    "CompleteAbort": (metadata(TxnState.COMPLETE_ABORT), f"{HEAD} 05 00000000 {TIMES}"),
}


def test_a_key():
    assert encode_key("billing") == KEY
    assert decode_key(KEY) == "billing"


@pytest.mark.parametrize("name", VALUES)
def test_each_state_is_written_and_read(name):
    value, text = VALUES[name]
    data = bytes.fromhex(text)
    assert value.state.value == name
    assert encode_value(value) == data
    assert decode_value(data) == value


def test_a_version_with_tags_is_read():
    """Version 1, which newer releases write; one unknown tag is skipped."""
    partitions = "03  02 74 03 00000000 00000001 00  02 75 02 00000000 00"
    text = f"0001 {HEAD[5:]} 01 {partitions} {TIMES} 01 05 02 abcd"
    assert decode_value(bytes.fromhex(text)) == VALUES["Ongoing"][0]


def test_what_is_forgotten_is_a_tombstone():
    assert encode_value(metadata(TxnState.DEAD)) is None


def test_a_step_on_the_way_is_not_written():
    with pytest.raises(AssertionError, match="PrepareEpochFence"):
        encode_value(metadata(TxnState.PREPARE_EPOCH_FENCE))


@pytest.mark.parametrize("number", ["06", "07", "08", "ff"])
def test_nobody_rests_in_a_state_that_is_only_a_step(number):
    with pytest.raises(ApiException, match=TRANSACTION_STATE_TOPIC) as raised:
        decode_value(bytes.fromhex(f"{HEAD} {number} 00000000 {TIMES}"))
    assert raised.value.code == ErrorCode.invalid_record


def test_what_is_cut_off_or_of_another_version():
    for _, text in VALUES.values():
        whole = bytes.fromhex(text)
        for end in range(len(whole)):
            with pytest.raises(ApiException):
                decode_value(whole[:end])
        with pytest.raises(ApiException, match="unknown version 2"):
            decode_value(b"\0\2" + whole[2:])
    for end in range(len(KEY)):
        with pytest.raises(ApiException):
            decode_key(KEY[:end])
    with pytest.raises(ApiException, match="unknown version 1"):
        decode_key(b"\0\1" + KEY[2:])


@pytest.mark.parametrize("name", VALUES)
def test_what_is_decoded_and_encoded_again_is_the_same(name):
    data = bytes.fromhex(VALUES[name][1])
    assert (
        record_codec.encode(
            record_codec.decode(data, {0: TransactionValue}, TRANSACTION_STATE_TOPIC), 0
        )
        == data
    )


@pytest.mark.parametrize("count", ["fffffffe", "7fffffff"])
def test_so_many_partitions_there_are_not(count):
    with pytest.raises(ApiException):
        decode_value(bytes.fromhex(f"{HEAD} 01 {count} {TIMES}"))
    with pytest.raises(ApiException):  # topics may be null, their numbers not
        decode_value(bytes.fromhex(f"{HEAD} 01 00000001 0001 74 ffffffff {TIMES}"))
