"""Files that changed behind the broker's back: told in the log, and no other partition suffers."""

from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, TopicPartition

from engine.cluster.cluster import Cluster
from engine.errors import ApiException
from engine.storage.batch import HEADER_SIZE, Header
from tests.interop.raw import Raw, batch
from tests.interop.watch import until
from tests.unit.storage.older import message

CONFIG = {"log.segment.bytes": "4000", "log.index.interval.bytes": "500"}
RECORDS = 40
CORRUPT_MESSAGE = 2
STORAGE_ERROR = 56


@pytest.fixture
def filled(client: Raw, topic: str) -> str:
    """A topic with the same forty records in both partitions, in several segments."""
    for number in range(RECORDS):
        for partition in (0, 1):
            data = batch(f"{number:03}" + "x" * 300)
            assert client.produce(topic, data, partition=partition).error_code == 0
    return topic


def segments(cluster: Cluster, topic: str, suffix: str = ".log", partition: int = 0) -> list[Path]:
    found = sorted(Path(cluster.directory(1), f"{topic}-{partition}").glob(f"*{suffix}"))
    assert len(found) > 3
    return found


def flip(path: Path, position: int) -> None:
    """One bit of one byte."""
    data = bytearray(path.read_bytes())
    data[position] ^= 0x10
    path.write_bytes(data)


def numbers(client: Raw, topic: str, partition: int = 0) -> list[int]:
    return [int(record.value[:3]) for record in client.read(topic, partition=partition)]


def after(cluster: Cluster, stop: Callable[[], object], damage: Callable[[], object]) -> Raw:
    """Stop the broker, damage something, start it again: a client of its new life."""
    stop()
    damage()
    cluster.restart(1)
    assert "Traceback" not in cluster.child(1).output()
    return Raw(cluster.bootstrap)


# tests/properties/test_recovery.py does far more to indexes, without a broker.
MORE = [("missing", False), ("torn", True), ("torn", False), ("garbage", True)]
DAMAGES = [("missing", True), ("garbage", False)]
DAMAGES += [pytest.param(*each, marks=pytest.mark.long) for each in MORE]


@pytest.mark.parametrize(("damage", "orderly"), DAMAGES)
def test_an_index_is_rebuilt(cluster, filled, orderly, damage):
    """That of offsets in one partition, that of times in the other."""
    damaged = {0: ".index", 1: ".timeindex"}

    def spoil() -> None:
        for partition, suffix in damaged.items():
            for path in segments(cluster, filled, suffix, partition)[:-1]:
                match damage:
                    case "missing":
                        path.unlink()
                    case "torn":
                        path.write_bytes(path.read_bytes() + b"xyz")
                    case "garbage":
                        path.write_bytes(b"\x5a" * max(24, path.stat().st_size))

    stop = cluster.child(1).terminate if orderly else lambda: cluster.kill(1)
    with after(cluster, stop, spoil) as client:
        for partition in damaged:
            assert numbers(client, filled, partition) == list(range(RECORDS))
            assert client.fetch(filled, 17, partition=partition).error_code == 0
    if orderly:  # otherwise every index is rebuilt, and there is nothing to tell
        for partition in damaged:
            told = f"index.rebuilt {{'topic': '{filled}', 'partition': {partition}"
            assert told in cluster.child(1).output()


def test_a_flipped_bit_is_found_after_a_crash(cluster, filled):
    """The log is cut there: what follows was never known to be on the disk. It is kept beside."""
    path = segments(cluster, filled)[-1]
    whole = path.read_bytes()
    first = int(path.stem)

    with after(cluster, lambda: cluster.kill(1), lambda: flip(path, HEADER_SIZE + 100)) as client:
        assert numbers(client, filled, 0) == list(range(first))
        assert numbers(client, filled, 1) == list(range(RECORDS))
        output = cluster.child(1).output()
        (cut,) = [line for line in output.splitlines() if "log.cut" in line and path.name in line]
        assert "CRC does not match" in cut
        assert "'position': 0" in cut
        kept = path.with_name(f"{path.name}.cut").read_bytes()
        assert (len(kept), kept[:HEADER_SIZE]) == (len(whole), whole[:HEADER_SIZE])
        assert client.produce(filled, batch("after")).base_offset == first


def test_a_flipped_bit_under_a_flushed_log_is_found_by_who_reads_it(cluster, filled):
    """The broker passes the bytes on; the client checks them, and says so."""
    path = segments(cluster, filled)[1]
    first = int(path.stem)

    with after(
        cluster, cluster.child(1).terminate, lambda: flip(path, HEADER_SIZE + 100)
    ) as client:
        assert client.fetch(filled, 0).error_code == 0
        with pytest.raises(ApiException, match="CRC"):
            client.read(filled)
        assert numbers(client, filled, 1) == list(range(RECORDS))
        with consumer(cluster, filled, 0) as messages:
            for number in range(first):
                assert messages.poll(10).value()[:3] == b"%03d" % number
            failure = messages.poll(10).error()
            assert failure is not None
            assert failure.code() == KafkaError._BAD_MSG


def test_a_partition_of_an_older_format_is_offline_and_the_other_one_serves(cluster, filled):
    """As Kafka 0.10 has written it: refused with what to do, and not a byte of it changes."""
    path = segments(cluster, filled, partition=1)[-1]
    older = b"".join(message(1, offset) for offset in range(int(path.stem), int(path.stem) + 25))
    stop = cluster.child(1).terminate
    with after(cluster, stop, lambda: path.write_bytes(older)) as client:
        assert numbers(client, filled, 0) == list(range(RECORDS))
        assert client.fetch(filled, 0, partition=1).error_code == STORAGE_ERROR
        assert client.produce(filled, batch("more"), partition=1).error_code == STORAGE_ERROR
        output = cluster.child(1).output()
        (told,) = [line for line in output.splitlines() if "partition.offline" in line]
        for words in (path.name, "'position': 0", f"'bytes': {len(older)}", "magic 1", "copy the"):
            assert words in told
        cluster.child(1).terminate()
        assert path.read_bytes() == older
        cluster.restart(1)


def test_a_header_that_makes_no_sense_is_told_and_not_passed_over(cluster, filled):
    """A length leads nowhere: nobody may take what comes behind for what was asked."""
    path = segments(cluster, filled)[1]
    second = Header.parse(path.read_bytes()).size  # where the second batch begins
    first = int(path.stem)

    with after(cluster, cluster.child(1).terminate, lambda: flip(path, second + 8)) as client:
        assert client.fetch(filled, first).error_code == 0
        answer = client.fetch(filled, first + 1)
        assert answer.error_code == CORRUPT_MESSAGE
        assert not answer.records
        until(lambda: f"{path} is damaged at byte {second}" in cluster.child(1).output())
        assert numbers(client, filled, 1) == list(range(RECORDS))


class consumer:
    """confluent-kafka's, from an offset on, with CRCs checked."""

    def __init__(self, cluster: Cluster, topic: str, offset: int) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": cluster.bootstrap,
                "group.id": "none",
                "enable.auto.commit": False,
                "check.crcs": True,
            }
        )
        self._consumer.assign([TopicPartition(topic, 0, offset)])

    def __enter__(self) -> Consumer:
        return self._consumer

    def __exit__(self, *_: object) -> None:
        self._consumer.close()
