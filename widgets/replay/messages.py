"""Draws the messages of a simulated run between the brokers.

    paused      broker 1 ────────●────────> broker 2     its position, and its text below
    playing     a dot for each message that was sent

A lost message is a cross halfway. A message that waits at a cut link stays before the cut. While
the run is paused, a list explains each dot; pointing at a dot or its row highlights both.
"""

import re
from itertools import pairwise
from math import hypot
from typing import Any

from widgets.cluster_layout import ClusterLayout
from widgets.cluster_scene import plan_of
from widgets.moment import TRAIL, ViewMoment
from widgets.replay.simulated_run import SimulatedMessage, SimulatedRun
from widgets.scene import (
    ABOUT,
    UP_TO,
    Scene,
    SceneShape,
    circle,
    fit,
    group,
    line,
    rect,
    text,
    travel,
    width_of,
)
from widgets.text_column import TextColumn

ROWS, ROW = 5, 18  # below the picture
HEAD = 34  # above them
WIDE = 640  # px: on a narrower page a row does not tell how far a message has come
PARTIES = 172  # the width of their names
PLAYING = "Pause, or go on step by step, and the messages are told in words."
MOST = 24  # dots at a time
NEAR = 9  # dots nearer than this are drawn side by side
CUT = 0.42  # the position of a message on a cut link
PIECES = 12  # of a curve
READERS = ("reader", "member")
KEEPER = "zookeeper"

Point = tuple[float, float]


def added(scene: Scene, moment: ViewMoment) -> Scene:
    """The picture with the messages; unchanged if it is not of a simulated run."""
    film = moment.run_source.film
    if not isinstance(film, SimulatedRun):
        return scene
    plan = plan_of(moment)
    shapes = [shape for shape in scene.shapes if shape.kind != "travel"]  # derived from states
    if moment.playing:
        sent = film.sent(moment.at - TRAIL, moment.at)
        shapes += [dot for message in sent[-MOST:] if (dot := _travelling(message, plan))]
        hint = TextColumn(24, HEAD + ROW, moment.width - 48, ROW).write("hint", PLAYING, "soft")
        told, says = hint.shapes, ""
    else:
        messages = film.messages(moment.at)
        shapes += _dots(messages, moment, plan)
        told, says = _told(messages, moment, film)
    foot = _foot(moment, film, scene.width)
    shapes.append(group("messages", 0, scene.height, [*foot, *told]))
    height = scene.height + HEAD + ROWS * ROW + 10
    return Scene(scene.width, height, shapes, title=scene.title, says=says)


# -- the position of a message ------------------------------------------------------------------


def _way(source: str, target: str, plan: ClusterLayout) -> list[Point]:
    """The way between two, as points; none to itself."""
    one, other = _broker(source, plan), _broker(target, plan)
    if one and other:
        return _points(plan.way(one, other)) if one != other else []
    broker, peer = (one, target) if one else (other, source)
    if not broker:
        return []
    if peer == KEEPER:
        points = _points(plan.session(broker))[:: 1 if other else -1]
    elif peer.startswith(READERS):
        points = _points(plan.read(broker))[:: -1 if other else 1]
    else:
        points = _points(plan.written(broker))[:: 1 if other else -1]
    return points


def _broker(name: str, plan: ClusterLayout) -> int:
    """The broker's number; 0: not a broker of the picture."""
    number = name.removeprefix("broker-")
    return int(number) if number.isdigit() and int(number) in plan.brokers else 0


def _points(drawn: str) -> list[Point]:
    """A path of M, L, V and C as points, near enough to each other for the eye."""
    points: list[Point] = []
    for message, told in re.findall(r"([MLVC])([^MLVC]*)", drawn):
        numbers = [float(each) for each in told.split()]
        if message == "V":
            points.append((points[-1][0], numbers[0]))
        elif message == "C":
            points += _curve(points[-1], numbers)
        else:
            points.append((numbers[0], numbers[1]))
    return points


def _curve(start: Point, handles: list[float]) -> list[Point]:
    x1, y1, x2, y2, x3, y3 = handles
    found = []
    for piece in range(1, PIECES + 1):
        t = piece / PIECES
        a, b, c, d = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
        x = a * start[0] + b * x1 + c * x2 + d * x3
        found.append((x, a * start[1] + b * y1 + c * y2 + d * y3))
    return found


def _along(points: list[Point], share: float) -> Point:
    """The point after this share of the way."""
    lengths = [hypot(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(points)]
    left = share * sum(lengths)
    for (a, b), length in zip(pairwise(points), lengths, strict=True):
        if left <= length and length:
            part = left / length
            return a[0] + (b[0] - a[0]) * part, a[1] + (b[1] - a[1]) * part
        left -= length
    return points[-1]


# -- dots -----------------------------------------------------------------------------------------


def _travelling(message: SimulatedMessage, plan: ClusterLayout) -> SceneShape | None:
    points = _way(message.source, message.target, plan)
    drawn = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return travel(message.key, f"M{drawn}") if points else None


def _dots(
    messages: list[SimulatedMessage], moment: ViewMoment, plan: ClusterLayout
) -> list[SceneShape]:
    taken: list[Point] = []
    shapes = []
    for message in messages[-MOST:]:
        points = _way(message.source, message.target, plan)
        if not points:
            continue
        x, y = _along(points, _share(message, moment))
        while any(hypot(x - a, y - b) < NEAR for a, b in taken):
            y -= NEAR
        taken.append((x, y))
        label = f"{_parties(message)}: {message.text}, {_progress(message, moment)}"
        both: dict[str, Any] = {"label": label, "kin": message.key}
        if message.lost:
            shapes.append(text(message.key, x, y + 5, "✗", ABOUT, look="bad bold", **both))
        else:
            shapes.append(circle(message.key, x, y, 5, look="rose", **both))
    return shapes


def _share(message: SimulatedMessage, moment: ViewMoment) -> float:
    share = message.share(moment.at)
    return min(share, CUT) if _is_cut(message, moment) else share


def _is_cut(message: SimulatedMessage, moment: ViewMoment) -> bool:
    ends = tuple(name.removeprefix("broker-") for name in (message.source, message.target))
    return any(it.cut and (it.source, it.target) == ends for it in moment.state.links)


# -- texts ----------------------------------------------------------------------------------------


def _parties(message: SimulatedMessage) -> str:
    return f"{_name(message.source)} → {_name(message.target)}"


def _name(machine: str) -> str:
    return "ZooKeeper" if machine == KEEPER else machine.replace("-", " ")


def _progress(message: SimulatedMessage, moment: ViewMoment) -> str:
    if message.lost:
        return "is lost"
    if _is_cut(message, moment):
        return "held up: the link is cut"
    takes, passed = message.arrives - message.sent, moment.at - message.sent
    if passed >= takes:
        return f"arrives after {takes} ms"
    return f"{passed} of {takes} ms" if passed else f"is sent, takes {takes} ms"


def _told(
    messages: list[SimulatedMessage], moment: ViewMoment, film: SimulatedRun
) -> tuple[list[SceneShape], str]:
    """A row for each message, the newest first, and the text for screen readers."""
    broken = film.trace.violation
    if broken is not None and moment.at >= film.end:
        words = f"A promise is broken: {film.broken}. {broken.text}."
        column = TextColumn(24, HEAD + ROW - 4, moment.width - 48, ROW)
        return column.write("broken", f"✗ {words}", "bad").shapes[:ROWS], words
    shown = messages[::-1]
    kept = shown if len(shown) <= ROWS else shown[: ROWS - 1]
    shapes = [
        _row(message, moment, HEAD + ROW * (place + 1) - 4) for place, message in enumerate(kept)
    ]
    if len(kept) < len(shown):
        more = f"and {len(shown) - len(kept)} more"
        shapes.append(text("more", 24, HEAD + ROW * ROWS - 4, more, look="soft"))
    if not shown:
        shapes.append(text("none", 24, HEAD + ROW, "Nothing is under way.", look="soft"))
        return shapes, ""
    return shapes, f"{_parties(shown[0])}: {shown[0].text}, {_progress(shown[0], moment)}"


def _row(message: SimulatedMessage, moment: ViewMoment, y: float) -> SceneShape:
    parties, progress = _parties(message), _progress(message, moment)
    label, width = f"{parties}: {message.text}, {progress}", moment.width
    end = width - 24 - width_of(progress, 11) - 12 if width >= WIDE else width - 24
    x = 24 + (PARTIES if width >= WIDE else width_of(parties, 11, bold=True) + 10)
    shapes = [
        rect("back", 16, -13, width - 32, ROW, 3, look="clear", label=label, kin=message.key),
        text("parties", 24, 0, parties, look="soft bold still"),
        text("text", x, 0, fit(message.text, end - x, 11.5), look="small still"),
    ]
    if width >= WIDE:
        shapes.append(text("progress", width - 24, 0, progress, UP_TO, look="soft still"))
    return group(f"row {message.key}", 0, y, shapes)


def _foot(moment: ViewMoment, film: SimulatedRun, width: float) -> list[SceneShape]:
    """The time to the millisecond, and the name of the run."""
    defect = film.trace.recipe.defect
    run = film.name + (f", with a defect: {defect}" if defect else "")
    clock = f"at {(moment.at - film.start) / 1000:.3f} s"
    heading = "Messages under way"
    x = 24 + width_of(heading, 12, bold=True) + 12
    end = x + width_of(clock, 11) + 16
    shapes = [
        line("edge", 0, 0, width, 0, look="rule"),
        text("heading", 24, 24, heading, look="bold"),
        text("exactly", x, 24, clock, look="soft"),
    ]
    if end + width_of(run, 11) <= width - 24:
        shapes.append(text("run", width - 24, 24, run, UP_TO, look="soft"))
    return shapes
