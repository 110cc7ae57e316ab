"""dump-log --transaction-log-decoder, on records of __transaction_state in bytes."""

from pathlib import Path

import pytest

from engine.cli.dump.transactions import texts
from engine.errors import ApiException
from tests.unit.cli.handmade import Dump, batch, record, write

KEY = bytes.fromhex("0000 0007 62696c6c696e67")  # billing
HEAD = "0000 0000000000000fa0 0003 0000ea60"  # version 0, producer 4000, epoch 3, 60 s
ORDERS = "0006 6f7264657273 00000002 00000000 00000001"  # 0 and 1
TIMES = "0000000000000011 000000000000000c"  # updated at 17, started at 12
ONGOING = bytes.fromhex(f"{HEAD} 01 00000001 {ORDERS} {TIMES}")
EMPTY = bytes.fromhex(f"{HEAD} 00 ffffffff 0000000000000011 ffffffffffffffff")


def test_a_transaction() -> None:
    assert texts(KEY, ONGOING) == (
        "transaction_metadata::transactionalId=billing",
        "producerId:4000,producerEpoch:3,state=Ongoing,partitions=[orders-0,orders-1],"
        "txnLastUpdateTimestamp=17,txnTimeoutMs=60000",
    )


def test_one_without_partitions_and_one_that_is_forgotten() -> None:
    assert "state=Empty,partitions=[]," in texts(KEY, EMPTY)[1]
    assert texts(KEY, None)[1] == "<DELETE>"


@pytest.mark.parametrize(
    ("key", "value"), [(None, b""), (b"key", None), (b"\0\1", None), (KEY, b"\0\0"), (KEY, b"\0\1")]
)
def test_what_belongs_in_no_such_topic(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(ApiException, match="__transaction_state"):
        texts(key, value)


def test_a_file(tmp_path: Path, dump: Dump) -> None:
    """The option alone is enough; what is no such record is told, and the rest is printed."""
    good = batch(100, record(0, KEY, EMPTY), record(1, KEY, None))
    odd = batch(102, record(0, b"key", b"value"))
    status, lines, errors = dump(
        write(tmp_path, good + odd), "--transaction-log-decoder", "--skip-record-metadata"
    )
    assert status == 1
    assert lines[2:4] == [
        "| key: transaction_metadata::transactionalId=billing payload: producerId:4000,"
        "producerEpoch:3,state=Empty,partitions=[],txnLastUpdateTimestamp=17,txnTimeoutMs=60000",
        "| key: transaction_metadata::transactionalId=billing payload: <DELETE>",
    ]
    assert len(lines) == 5
    (error,) = errors
    assert f"position {len(good)}" in error
    assert "not a valid record of __transaction_state" in error
