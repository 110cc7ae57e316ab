"""Buttons and fields above a picture, as data; static/stage.js makes them HTML.

Each has a label, for screen readers and as a tooltip, and an act: a method of the widget that gets
the new value, or for a button its `on` (None: the act takes no argument).
"""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

Control: TypeAlias = dict[str, Any]


def button(
    act: str,
    words: str,
    label: str,
    *,
    on: str | float | None = None,
    pressed: bool | None = None,
    off: bool = False,
    more: str = "",
) -> Control:
    """`pressed` makes it a switch; `off`: it is shown, but disabled; `more`: a word after its sign,
    where there is room."""
    told = more or None
    return _control("button", act, label, words=words, on=on, pressed=pressed, off=off, more=told)


def choice(
    act: str, label: str, options: Sequence[str | tuple[str, str]], value: str = ""
) -> Control:
    """An option is a value, or a value and the words for it."""
    told = [(it, it) if isinstance(it, str) else it for it in options]
    return _control("choice", act, label, options=[list(each) for each in told], value=value)


def number(
    act: str,
    label: str,
    value: float | None = None,
    *,
    least: float | None = None,
    most: float | None = None,
    step: float | Literal["any"] = 1,
) -> Control:
    return _control("number", act, label, value=value, least=least, most=most, step=step)


def text(act: str, label: str, value: str = "", hint: str = "", *, typed: bool = False) -> Control:
    """`typed`: called with each letter, and not only at the end of the input."""
    return _control("text", act, label, value=value, hint=hint, typed=typed)


def slider(act: str, label: str, value: float, least: float, most: float, step: float) -> Control:
    return _control("slider", act, label, value=value, least=least, most=most, step=step)


def time_buttons(
    step: str, *, playing: bool, now: bool | None = None, off: bool = False, more: str = ""
) -> list[Control]:
    """Back, play and forward over a run, a `step` at a time ("an event"). `now`: whether it shows
    the present of a live run; None: the run is over. `more`: a word beside the way back."""
    live = button("live", "● live", "back to now", pressed=now)
    return [
        button("begin", "◂◂", "back to the beginning", off=off),
        button("back", "◂", f"{step} back", more=more, off=off),
        button("play", "❙❙" if playing else "▸", "pause" if playing else "play", off=off),
        button("forward", "▸❘", f"{step} forward", off=off),
        live if now is not None else button("live", "▸▸", "to the end", off=off),
    ]


def _control(kind: str, act: str, label: str, **facts: Any) -> Control:
    assert label, f"the {kind} for {act} needs a label, for screen readers"
    told = {name: it for name, it in facts.items() if it is not None and it is not False}
    if facts.get("pressed") is False:  # a switch that is off is still a switch
        told["pressed"] = False
    return {"kind": kind, "act": act, "label": label, **told}
