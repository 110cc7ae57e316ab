"""A film: the pictures of a walk, and their acts that work without Python.

    {"name": "Cluster", "span": 31200, "pace": 0, "stops": [0, 4, ...],
     "acts": ["back", ...], "playing": {a button},
     "frames": [{"at": 0, "steps": [...], "size": [1000, 420], "about": "...", ...},
                {"at": 250, "steps": [12, -1, ["text", ...], 3]}, ...]}

A view is filmed once for each of WIDTHS, laid out for it, and the page plays the one that fits.
A frame has only the difference to the one before. Acts that lead to another picture of the film
become the act `frame`, on its number; all other acts, except the player's own, are removed, with
their buttons and fields.

Invariant: `scenes(film)` returns each picture as the view drew it, except for its acts.
"""

import json
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

from widgets import controls
from widgets.controls import Control
from widgets.scene import Row
from widgets.site import delta
from widgets.site.walk import Walk, walk
from widgets.stage import SceneWidget

Film: TypeAlias = dict[str, Any]
Frame: TypeAlias = dict[str, Any]

WIDTHS = (340, 560, 760, 880)  # px: a phone, a tablet, a page, a wide page
ACTS, DRAG = 6, 7  # their indexes in a row
EMPTY: Frame = {"shapes": [], "size": [], "title": "", "about": "", "said": "", "trouble": ""}
EMPTY["controls"] = []


class Shot(NamedTuple):
    film: Film
    still: str  # one of its pictures, as a complete SVG file


def shoot(view: SceneWidget, share: float = 1) -> Shot:
    """All pictures of a view, and the one at a share of the time. The view ends at the last."""
    way = walk(view)
    before, frames, still = EMPTY, [], ""
    middle = bisect_right(way.times, share * way.span) - 1
    for place, at in enumerate(way.times):
        way.go(place)
        after = taken(view, way)
        frames.append({"at": at} | _news(before, after))
        before = after
        if place == middle:
            still = view.svg()
    film = {
        "name": view.name,
        "span": way.span,
        "pace": way.pace,
        "stops": way.stops,
        "acts": sorted(way.acts),
        "playing": controls.button("play", "❙❙", "pause"),
        "frames": frames,
    }
    return Shot(film, still)


def taken(view: SceneWidget, way: Walk) -> Frame:
    """The current picture of a view, without what a film can't show."""
    scene = json.loads(view.scene)
    return {
        "shapes": [_row(row, way) for row in scene["shapes"] if not _silent(row, way)],
        "size": scene["size"],
        "title": scene["title"],
        "about": view.about,
        "said": view.said,
        "trouble": view.trouble,
        "controls": _controls(view.controls, way),
    }


def scenes(film: Film) -> Iterator[Frame]:
    """The pictures of a film, as the player makes them."""
    now = EMPTY
    for frame in film["frames"]:
        told = {name: frame.get(name, now[name]) for name in EMPTY if name != "shapes"}
        now = {"shapes": delta.applied(now["shapes"], frame["steps"])} | told
        yield now


def _news(before: Frame, after: Frame) -> Frame:
    differ = {name: it for name, it in after.items() if name != "shapes" and it != before[name]}
    return {"steps": delta.steps(before["shapes"], after["shapes"])} | differ


# -- acts --------------------------------------------------------------------------


def _silent(row: Row, way: Walk) -> bool:
    return [row[0], *row[delta.CONTENT : delta.CONTENT + 1]] == ["text", way.silent]


def _row(row: Row, way: Walk) -> Row:
    told = list(row)
    if told[0] == "group" and len(told) > delta.CONTENT and told[delta.CONTENT]:
        told[delta.CONTENT] = [_row(each, way) for each in told[delta.CONTENT]]
    if len(told) > ACTS:
        told[ACTS] = [act for each in told[ACTS] if (act := _act(each, way))]
    if len(told) > DRAG and told[DRAG] not in way.acts:
        told[DRAG] = ""
    while told[-1] in ("", []):
        told.pop()
    return told


def _act(act: Row, way: Walk) -> Row | None:
    name, on, *words = act
    place = None if on is None else way.leads(name, on)
    if place is not None:
        return ["frame", place, *words]
    return act if name in way.acts else None


def _controls(offered: list[Control], way: Walk) -> list[Control]:
    for control in offered:
        if control["kind"] == "slider" and way.leads(control["act"], control["value"]) is not None:
            return _time(control, way)
    return [it for it in offered if it["kind"] == "button" and it["act"] in way.acts]


def _time(slider: Control, way: Walk) -> list[Control]:
    """A slider over the moments, with the buttons that a timeline has."""
    place, last = way.leads(slider["act"], slider["value"]), len(way.times) - 1
    assert place is not None
    return [
        controls.slider("frame", slider["label"], place, 0, last, 1),
        *controls.time_buttons("a step", playing=False),
    ]
