"""The bytes of traced requests: capped, as far as no file has to be read, and never too many."""

from base64 import b64decode
from types import SimpleNamespace as Message

from engine.broker.events import Ring, Span
from engine.broker.frames import CAP, IN_A_BROKER, Frames, frame, texts
from engine.cluster.event_stream import KEPT, EventStream
from engine.wire.apis import Api
from engine.wire.errors import RequestHeader

HEADER = RequestHeader(Api.HEARTBEAT, 4, 1, "me")
SPAN = Span(1_000_000_111_222, 1_000_030_999_000)


class Slice:
    """Records that lie in a file, and must not be read."""

    size = 500


def ring(*, framing):
    found = Ring()
    found.tracing, found.framing = True, framing
    return found


def trace(ring, request=b"abcdef", answer=(b"xy",)):
    ring.traced(HEADER, "127.0.0.1:5", Message(), Message(), SPAN, request, answer)
    return ring[-1]


def test_the_bytes_of_a_request_begin_with_its_size_as_on_the_wire():
    facts = texts(b"abcdef", [b"\0\0\0\2", b"xy"])
    assert frame(facts, "asked") == b"\0\0\0\6abcdef"
    assert frame(facts, "answered") == b"\0\0\0\2xy"
    assert frame({}, "asked") is None


def test_an_answer_is_reported_up_to_the_records_in_a_file():
    facts = texts(b"abc", [b"before", Slice(), b"behind"])
    assert frame(facts, "answered") == b"before"
    assert "answered" not in texts(b"abc", None)  # acks=0: there is none


def test_no_more_than_four_kilobytes_of_each_are_reported():
    facts = texts(b"a" * 10_000, [b"b" * 10_000])
    assert frame(facts, "asked") == (10_000).to_bytes(4, "big") + b"a" * (CAP - 4)
    assert frame(facts, "answered") == b"b" * CAP


def test_a_broker_tells_bytes_only_when_it_is_asked_to():
    quiet, loud = trace(ring(framing=False)), trace(ring(framing=True))
    assert "asked" not in quiet.data and "answered" not in quiet.data
    assert b64decode(loud.data["asked"]) == b"\0\0\0\6abcdef"
    assert (loud.at, loud.data["took"]) == (1_000_030, 30)
    assert (loud.data["came_us"], loud.data["left_us"]) == (1_000_000_111, 1_000_030_999)
    assert quiet.data["size"] == 6


def test_the_oldest_lose_their_bytes_and_stay_events():
    frames = Frames(200)
    events = [texts(b"x" * 30, [b"y" * 30]) for _ in range(4)]  # 88 characters each
    for each in events:
        frames.keep(each)
    assert [sorted(each) for each in events] == [[], [], *[["answered", "asked"]] * 2]


def test_a_broker_that_says_much_holds_little():
    busy = ring(framing=True)
    for _ in range(200):
        trace(busy, b"a" * 5000, [b"b" * 5000])
    texts = [len(it.data.get("asked", "")) + len(it.data.get("answered", "")) for it in busy]
    assert IN_A_BROKER / 2 < sum(texts) <= IN_A_BROKER
    assert texts[-1] and not texts[0]
    assert all(it.data["api"] == "HEARTBEAT" for it in busy)


def test_a_lab_lets_go_of_old_bytes_too():
    stream = EventStream()
    big = texts(b"a" * 5000, [b"b" * 5000])
    count = 1000
    rows = [["request", at, dict(big)] for at in range(count)]
    stream.update(1, 1, {"events": rows, "lost": 0, "last": count})
    stream.merge()
    kept = stream.after(0)
    assert len(kept) == count < KEPT
    assert "asked" in kept[-1].data and "asked" not in kept[0].data
