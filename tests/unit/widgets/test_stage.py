"""The stage: acts by name and nothing else, errors where one looks, a refresh while one looks."""

import json
import threading
from typing import ClassVar

import pytest

from engine.errors import ApiException, ErrorCode
from tests.interop.watch import until
from widgets.controls import button, choice, number, slider, text
from widgets.scene import Scene, rect
from widgets.stage import SceneWidget


class Lamp(SceneWidget):
    """Is switched, and counts how often it was looked at."""

    ACTS: ClassVar = frozenset({"switch", "burn"})

    def __init__(self):
        super().__init__(name="Lamp")
        self.on, self.looks, self.limit = None, 0, 10**9
        self.seen = threading.Event()

    def switch(self, on="up"):
        self.on = on

    def burn(self):
        raise ApiException(ErrorCode.invalid_request, "the lamp is hot: wait a little")

    def poll(self):
        self.looks += 1
        self.seen.set()
        if self.looks == self.limit:
            raise ValueError("blown")
        return True

    def refreshing(self):
        return self._looks


@pytest.fixture
def lamp():
    lamp = Lamp()
    yield lamp
    lamp.close()
    until(lambda: not lamp.refreshing())


def page(lamp, **said):
    lamp._heard(lamp, said, [])


def test_the_page_calls_an_act_by_name(lamp):
    page(lamp, act="switch", on="down")
    assert lamp.on == "down"
    page(lamp, act="switch")
    assert lamp.on == "up"
    assert lamp.trouble == ""


@pytest.mark.parametrize("name", ["close", "look", "_try", "__class__", "nothing"])
def test_nothing_else_can_be_called(lamp, name):
    page(lamp, act=name)
    assert lamp.trouble == f"There is no {name!r} here, only burn, switch."
    assert lamp.looks == 0


def test_an_error_is_shown_and_goes_with_the_next_success(lamp):
    page(lamp, act="burn")
    assert lamp.trouble == "the lamp is hot: wait a little"
    page(lamp, act="switch")
    assert lamp.trouble == ""
    page(lamp, act="switch", on=1, off=2)
    assert lamp.on == 1


def test_too_many_words_are_an_error_too(lamp):
    page(lamp, act="burn", on=3)
    assert lamp.trouble.startswith("TypeError: ")


def test_it_looks_while_somebody_watches(lamp):
    assert not lamp.refreshing()
    page(lamp, watch="one", on=True)
    page(lamp, watch="two", on=True)
    until(lambda: lamp.looks > 3)
    page(lamp, watch="one", on=False)
    assert lamp.refreshing()

    page(lamp, watch="two", on=False)

    until(lambda: not lamp.refreshing())
    before = lamp.looks
    page(lamp, watch="one", on=True)
    until(lambda: lamp.looks > before)


def test_an_act_is_followed_by_a_look_at_once(lamp):
    lamp.interval = 3600
    page(lamp, watch="one", on=True)
    until(lambda: lamp.looks == 1)
    page(lamp, act="switch")
    until(lambda: lamp.looks == 2)


def test_closing_ends_it(lamp):
    page(lamp, watch="one", on=True)
    assert lamp.seen.wait(20)
    lamp.close()
    until(lambda: not lamp.refreshing())
    page(lamp, watch="one", on=True)
    assert not lamp.refreshing()


def test_a_look_that_fails_is_reported_and_is_the_last(lamp):
    lamp.limit = 2
    page(lamp, watch="one", on=True)
    until(lambda: not lamp.refreshing())
    assert lamp.trouble == "The picture stands still: ValueError('blown')"
    assert lamp.looks == 2


def test_something_slow_is_done_aside_and_its_error_shown(lamp):
    lamp.later(lamp.burn)
    until(lambda: lamp.trouble)


def test_only_what_differs_is_sent(lamp):
    sent = []
    lamp.observe(lambda change: sent.append(change["name"]))
    picture = Scene(10, 10, [rect("a", 0, 0, 1, 1)], says="on")

    lamp.show(picture, [button("switch", "on", "switch it on")])
    assert sorted(sent) == ["controls", "said", "scene"]
    sent.clear()
    lamp.show(Scene(10, 10, [rect("a", 0, 0, 1, 1)], says="on"))
    assert sent == []

    assert json.loads(lamp.scene) == picture.rows()
    assert lamp.svg().startswith("<svg")


def test_without_a_picture_there_is_none(lamp):
    with pytest.raises(AssertionError, match="Lamp has shown nothing yet"):
        lamp.svg()


def test_controls_are_small_and_have_a_label():
    assert button("play", "▸", "play") == {
        "kind": "button",
        "act": "play",
        "label": "play",
        "words": "▸",
    }
    assert button("live", "live", "back to now", pressed=False)["pressed"] is False
    assert choice("only", "show", ["a", ("b", "B")])["options"] == [["a", "a"], ["b", "B"]]
    assert number("find", "offset", 0)["value"] == 0
    assert slider("at", "time", 3, 0, 10, 1)["most"] == 10
    assert text("find", "name", hint="any")["hint"] == "any"
    with pytest.raises(AssertionError, match="needs a label"):
        button("play", "▸", "")
