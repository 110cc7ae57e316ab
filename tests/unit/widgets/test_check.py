"""Check: done is what the cluster says is done."""

from dataclasses import replace

import pytest

from engine.model import TopicPartition
from tests.interop.watch import until
from tests.unit.widgets.cluster import event, partition, state
from widgets.exercise import EVERY, Check
from widgets.scene import width_of

ORDERS = TopicPartition("orders", 0)
TASK = "All replicas of orders are in sync"


class Cluster:
    """What a Check asks of one."""

    def __init__(self):
        self.happened = [event("broker.killed", broker=2)]
        self.isr = (1, 3)
        self.looks = 0

    def state(self):
        self.looks += 1
        return replace(state(), partitions={ORDERS: partition(isr=self.isr)})

    def events(self):
        return self.happened


def in_sync(now, events):
    if not any(it.kind == "broker.killed" for it in events):
        return "nobody was killed"
    isr = now.partitions[ORDERS].isr
    return "" if len(isr) == 3 else f"in sync are only {isr}"


@pytest.fixture
def cluster():
    return Cluster()


@pytest.fixture
def check(cluster):
    check = Check(TASK, cluster, in_sync, hint="Click broker 2.")
    check.now = 100.0
    check.clock = lambda: check.now
    yield check
    check.close()


def words(check):
    return [it.content for it in check.picture.all() if it.kind == "text"]


def test_what_is_missing_is_reported(check):
    assert not check.passed
    assert "Not yet: in sync are only (1, 3)." in words(check)
    assert check.picture.title == f"{TASK}: not yet"


def test_it_notices_by_itself_and_stops_looking(check, cluster):
    assert check.poll()
    cluster.isr = (1, 2, 3)
    check.now += EVERY

    assert check.poll() is False

    assert check.passed
    assert check.said == f"Passed: {TASK}"
    assert check.picture["mark"].label == "passed"
    looks = cluster.looks
    assert check.poll() is False
    assert cluster.looks == looks


def test_it_does_not_ask_all_the_time(check, cluster):
    check.poll()
    looks = cluster.looks
    check.now += EVERY / 2
    assert check.poll()
    assert cluster.looks == looks
    check.now += EVERY
    check.poll()
    assert cluster.looks == looks + 1


def test_what_is_passed_stays_passed(check, cluster):
    cluster.isr = (1, 2, 3)
    assert check.check()
    cluster.isr = (1,)
    assert check.check()
    assert check.picture.title == f"{TASK}: passed"


def test_events_count_too(check, cluster):
    cluster.happened = []
    cluster.isr = (1, 2, 3)
    assert not check.check()
    assert check.missing == "nobody was killed"


def test_a_hint_is_shown_when_it_is_asked_for(check):
    (button,) = check.controls
    assert "Hint: Click broker 2." not in words(check)

    check._heard(check, {"act": button["act"]}, [])

    assert check.trouble == ""
    assert "Hint: Click broker 2." in words(check)
    assert check.controls[0]["off"]


def test_the_page_cannot_pass_it(check):
    for name in ("check", "passed", "test"):
        check._heard(check, {"act": name}, [])
        assert check.trouble == f"There is no {name!r} here, only hint."
    assert not check.passed


def test_without_a_hint_there_is_no_button(cluster):
    check = Check(TASK, cluster, in_sync)
    assert check.controls == []
    check.close()


def test_an_exercise_that_breaks_says_so(check):
    def broken(now, events):
        raise ZeroDivisionError("no replicas")

    check.test = broken
    check._heard(check, {"watch": "one", "on": True}, [])
    until(lambda: "no replicas" in check.trouble)
    check._heard(check, {"watch": "one", "on": False}, [])


def test_long_words_take_more_lines(cluster):
    check = Check(f"{TASK}, " * 12, cluster, lambda now, events: "much is missing, " * 12)
    texts = [it for it in check.picture.all() if it.kind == "text" and it.key != "sign"]
    assert len(texts) > 4
    for each in texts:
        size, bold = (14, True) if each.look == "head" else (12, False)
        assert each.where[0] + width_of(each.content, size, bold) < check.picture.width
        assert each.where[1] < check.picture.height
    check.close()
