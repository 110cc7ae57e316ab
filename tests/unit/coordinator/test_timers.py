"""Deadlines: none is missed, none comes early, and putting one off is cheap."""

from engine.coordinator.timers import Alarm, AlarmKind, Timers

A, B, C = (Alarm(AlarmKind.SESSION, "g", each) for each in "abc")


def test_nothing_is_due_when_nothing_is_set():
    timers = Timers()
    assert timers.due() is None
    assert list(timers.expired(10**9)) == []


def test_the_earliest_comes_first():
    timers = Timers()
    timers.set(A, 30)
    timers.set(B, 10)
    timers.set(C, 20)
    assert timers.due() == 10
    assert list(timers.expired(9)) == []
    assert list(timers.expired(30)) == [B, C, A]
    assert timers.due() is None


def test_what_was_put_off_or_cancelled_does_not_come():
    timers = Timers()
    timers.set(A, 10)
    timers.set(B, 10)
    timers.set(A, 20)
    timers.cancel(B)
    assert timers.due() == 10  # it may be early, never late
    assert list(timers.expired(19)) == []
    assert timers.due() == 20
    assert list(timers.expired(20)) == [A]


def test_one_may_cancel_another_that_is_over_too():
    timers = Timers()
    timers.set(A, 10)
    timers.set(B, 10)
    rung = []
    for alarm in timers.expired(10):
        rung.append(alarm)
        timers.cancel(B)
    assert rung == [A]


def test_one_that_is_set_again_while_it_rings_comes_next_time():
    timers = Timers()
    timers.set(A, 10)
    for alarm in timers.expired(10):
        timers.set(alarm, 10)
        timers.set(B, 15)
    assert timers.due() == 10
    assert list(timers.expired(10)) == [A]
    assert timers.due() == 15


def test_those_of_a_group_go_together():
    timers = Timers()
    others = [Alarm(AlarmKind.JOIN, "h"), Alarm(AlarmKind.JOIN, "g", partition=3)]
    timers.set(A, 10)
    timers.set(Alarm(AlarmKind.JOIN, "g"), 11)
    for other in others:
        timers.set(other, 12)
    timers.cancel_all(-1, "g")
    assert list(timers.expired(12)) == others


def test_all_are_moved_when_the_clock_is_set():
    timers = Timers()
    timers.set(A, 30)
    timers.set(B, 10)
    timers.move(-100)
    assert timers.due() == -90
    assert list(timers.expired(-80)) == [B]
    assert list(timers.expired(-70)) == [A]
    timers.move(5)
    assert timers.due() is None
