"""Kafka's small text files: byte for byte as it writes them, and damaged in every way."""

from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest

from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.storage import checkpoints

ORDERS, PAYMENTS = TopicPartition("orders", 1), TopicPartition("payments.v2", 0)
TOPIC_ID = UUID("6d2ad3a4-0f67-4a2c-9d38-5e3f0a1b2c3d")


def test_offsets(tmp_path: Path) -> None:
    path = tmp_path / checkpoints.HIGH_WATERMARK
    checkpoints.write_offsets(path, {PAYMENTS: 2**40, ORDERS: 98})
    assert path.read_text() == "0\n2\norders 1 98\npayments.v2 0 1099511627776\n"
    assert checkpoints.read_offsets(path) == {ORDERS: 98, PAYMENTS: 2**40}


def test_the_names_are_kafkas() -> None:
    assert checkpoints.RECOVERY_POINT == "recovery-point-offset-checkpoint"
    assert checkpoints.LOG_START == "log-start-offset-checkpoint"
    assert checkpoints.HIGH_WATERMARK == "replication-offset-checkpoint"
    assert checkpoints.CLEANER == "cleaner-offset-checkpoint"


def test_an_empty_one(tmp_path: Path) -> None:
    checkpoints.write_offsets(tmp_path / "x", {})
    assert (tmp_path / "x").read_text() == "0\n0\n"
    assert checkpoints.read_offsets(tmp_path / "x") == {}


def test_epochs(tmp_path: Path) -> None:
    checkpoints.write_epochs(tmp_path / "x", [(0, 0), (3, 1500)])
    assert (tmp_path / "x").read_text() == "0\n2\n0 0\n3 1500\n"
    assert checkpoints.read_epochs(tmp_path / "x") == [(0, 0), (3, 1500)]


def test_one_that_is_not_there_says_nothing(tmp_path: Path) -> None:
    assert checkpoints.read_offsets(tmp_path / "x") == {}
    assert checkpoints.read_epochs(tmp_path / "x") == []
    assert checkpoints.read_meta(tmp_path / "x") is None
    assert checkpoints.read_topic_id(tmp_path / "x") is None


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"0",
        b"0\n",
        b"0\n1\n",
        b"0\n2\norders 1 98\n",  # a row is missing
        b"0\n1\norders 1 98\norders 2 9\n",  # or one too many
        b"1\n1\norders 1 98\n",  # of some other version
        b"0\none\norders 1 98\n",
        b"0\n1\norders 1\n",
        b"0\n1\norders 1 98 7\n",
        b"0\n1\norders one 98\n",
        b"0\n1\norders 1 9x\n",
        b"\0" * 40,
        b"\xff\xfe",
    ],
)
def test_a_damaged_one_is_refused_by_name(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "replication-offset-checkpoint"
    path.write_bytes(text)
    for read in (checkpoints.read_offsets, checkpoints.read_epochs):
        with pytest.raises(ApiException, match=r"malformed .*replication-offset") as raised:
            read(path)
        assert raised.value.code is ErrorCode.kafka_storage_error


# -- whose directory this is -----------------------------------------------------------------

KAFKAS = """#
#Thu Aug 06 11:22:33 CEST 2026
broker.id=3
version=0
cluster.id=hN-nKJ8ESNSX0S1WXVPjkg
"""


@pytest.mark.parametrize(
    "text",
    [
        KAFKAS,
        "cluster.id=hN-nKJ8ESNSX0S1WXVPjkg\nversion=0\nbroker.id=3",
        "# by hand\n\nbroker.id = 3\n cluster.id = hN-nKJ8ESNSX0S1WXVPjkg \n",
        KAFKAS.replace("\n", "\r\n"),
    ],
)
def test_meta_properties_in_any_order_with_comments(tmp_path: Path, text: str) -> None:
    (tmp_path / "meta.properties").write_bytes(text.encode())
    assert checkpoints.read_meta(tmp_path / "meta.properties") == (3, "hN-nKJ8ESNSX0S1WXVPjkg")


def test_meta_properties_both_ways(tmp_path: Path) -> None:
    checkpoints.write_meta(tmp_path / "meta.properties", 1, "abc")
    text = (tmp_path / "meta.properties").read_text()
    assert text == "#\nbroker.id=1\ncluster.id=abc\nversion=0\n"
    assert checkpoints.read_meta(tmp_path / "meta.properties") == (1, "abc")


def test_partition_metadata_both_ways(tmp_path: Path) -> None:
    path = tmp_path / "partition.metadata"
    checkpoints.write_topic_id(path, TOPIC_ID)
    assert path.read_text() == "version: 0\ntopic_id: bSrTpA9nSiydOF4_ChssPQ\n"
    assert checkpoints.read_topic_id(path) == TOPIC_ID
    path.write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ")  # as 2.8 ends it
    assert checkpoints.read_topic_id(path) == UUID(int=1)


Read = Callable[[Path], object]


@pytest.mark.parametrize("read", [checkpoints.read_meta, checkpoints.read_topic_id])
@pytest.mark.parametrize(
    "text", [b"\n", b"\0\0", b"\xff\xfe\xff", b"broker.id=x\ncluster.id=y\n", b"topic_id: AAAA\n"]
)
def test_a_damaged_owner_is_refused_by_name(tmp_path: Path, read: Read, text: bytes) -> None:
    (tmp_path / "damaged").write_bytes(text)
    with pytest.raises(ApiException, match=r"malformed .*damaged"):
        read(tmp_path / "damaged")
