"""Events of several brokers and of our own in one order, each of them once."""

from engine.cluster import event_stream
from engine.cluster.event_stream import ClusterEvent, EventStream


def answer(*events, last, lost=0):
    return {"events": [[kind, at, {}] for kind, at in events], "last": last, "lost": lost}


def seen(stream, after=0):
    return [(each.number, each.broker, each.kind) for each in stream.after(after)]


def test_in_the_order_of_time_but_never_against_the_order_of_a_broker():
    stream = EventStream()
    stream.update(1, 1, answer(("a", 10), ("b", 30), ("back in time", 5), last=3))
    stream.update(2, 1, answer(("x", 20), ("y", 40), last=2))
    stream.note(ClusterEvent("killed", 25, None, {}))
    stream.merge()
    told = [kind for _, _, kind in seen(stream)]
    assert [kind for kind in told if kind in ("a", "b", "back in time")] == [
        "a",
        "b",
        "back in time",
    ]
    assert told[:4] == ["a", "x", "killed", "b"]
    assert [number for number, _, _ in seen(stream)] == [1, 2, 3, 4, 5, 6]


def test_numbers_go_on_and_after_leaves_out_what_was_seen():
    stream = EventStream()
    stream.update(1, 1, answer(("a", 1), ("b", 2), last=2))
    stream.merge()
    stream.update(1, 1, answer(("c", 3), last=3))
    stream.merge()
    stream.merge()
    assert seen(stream, 1) == [(2, 1, "b"), (3, 1, "c")]
    assert seen(stream, 3) == []


def test_each_life_of_a_broker_is_asked_from_its_own_beginning():
    stream = EventStream()
    stream.update(1, 1, answer(("a", 1), last=9))
    assert stream.last_of(1, 1) == 9
    assert stream.last_of(1, 2) == stream.last_of(2, 1) == 0


def test_what_a_broker_forgot_is_counted():
    stream = EventStream()
    stream.update(1, 1, answer(("late", 8), last=20, lost=19))
    stream.merge()
    assert stream.after(0)[0] == ClusterEvent("events.lost", 8, 1, {"count": 19}, 1)
    assert seen(stream, 1) == [(2, 1, "late")]


def test_the_oldest_are_forgotten(monkeypatch):
    monkeypatch.setattr(event_stream, "KEPT", 3)
    stream = EventStream()
    for number in range(5):
        stream.note(ClusterEvent(str(number), number, None, {}))
        stream.merge()
    assert seen(stream, 1) == [(3, None, "2"), (4, None, "3"), (5, None, "4")]
