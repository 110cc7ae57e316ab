"""Every button of WireView is pressed; the trace goes on with it and off with it."""

import json
from pathlib import Path

import pytest

from engine.cluster.recording import Recorder, Recording
from engine.errors import ApiException, ErrorCode
from engine.wire.apis import Api
from engine.wire.codec import message
from proof.storms.trace import Trace
from tests.unit.widgets import cluster as told_of
from tests.unit.widgets.test_wire_anatomy import sample
from tests.unit.widgets.test_wire_exchange import asked, fetched, produced
from widgets import WireView
from widgets.wire.anatomy import ANSWER


class Cluster(told_of.Cluster):
    """One that can be traced."""

    def __init__(self):
        super().__init__()
        self.traced = []

    def trace(self, on=True, *, frames=False):
        self.traced.append((on, frames))

    def tell(self, *events):
        for event in events:
            self.happened.append(event._replace(number=len(self.happened) + 1))


@pytest.fixture
def cluster():
    return Cluster()


@pytest.fixture
def view(cluster):
    view = WireView(cluster)
    cluster.tell(*(produced(number, 10 * number) for number in range(1, 61)))
    view.poll()
    yield view
    view.close()


def press(view, act, *on):
    """As the page does."""
    view._heard(view, {"act": act} | ({"on": on[0]} if on else {}), [])


def buttons(view):
    return {control["act"]: control for control in view.controls}


def shown(view):
    return [it.key for it in view.picture.shapes if it.key.startswith(("arrow ", "fold "))]


def last(view):
    return shown(view)[-1]


def test_the_trace_is_on_while_the_view_is_there_and_it_says_so(cluster):
    view = WireView(cluster)
    assert cluster.traced == [(True, True)]
    assert view.about == "0 parties · the trace costs the brokers a little"
    assert buttons(view)["trace"]["pressed"] is True
    press(view, "trace")
    assert cluster.traced[-1] == (False, False)
    assert view.about.endswith("the trace is off: nothing new is told")
    press(view, "trace")
    assert cluster.traced[-1] == (True, True)
    view.close()
    assert cluster.traced[-1] == (False, False)
    count = len(cluster.traced)
    view.close()
    assert len(cluster.traced) == count


def test_of_two_views_the_last_to_be_closed_ends_the_trace(cluster):
    one, other = WireView(cluster), WireView(cluster)
    one.close()
    assert cluster.traced == [(True, True), (True, True)]
    other.close()
    assert cluster.traced[-1] == (False, False)


def test_a_broker_that_does_not_answer_is_reported_and_the_view_is_there(cluster):
    def trace(on=True, *, frames=False):
        raise ApiException(ErrorCode.request_timed_out, "broker 2 does not answer")

    cluster.trace = trace
    view = WireView(cluster)
    assert view.trouble == "broker 2 does not answer"
    assert view.picture is not None


def test_what_is_said_appears_and_the_page_follows(view, cluster):
    assert last(view) == f"arrow {cluster.happened[-1].number}<"
    scene = view.scene
    assert view.poll()
    assert view.scene == scene  # nothing new, nothing sent
    cluster.tell(produced(1, 900))
    view.poll()
    assert last(view) == f"arrow {cluster.happened[-1].number}<"


def test_a_pause_holds_the_page_and_follow_lets_it_go(view, cluster):
    before = shown(view)
    press(view, "pause")
    assert buttons(view)["pause"]["words"] == "▾▾ follow"
    cluster.tell(*(produced(1, 1000 + it) for it in range(9)))
    view.poll()
    assert shown(view) == before
    press(view, "pause")
    assert last(view) == f"arrow {cluster.happened[-1].number}<"


def test_back_and_on_again(view):
    newest = shown(view)
    assert buttons(view)["forward"]["off"] is True
    press(view, "back")
    earlier = shown(view)
    assert earlier != newest and set(earlier) & set(newest)
    press(view, "forward")
    assert shown(view) == newest
    assert view.until is None
    for _ in range(20):
        press(view, "back")
    assert buttons(view)["back"]["off"] is True
    press(view, "back")
    assert view.trouble == ""


def test_the_strip_goes_to_any_time(view):
    press(view, "seek", 0.0)
    assert shown(view)[0] == f"arrow {view.messages.arrows[0].key}"
    press(view, "seek", 1.0)
    assert view.until is None


def test_only_one_api_and_all_of_them(view, cluster):
    cluster.tell(fetched(1, 900))
    view.poll()
    assert [it[0] for it in buttons(view)["api"]["options"]] == ["", "Fetch", "Produce"]
    press(view, "api", "Fetch")
    assert len(shown(view)) == 2
    press(view, "api", "")
    assert len(shown(view)) > 10


def test_what_is_routine_is_folded_and_unfolded(view, cluster):
    cluster.tell(*(asked(Api.HEARTBEAT, 1, 900 + it) for it in range(4)))
    view.poll()
    assert last(view).startswith("fold ")
    press(view, "fold")
    assert buttons(view)["fold"]["pressed"] is False
    assert last(view).startswith("arrow ")
    press(view, "fold")
    assert last(view).startswith("fold ")


def test_a_message_is_opened_read_and_closed(view, cluster):
    number = cluster.happened[-1].number
    press(view, "read", f"{number}>")
    assert view.opened == f"{number}>"
    assert "panel" in view.picture.by_key
    assert view.said.startswith("0.590 s: producer-1 asks broker 1: Produce v9")
    cluster.tell(*(produced(1, 2000 + it) for it in range(20)))
    view.poll()
    assert f"arrow {number}>" in shown(view)  # it does not run away
    press(view, "turn", 10)
    assert "button before" in view.picture.by_key
    press(view, "turn", 0)
    press(view, "read", f"{number}<")
    assert "answer" in view.picture["kind"].content
    press(view, "shut")
    assert "panel" not in view.picture.by_key
    assert last(view) == f"arrow {cluster.happened[-1].number}<"  # it follows again
    press(view, "read", "1>")
    assert "forgotten" in view.trouble


def test_what_is_opened_at_the_top_of_a_page_is_on_the_smaller_one_too(view):
    first = shown(view)[0]
    press(view, "read", first.removeprefix("arrow "))
    assert first in shown(view)


def test_who_had_stopped_to_read_stays_there(view):
    press(view, "back")
    before = shown(view)
    press(view, "read", before[0].removeprefix("arrow "))
    press(view, "shut")
    assert view.until is not None
    assert buttons(view)["pause"]["words"] == "▾▾ follow"


def test_between_two_by_client_id_and_broker_number(cluster):
    view = WireView(cluster, between=("producer-1", 1))
    cluster.tell(produced(1), fetched(1, 9, client="c1"), produced(1, 20, broker=2))
    view.poll()
    assert view.about.startswith("producer-1 – broker 1 · ")
    assert len(shown(view)) == 2
    view.close()


def test_every_act_is_there_and_pressed(view):
    source = Path(__file__).read_text(encoding="utf-8")
    for act in view.ACTS:
        assert callable(getattr(view, act))
        assert f'"{act}"' in source
    press(view, "close")
    assert "There is no 'close' here" in view.trouble


def test_a_recording_plays_without_a_cluster(cluster, tmp_path):
    path = tmp_path / "run.jsonl.gz"
    with Recorder(path, cluster.state, cluster.events):
        cluster.tell(produced(1), fetched(1, 9, client="c1"))
    view = WireView(Recording.load(path))
    assert view.about == "3 parties · 4 lines"
    assert not {"pause", "trace"} & buttons(view).keys()
    (first, *_) = shown(view)
    press(view, "read", first.removeprefix("arrow "))
    assert any(it.label.startswith("acks: ") for it in view.picture.all())  # bytes and all
    assert not view.poll()
    view.close()
    assert cluster.traced == []


def test_a_simulated_run_is_reported_in_words(tmp_path):
    view = WireView(Trace.of(7, 8), between=("producer", 1, 2, 3))
    assert view.messages.parties[-1] == "zookeeper"
    press(view, "api", "Produce")
    labels = [it.label for it in view.picture.all() if it.key.startswith("arrow ")]
    assert labels and all("producer tells broker" in label for label in labels)
    assert not view.poll()
    press(view, "read", shown(view)[0].removeprefix("arrow "))
    assert "never was bytes" in view.picture["why 0"].content


def test_a_saved_notebook_stays_small(view, cluster):
    cluster.tell(*(asked(Api.METADATA, 1, 900 + it, client=f"c{it % 5}") for it in range(40)))
    (row,) = sample(message(Api.API_VERSIONS, 3, ANSWER)).api_keys
    cluster.tell(asked(Api.API_VERSIONS, 1, 1000, response={"api_keys": (row,) * 60}))
    view.poll()
    press(view, "read", view.messages.arrows[-1].key)
    assert "more" in view.picture["button behind"].content[1].content
    assert len(json.dumps(view.get_state(), default=str, ensure_ascii=False)) < 75_000
