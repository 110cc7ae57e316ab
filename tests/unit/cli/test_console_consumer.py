"""Records of transactions on the command line: printed when they count, or as they come."""

from collections.abc import Iterator
from types import SimpleNamespace as Message
from typing import Any, Self

import pytest

from engine.cli.main import INTERRUPTED, main
from engine.errors import ErrorCode
from engine.storage import control, records
from engine.storage.control import ControlType, Marker
from engine.storage.records import Record
from engine.wire.apis import Api
from tests.limits import ANSWER_S
from tests.unit.client.fake import FakeBroker, metadata

NONE = ErrorCode.none
STABLE, END = 6, 7  # a transaction is still open at the end
TIMEOUT = ["--timeout-ms", f"{1000 * ANSWER_S:.0f}"]


def written(first: int, value: bytes) -> bytes:
    found = [Record(first, 1000, None, value)]
    return records.encode(found, base_offset=first, producer_id=7, transactional=True)


def marker(at: int, kind: ControlType) -> bytes:
    found = [Record(at, 1000, *control.encode(Marker(kind, 0)))]
    return records.encode(
        found, base_offset=at, producer_id=7, producer_epoch=0, transactional=True, control=True
    )


LOG = [
    written(0, b"given up"),
    marker(1, ControlType.ABORT),
    written(2, b"first"),
    marker(3, ControlType.COMMIT),
    written(4, b"second"),
    marker(5, ControlType.COMMIT),
    written(6, b"open"),
]


def fetched(request: Any) -> Any:
    """From the offset on; to those who ask for it, what counts and a list of what does not."""
    ((topic,), is_committed) = request.topics, request.isolation_level == 1
    (asked,) = topic.partitions
    end = STABLE if is_committed else END
    aborted = [Message(producer_id=7, first_offset=0)] if asked.fetch_offset <= 1 else []
    partition = Message(
        partition_index=0,
        error_code=NONE,
        high_watermark=END,
        last_stable_offset=STABLE,
        aborted_transactions=aborted if is_committed else None,
        records=b"".join(LOG[asked.fetch_offset : end]) or None,
    )
    return Message(error_code=NONE, responses=(Message(topic="t", partitions=(partition,)),))


def listed(request: Any) -> Any:
    ((topic,), is_committed) = request.topics, request.isolation_level == 1
    end = STABLE if is_committed else END
    offset = 0 if topic.partitions[0].timestamp == -2 else end
    row = Message(partition_index=0, error_code=NONE, timestamp=-1, offset=offset)
    return Message(topics=(Message(name="t", partitions=(row,)),))


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    def tell(request: Any) -> Any:
        return metadata({1: made.address}, {"t": [1]}, request)

    answers = {Api.METADATA: tell, Api.FETCH: fetched, Api.LIST_OFFSETS: listed}
    with FakeBroker(answers) as made:
        yield made


def printed(broker: FakeBroker, capsys: pytest.CaptureFixture[str], *options: str) -> list[str]:
    bootstrap = ["--bootstrap-server", str(broker.address), "--topic", "t", *TIMEOUT]
    assert main(["console-consumer", *bootstrap, *options]) == 0
    return capsys.readouterr().out.splitlines()


def test_what_was_aborted_or_is_open_is_printed_unless_it_is_not_wanted(
    broker: FakeBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    limit = ["--from-beginning", "--max-messages"]
    everything = printed(broker, capsys, *limit, "4")
    assert everything == ["given up", "first", "second", "open"]
    level = ["--isolation-level", "read_committed"]
    assert printed(broker, capsys, *level, *limit, "2") == ["first", "second"]
    assert {request.isolation_level for request in broker.requests(Api.FETCH)} == {0, 1}


@pytest.mark.parametrize("offset", ["3", "4"])
def test_what_is_committed_may_be_read_from_an_offset_on(
    broker: FakeBroker, capsys: pytest.CaptureFixture[str], offset: str
) -> None:
    place = ["--partition", "0", "--offset", offset, "--max-messages", "1"]
    assert printed(broker, capsys, *place, "--isolation-level", "read_committed") == ["second"]


def test_the_latest_is_what_may_still_be_committed(
    broker: FakeBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    LOG.append(marker(7, ControlType.COMMIT))
    try:
        level = ["--isolation-level", "read_committed"]
        assert printed(broker, capsys, *level, "--timeout-ms", "300") == []
    finally:
        LOG.pop()
    (request,) = broker.requests(Api.LIST_OFFSETS)
    assert (request.isolation_level, request.topics[0].partitions[0].timestamp) == (1, -1)


def test_there_are_two_levels(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["console-consumer", "--topic", "t", "--isolation-level", "some"]) == 2
    assert "read_committed" in capsys.readouterr().err


class TwoRecords:
    """A consumer that gets two records; then somebody types Control-C."""

    def __init__(self, config: object) -> None:
        self._left = [b"first", b"second"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is open."""

    def assign(self, partitions: object) -> None:
        """It has one anyway."""

    def poll(self, timeout: float) -> Any:
        if not self._left:
            raise KeyboardInterrupt
        value = self._left.pop(0)
        return Message(error=lambda: None, value=lambda: value)

    def consume(self, count: int, timeout: float) -> list[Any]:
        return []


@pytest.mark.parametrize("option", ["--max-messages", "--timeout-ms"])
def test_minus_one_is_no_limit(
    option: str,
    broker: FakeBroker,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As in Kafka: it waits for more, until Control-C ends it."""
    monkeypatch.setattr("engine.cli.console_consumer.Consumer", TwoRecords)
    words = ["console-consumer", "--bootstrap-server", str(broker.address), "--topic", "t"]
    assert main([*words, option, "-1"]) == INTERRUPTED
    assert capsys.readouterr().out.splitlines() == ["first", "second"]
