"""`console-producer` and `perf producer`: records that the producer does not take."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.cli import console_producer, perf
from engine.cli.main import FAILED, main
from engine.client.producer import Producer
from engine.wire.apis import Api
from tests.unit.cli.pretend import complaint
from tests.unit.client.fake import FakeBroker, metadata, produced

LARGE = 2_000_000  # bytes of a record: more than max.request.size
FULL = "the buffer is full: 7 records wait to be delivered (buffer.memory, max.block.ms)"


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    def described(request: Any) -> Any:
        return metadata({1: fake.address}, {"t": [1]}, request)

    with FakeBroker({Api.METADATA: described, Api.PRODUCE: produced}) as fake:
        yield fake


class FullProducer(Producer):
    """Its buffer has no room for a record `full`, nor for those of perf."""

    def produce(self, topic: str, value: Any = None, *more: Any, **named: Any) -> None:
        if value == b"full" or not more:
            raise BufferError(FULL)
        super().produce(topic, value, *more, **named)


def typed(broker: FakeBroker, lines: list[str], folder: Path, patch: pytest.MonkeyPatch) -> int:
    """The lines as the standard input of console-producer; returns its exit status."""
    file = folder / "lines"
    file.write_text("".join(f"{line}\n" for line in lines))
    with file.open() as stdin:
        patch.setattr("sys.stdin", stdin)
        to = ["--bootstrap-server", str(broker.address), "--topic", "t"]
        return main(["console-producer", *to])


def stored(broker: FakeBroker) -> bytes:
    """All batches that the broker got."""
    return b"".join(
        bytes(partition.records)
        for request in broker.requests(Api.PRODUCE)
        for topic in request.topic_data
        for partition in topic.partition_data
    )


def test_a_line_that_is_too_large_is_told_and_the_next_ones_are_sent(
    broker: FakeBroker,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = ["before", "x" * LARGE, "between", "y" * LARGE, "after"]
    assert typed(broker, lines, tmp_path, monkeypatch) == FAILED
    told = capsys.readouterr().err.splitlines()
    assert [line.partition(": ")[0] for line in told] == ["not sent, line 2", "not sent, line 4"]
    assert all("more than max.request.size" in line for line in told)
    assert all(value in stored(broker) for value in (b"before", b"between", b"after"))


def test_a_line_without_room_is_told_and_the_next_one_is_sent(
    broker: FakeBroker,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(console_producer, "Producer", FullProducer)
    assert typed(broker, ["full", "after"], tmp_path, monkeypatch) == FAILED
    assert complaint(capsys) == f"not sent, line 1: {FULL}"
    assert b"after" in stored(broker)


def measured(broker: FakeBroker, *options: str) -> int:
    to = ["--bootstrap-server", str(broker.address), "--topic", "t", "--num-records", "3"]
    return main(["perf", "producer", *to, *options])


def test_perf_with_records_that_are_too_large_ends_with_a_sentence(
    broker: FakeBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    assert measured(broker, "--record-size", str(LARGE)) == FAILED
    assert "bytes, more than max.request.size" in complaint(capsys)


def test_perf_without_room_ends_with_a_sentence(
    broker: FakeBroker, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(perf, "Producer", FullProducer)
    assert measured(broker) == FAILED
    assert complaint(capsys) == FULL
