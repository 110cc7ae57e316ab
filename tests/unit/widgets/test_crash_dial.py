"""CrashDial: three places to die, counted side by side; errors, stops and interrupts."""

import threading
from collections.abc import Mapping

import pytest

from engine.errors import ApiException
from widgets import CrashDial

FOUND = {"read": (1, 0), "process": (0, 1), "commit": (0, 0)}


def die(after: str) -> Mapping[str, int]:
    return dict(zip(("lost", "twice"), FOUND[after], strict=True))


def test_the_places_are_counted_side_by_side() -> None:
    dial = CrashDial(die, times=5, title="With a transaction")
    assert dial.run() == {"runs": 5, "lost": 5, "twice": 0}
    dial.do("choose", "process")
    dial.run()
    dial.run()  # counts anew
    assert dial.counts == {
        "read": {"runs": 5, "lost": 5, "twice": 0},
        "process": {"runs": 5, "lost": 0, "twice": 5},
        "commit": {"runs": 0, "lost": 0, "twice": 0},
    }
    assert dial.picture is not None
    assert dial.picture["place process"].label == (
        "dies after process: 0 lost and 5 twice in 5 runs, chosen"
    )
    assert dial.picture.says == "Died after process in 5 of 5 runs: 0 lost, 5 twice."
    dial.do("choose", "sleep")
    assert dial.trouble == "there is no step 'sleep', only read, process, commit"


@pytest.mark.parametrize("wrong", [None, {"lost": 1}, {"lost": "1", "twice": 0}])
def test_a_wrong_result_is_one_sentence(wrong: Mapping[str, int]) -> None:
    dial = CrashDial(lambda after: wrong)
    with pytest.raises(ApiException):
        dial.run()
    assert dial.trouble.startswith("run('read') failed: TypeError: run gives {'lost': a number")
    assert not dial.running
    assert dial.counts["read"]["runs"] == 0


def test_an_error_is_one_sentence_and_the_log_has_the_rest(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(after: str) -> Mapping[str, int]:
        raise ValueError("no such topic\nand much more")

    dial = CrashDial(broken)
    with pytest.raises(ApiException):
        dial.run()
    assert dial.trouble == "run('read') failed: ValueError: no such topic"
    assert "and much more" in caplog.text


def test_an_interrupt_ends_the_runs_and_keeps_what_was_counted() -> None:
    def interrupted(after: str) -> Mapping[str, int]:
        if dial.counts[after]["runs"] == 2:
            raise KeyboardInterrupt
        return die(after)

    dial = CrashDial(interrupted)
    with pytest.raises(KeyboardInterrupt):
        dial.run()
    assert dial.counts["read"] == {"runs": 2, "lost": 2, "twice": 0}
    assert not dial.running


def test_the_button_runs_beside_the_page_and_stops() -> None:
    began, goes_on, ended = threading.Event(), threading.Event(), threading.Event()

    def slow(after: str) -> Mapping[str, int]:
        began.set()
        goes_on.wait(60)
        return die(after)

    dial = CrashDial(slow)
    dial.observe(lambda change: dial.running or ended.set(), "controls")
    dial.do("start")
    assert began.wait(60)
    assert dial.about == "dies after read · run 1 of 20"
    dial.do("choose", "commit")
    assert dial.trouble == "wait for the runs to end, or stop them"
    dial.do("stop")
    goes_on.set()
    assert ended.wait(60)
    assert dial.counts["read"]["runs"] == 1
