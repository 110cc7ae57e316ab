"""AccumulatorView of batches that are only told of: each stage, each cause, and back in time."""

import json
from typing import Any

from engine.client.producing.batch_log import BatchEvent, BatchState, BatchStep, BufferState, Cause
from engine.model import TopicPartition
from widgets import AccumulatorView
from widgets.accumulator.history import AccumulatorHistory, Plain
from widgets.accumulator.scene import NO_BATCH, sentence

CREATED, CLOSED, SENT = BatchEvent.CREATED, BatchEvent.CLOSED, BatchEvent.SENT
OK, RETRIED, GIVEN_UP = BatchEvent.ACKNOWLEDGED, BatchEvent.RETRIED, BatchEvent.GIVEN_UP


def batch(number: int, partition: int, *steps: tuple[float, Any, str], size: int = 900) -> Any:
    where = TopicPartition("orders", partition)
    told = tuple(BatchStep(*step) for step in steps)
    offset = 40 if told[-1].event is OK else -1
    return BatchState(number, where, 12, size, told, offset)


def buffer(*batches: BatchState, at: float = 10.0, closed: bool = False) -> BufferState:
    used = sum(it.bytes for it in batches if it.steps[-1].event not in (OK, GIVEN_UP))
    return BufferState(at, used, 4000, 1000, 20, closed, batches)


def all_stages() -> BufferState:
    first = (1.0, CREATED, "")
    size, linger = (1.01, CLOSED, Cause.SIZE), (1.02, CLOSED, Cause.LINGER)
    sent, lost = (1.03, SENT, ""), (1.2, RETRIED, "NETWORK_EXCEPTION")
    return buffer(
        batch(1, 0, first, linger, sent, (1.04, OK, "")),
        batch(2, 0, first, size, sent, lost),
        batch(3, 1, first, size, sent, lost, (1.3, SENT, ""), (1.4, OK, "")),
        batch(4, 1, first, size, sent),
        batch(5, 1, first, (1.02, CLOSED, Cause.FLUSH), sent, (1.5, GIVEN_UP, "_MSG_TIMED_OUT")),
        batch(6, 0, (1.5, CREATED, ""), size=100),
    )


def everything() -> Plain:
    history = AccumulatorHistory()
    history.add(all_stages())
    return json.loads(json.dumps(history.plain()))  # type: ignore[no-any-return]


def crowd() -> Plain:
    history = AccumulatorHistory()
    steps = (1.0, CREATED, ""), (1.01, CLOSED, Cause.MEMORY), (1.02, SENT, "")
    history.add(buffer(*(batch(it + 1, it % 50, *steps[: 1 + it % 3]) for it in range(600))))
    return history.plain()


class Silent:
    """A producer that has sent nothing."""

    told = buffer()

    def buffer_state(self) -> BufferState:
        return self.told


def test_each_batch_stands_where_it_is_and_says_what_closed_it() -> None:
    view = AccumulatorView.replay(everything())
    assert view.about == "2 batches in queues, 1 in flight, 2 acknowledged, 1 failed"
    scene = view.picture
    assert scene is not None
    x = {number: scene[f"batch {number}"].where[0] for number in range(1, 7)}
    assert x[6] < x[2] < x[4] < x[1] == x[5] < x[3]
    assert scene["number size"].content == "3"
    assert scene["number linger"].content == scene["number flush"].content == "1"
    assert "1,900 of 4,000" in str(scene["memory words"].content)
    again = next(it for it in view.view_state().moment.batches if it.batch.number == 3)
    assert sentence(again) == (
        "batch 3 of orders-1: 12 records, 900 bytes; after 10.0 ms closed by batch.size: the next "
        "record did not fit, after 30.0 ms sent, after 200.0 ms not stored (NETWORK_EXCEPTION), so "
        "it is sent again, after 300.0 ms sent, after 400.0 ms acknowledged, at offset 40"
    )


def test_the_run_goes_back_event_by_event_and_is_kept() -> None:
    view = AccumulatorView.replay(everything())
    view.begin()
    assert view.about == "5 batches in queues, 0 in flight, 0 acknowledged, 0 failed · looking back"
    abouts = []
    for _ in range(3):
        view.forward()
        abouts.append(view.about)
    assert abouts[-1].startswith("0 batches in queues, 5 in flight")
    view.live()
    again = AccumulatorView.replay(view.moments())
    assert again.scene == view.scene


def test_a_producer_without_a_topic_and_a_closed_one() -> None:
    producer: Any = Silent()
    view = AccumulatorView(producer)
    assert view.picture is not None
    assert view.picture.says == NO_BATCH
    producer.told = buffer(closed=True)
    assert not view.poll()
    assert view.picture.says == "The producer is closed; it sent nothing."


def test_fifty_partitions_have_pages() -> None:
    view = AccumulatorView.replay(crowd())
    assert view.picture is not None
    assert "name orders-7" in view.picture.by_key
    assert "name orders-8" not in view.picture.by_key
    view.do("page", "6")
    assert "name orders-49" in view.picture.by_key
    assert not view.trouble
    assert view.picture["number memory"].content == "400"


def test_a_batch_that_was_never_seen_is_said() -> None:
    history = AccumulatorHistory()
    history.add(buffer(batch(4, 0, (1.0, CREATED, ""))))
    assert history.missed == 3
    history.add(buffer(batch(4, 0, (1.0, CREATED, "")), batch(5, 0, (2.0, CREATED, ""))))
    assert history.missed == 3
