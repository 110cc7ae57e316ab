"""The way through a view on a recording, from its first picture to its last.

    Playback         a picture every quarter of a second, and whenever something happens
    ZooKeeperTree    a picture a change
    QuorumView       a picture every quarter of a second, and whenever something happens
    WireView         half a page on, and again
    a view of files  a picture each time that they differ
    AccumulatorView  a picture an event
    any other        one picture: all that there is

Invariant: the times of a walk never fall, and its `stops` are among its pictures.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from widgets.accumulator.view import AccumulatorView
from widgets.log.hex_view import HexView
from widgets.log.view import HINT, SegmentView
from widgets.playback import TIME, Playback
from widgets.quorum.view import QuorumView
from widgets.stage import SceneWidget
from widgets.wire.exchange import MessageArrow
from widgets.wire.page import WireRow, anchor
from widgets.wire.view import WireView
from widgets.wire.words import told
from widgets.znodes.view import ZooKeeperTree

TICK = 250  # ms; in between the head glides
PACE = 700  # ms for a picture that is not at a time of the run
MOST = 100  # moments of files, or pages: of more, every second or third is left out
STEPS = 400  # events of batches, likewise
DIGITS = re.compile(r"\d+")
BUTTONS = ("begin", "back", "play", "forward", "live")

Leads = Callable[[str, Any], int | None]


def _nowhere(act: str, on: Any) -> int | None:
    return None


@dataclass(frozen=True)
class Walk:
    times: list[int]  # of each picture, in ms of the axis: of compressed time, fewer than passed
    span: int  # ms, of the axis
    go: Callable[[int], None]  # turns the view to a picture
    stops: list[int]  # the pictures that back and forward lead to
    acts: frozenset[str] = frozenset()  # what the player does by itself
    leads: Leads = _nowhere  # which picture an act of the view leads to
    pace: int = 0  # ms for a picture; 0: real time
    silent: str = ""  # a text in the picture about an act that a film does not have


def walk(view: SceneWidget) -> Walk:
    match view:
        case Playback():
            return _playback(view)
        case ZooKeeperTree():
            return _changes(view)
        case QuorumView():
            return _quorum(view)
        case WireView():
            return _pages(view)
        case SegmentView() | HexView():
            return _moments(view)
        case AccumulatorView():
            return _batches(view)
    return Walk([0], 1, lambda _: None, [0])


def _playback(view: Playback[Any]) -> Walk:
    run_source = view.run_source
    start, scale = run_source.start, view.axis()
    stops = {at for at in run_source.moments() if start <= at <= run_source.end}
    seen = {state.at for state in run_source.between(start, run_source.end)} - {start}
    times = sorted({*range(start, run_source.end, TICK), *stops, *seen, start, run_source.end})

    def leads(act: str, on: Any) -> int | None:
        return bisect_right(times, run_source.seen(int(on))) - 1 if act == "goto" else None

    return Walk(
        [round(scale.drawn(at)) for at in times],
        scale.span,
        lambda place: view.follow(times[place]),
        [place for place, at in enumerate(times) if at in stops],
        TIME - {"goto"},
        leads,
    )


def _changes(view: ZooKeeperTree) -> Walk:
    view_state, history = view.view_state(), view.history
    numbers = [history.began, *(change.number for change in history.steps)]
    if history.last > numbers[-1]:
        numbers.append(history.last)
    start, scale = view_state.start, view.course().axis()
    ats = [history.changes[number - 1].at if number else start for number in numbers]

    def leads(act: str, on: Any) -> int | None:
        if act not in ("goto", "step_to"):
            return None
        number = int(on) if act == "step_to" else history.until(int(on))
        return max(bisect_right(numbers, number) - 1, 0)

    return Walk(
        [round(scale.drawn(max(at, start))) for at in ats],
        scale.span,
        lambda place: view.do("step_to", numbers[place]),
        list(range(len(numbers))),
        frozenset({*BUTTONS, "seek"}),
        leads,
        PACE,
    )


def _quorum(view: QuorumView) -> Walk:
    stops = {event.at for event in view.film.events}
    times = sorted({*range(0, view.end, TICK), *stops, view.end})
    return Walk(
        times,
        max(view.end, 1),
        lambda place: view.follow(view.began + times[place]),
        [place for place, at in enumerate(times) if at in stops],
        frozenset({*BUTTONS, "seek"}),
    )


def _pages(view: WireView) -> Walk:
    """Half a page on. If there are too many, those with the most usual messages are left out."""
    page = view.view_state()
    first, last = page.fitting(0, 1), len(page.every)
    ends = [*range(first, last, max(len(page.rows) // 2, 1)), last]
    arrows = [page.every[end - 1].arrow for end in rarest(ends, page.every) if end]
    scale = page.scale

    def go(place: int) -> None:
        view.until = anchor(arrows[place])
        view.draw()

    return Walk(
        [max(round(arrow.at) - scale.start, 0) for arrow in arrows],
        max(scale.span, 1),
        go,
        list(range(len(arrows))),
        frozenset({"back", "forward", "seek"}),
    )


def _moments(view: SegmentView | HexView) -> Walk:
    slider = next((it for it in view.controls if it["act"] == "moment"), None)
    if slider is None:
        return Walk([0], 1, lambda _: None, [0])
    chosen = _thinned(range(int(slider["most"]) + 1))

    def go(place: int) -> None:
        view.do("moment", chosen[place])
        if isinstance(view, HexView) and not view.trouble:
            view.do("last")  # new records are at the end

    def leads(act: str, on: Any) -> int | None:
        return bisect_right(chosen, int(on)) - 1 if act == "moment" else None

    return Walk(
        [place * PACE for place in range(len(chosen))],
        len(chosen) * PACE,
        go,
        list(range(len(chosen))),
        frozenset(BUTTONS),
        leads,
        PACE,
        HINT,
    )


def rarest(ends: Sequence[int], rows: Sequence[WireRow]) -> list[int]:
    """Of some pages in a row, the one with the rarest message; each is given by its end."""
    kinds = [row.folded or _kind(row.arrow) for row in rows]
    often, step = Counter(kinds), -(-len(ends) // MOST)
    began = dict(zip(ends, [0, *ends], strict=False))

    def rarity(end: int) -> int:
        return min((often[kind] for kind in kinds[began[end] : end]), default=0)

    parts = [ends[place : place + step] for place in range(0, len(ends), step)]
    return sorted({ends[0], *(min(part, key=rarity) for part in parts), ends[-1]})


def _kind(arrow: MessageArrow) -> str:
    """What it says, whatever the numbers."""
    return f"{arrow.kind} {arrow.way} {DIGITS.sub('', told(arrow)[0])}"


def _batches(view: AccumulatorView) -> Walk:
    times = view.history.times or [0.0]
    chosen = _thinned(range(len(times)), STEPS)
    return Walk(
        [round((times[place] - times[0]) * 1000) for place in chosen],
        max(round((times[-1] - times[0]) * 1000), 1),
        lambda place: view.seek(chosen[place] / max(len(times) - 1, 1)),
        list(range(len(chosen))),
        frozenset({*BUTTONS, "seek"}),
    )


def _thinned(known: Sequence[int], most: int = MOST) -> list[int]:
    """Some of them, always with the first and the last."""
    step = -(-len(known) // most)
    return sorted({*known[::step], known[-1]})
