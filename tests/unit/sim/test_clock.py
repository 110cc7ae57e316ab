"""Virtual time."""

import pytest

from engine.sim.clock import Clock


class Diary:
    def __init__(self, clock):
        self.clock = clock
        self.lines = []

    def note(self, what):
        self.lines.append((self.clock.now, what))

    def note_again(self, times):
        self.note(times)
        if times:
            self.clock.after(10, self.note_again, times - 1)


@pytest.fixture
def diary():
    return Diary(Clock(now=100))


def test_what_is_due_comes_in_order_and_ties_as_they_were_asked_for(diary):
    clock = diary.clock
    for time, what in [(130, "d"), (110, "a"), (110, "b"), (120, "c"), (110, "b2")]:
        clock.at(time, diary.note, what)
    clock.after(0, diary.note, "now")
    while clock.step():
        pass
    assert diary.lines == [
        (100, "now"), (110, "a"), (110, "b"), (110, "b2"), (120, "c"), (130, "d")
    ]  # fmt: skip
    assert clock.now == clock() == 130


def test_running_until_a_time_does_what_is_due_by_then_and_gets_there(diary):
    diary.note_again(5)
    diary.clock.run_until(125)
    assert (diary.lines, diary.clock.now) == ([(100, 5), (110, 4), (120, 3)], 125)
    assert diary.clock.due() == 130
    diary.clock.run_until(130)
    assert diary.lines[-1] == (130, 2)


def test_what_is_cancelled_is_not_done_and_no_time_passes_for_it(diary):
    clock = diary.clock
    first, second = clock.after(10, diary.note, 1), clock.after(20, diary.note, 2)
    first.cancel()
    assert (first.pending, second.pending, clock.due()) == (False, True, 120)
    assert clock.step()
    assert diary.lines == [(120, 2)]
    second.cancel()
    assert not second.pending
    assert not clock.step()
    assert (clock.due(), clock.now) == (None, 120)


def test_nothing_is_done_in_the_past(diary):
    with pytest.raises(AssertionError, match="past"):
        diary.clock.at(99, diary.note, 1)
