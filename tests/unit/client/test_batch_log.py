"""What a producer publishes of its batches: from the first look on, each step with its cause."""

from engine.client.producing.batch_log import BatchEvent, BufferState
from engine.errors import ErrorCode
from tests.unit.client.producing import Desk


def look(it: Desk) -> BufferState:
    return it.accumulator.log.state(it.accumulator, it.now, closed=False)


def steps(it: Desk) -> list[list[str]]:
    """Of each batch, in words."""
    return [
        [f"{step.event} {step.why}".strip() for step in batch.steps] for batch in look(it).batches
    ]


def test_nothing_is_kept_before_somebody_looks() -> None:
    it = Desk()
    it.add(0, b"a")
    it.step()[0].answer(offset=4)
    assert look(it).batches == ()
    it.add(0, b"b")
    it.step()[0].answer(offset=5)
    (batch,) = look(it).batches
    assert (batch.number, batch.records, batch.offset) == (1, 1, 5)


def test_one_that_was_there_at_the_first_look_is_known() -> None:
    it = Desk({"linger.ms": 50})
    it.add(0, b"a")
    it.step(0.01)
    found = look(it)
    assert (found.used, found.linger_ms) == (it.accumulator.used, 50)
    assert [step.at for step in found.batches[0].steps] == [0.0]


def test_what_closes_a_batch() -> None:
    it = Desk({"linger.ms": 50})
    look(it)
    it.add(0, b"x" * 90, b"y" * 90)  # the second does not fit
    assert steps(it) == [["created", "closed size"], ["created"]]
    it.step()
    it.step(0.05)
    it.add(0, b"z")
    it.accumulator.no_linger += 1
    it.step()
    it.accumulator.log.waiting += 1
    it.add(0, b"z")
    it.step()
    assert [each[1] for each in steps(it)] == [
        "closed size",
        "closed linger",
        "closed flush",
        "closed memory",
    ]


def test_a_batch_that_is_sent_again() -> None:
    it = Desk({"retries": 1, "retry.backoff.ms": 10})
    look(it)
    it.add(0, b"a")
    it.step()[0].answer(ErrorCode.not_enough_replicas)
    (again,) = it.step(0.02)
    assert steps(it)[0][2:] == ["sent", "retried not_enough_replicas", "sent"]
    again.answer(ErrorCode.not_enough_replicas)
    assert steps(it)[0][-1].startswith("given up NOT_ENOUGH_REPLICAS")
    assert look(it).used == 0


def test_a_batch_that_is_split_and_one_that_is_never_sent() -> None:
    it = Desk({"batch.size": 1000, "delivery.timeout.ms": 30_000, "request.timeout.ms": 5000})
    look(it)
    it.add(0, *[b"%d" % number * 50 for number in range(8)])
    it.step()[0].answer(ErrorCode.message_too_large)
    whole, *pieces = steps(it)
    assert whole[-1] == BatchEvent.SPLIT
    assert [each[:2] for each in pieces] == [["created", "closed split"]] * len(pieces)
    it = Desk({"linger.ms": 10, "request.timeout.ms": 10, "delivery.timeout.ms": 20}, leaders=[-1])
    look(it)
    it.add(0, b"a")
    it.step(0.03)
    assert steps(it) == [["created", "closed given up", "given up _MSG_TIMED_OUT"]]
