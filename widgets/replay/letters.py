"""The messages of a simulator's run, on their way through the picture of its cluster.

    standing    broker 1 ────────●────────> broker 2     where it is just now, and below in words
    playing     a dot for each that was sent, all the way

A message that is lost is a cross halfway. One that waits at a cut link stays before the cut.
Standing still, the words say what each dot is, and pointing at the one lights up the other.
"""

import re
from itertools import pairwise
from math import hypot
from typing import Any

from widgets.cluster_scene import plan_of
from widgets.moment import TRAIL, Moment
from widgets.plan import Plan
from widgets.replay.rehearsal import Letter, Rehearsal
from widgets.scene import ABOUT, UP_TO, Scene, Shape, circle, fit, group, line, rect, text, travel
from widgets.scene import wrap as wrapped

ROWS, ROW = 5, 18  # below the picture
HEAD = 34  # above them
MOST = 24  # dots at a time
NEAR = 9  # dots nearer than this stand side by side
CUT = 0.42  # how far one comes on a link that is cut
PIECES = 12  # of a curve
READERS = ("reader", "member")
KEEPER = "zookeeper"

Point = tuple[float, float]


def added(scene: Scene, moment: Moment) -> Scene:
    """The same picture, with the messages in it; one that is not of a simulator is as it was."""
    film = moment.reel.film
    if not isinstance(film, Rehearsal):
        return scene
    plan = plan_of(moment)
    shapes = [shape for shape in scene.shapes if shape.kind != "travel"]  # guessed from states
    if moment.playing:
        sent = film.sent(moment.at - TRAIL, moment.at)
        shapes += [dot for letter in sent[-MOST:] if (dot := _travelling(letter, plan))]
        words = "Pause, or go on step by step, and the messages are told in words."
        told, says = [text("hint", 24, HEAD + ROW, words, look="soft")], ""
    else:
        letters = film.letters(moment.at)
        shapes += _dots(letters, moment, plan)
        told, says = _told(letters, moment, film)
    foot = _foot(moment, film, scene.width)
    shapes.append(group("messages", 0, scene.height, [*foot, *told]))
    height = scene.height + HEAD + ROWS * ROW + 10
    return Scene(scene.width, height, shapes, title=scene.title, says=says)


# -- where a message is ---------------------------------------------------------------------------


def _way(source: str, target: str, plan: Plan) -> list[Point]:
    """The way between two, as points; none from somebody to himself."""
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


def _broker(name: str, plan: Plan) -> int:
    """Its number; 0: it is none of these brokers."""
    number = name.removeprefix("broker-")
    return int(number) if number.isdigit() and int(number) in plan.brokers else 0


def _points(drawn: str) -> list[Point]:
    """A path of M, L, V and C as points, near enough to each other for the eye."""
    points: list[Point] = []
    for letter, told in re.findall(r"([MLVC])([^MLVC]*)", drawn):
        numbers = [float(each) for each in told.split()]
        if letter == "V":
            points.append((points[-1][0], numbers[0]))
        elif letter == "C":
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
    """The point so much of the way on."""
    lengths = [hypot(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(points)]
    left = share * sum(lengths)
    for (a, b), length in zip(pairwise(points), lengths, strict=True):
        if left <= length and length:
            part = left / length
            return a[0] + (b[0] - a[0]) * part, a[1] + (b[1] - a[1]) * part
        left -= length
    return points[-1]


# -- dots -----------------------------------------------------------------------------------------


def _travelling(letter: Letter, plan: Plan) -> Shape | None:
    points = _way(letter.source, letter.target, plan)
    drawn = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return travel(letter.key, f"M{drawn}") if points else None


def _dots(letters: list[Letter], moment: Moment, plan: Plan) -> list[Shape]:
    taken: list[Point] = []
    shapes = []
    for letter in letters[-MOST:]:
        points = _way(letter.source, letter.target, plan)
        if not points:
            continue
        x, y = _along(points, _share(letter, moment))
        while any(hypot(x - a, y - b) < NEAR for a, b in taken):
            y -= NEAR
        taken.append((x, y))
        label = f"{_parties(letter)}: {letter.text}, {_progress(letter, moment)}"
        both: dict[str, Any] = {"label": label, "kin": letter.key}
        if letter.lost:
            shapes.append(text(letter.key, x, y + 5, "✗", ABOUT, look="bad bold", **both))
        else:
            shapes.append(circle(letter.key, x, y, 5, look="rose", **both))
    return shapes


def _share(letter: Letter, moment: Moment) -> float:
    share = letter.share(moment.at)
    return min(share, CUT) if _is_cut(letter, moment) else share


def _is_cut(letter: Letter, moment: Moment) -> bool:
    ends = tuple(name.removeprefix("broker-") for name in (letter.source, letter.target))
    return any(it.cut and (it.source, it.target) == ends for it in moment.state.links)


# -- words ----------------------------------------------------------------------------------------


def _parties(letter: Letter) -> str:
    return f"{_name(letter.source)} → {_name(letter.target)}"


def _name(machine: str) -> str:
    return "ZooKeeper" if machine == KEEPER else machine.replace("-", " ")


def _progress(letter: Letter, moment: Moment) -> str:
    if letter.lost:
        return "is lost"
    if _is_cut(letter, moment):
        return "held up: the link is cut"
    takes, passed = letter.arrives - letter.sent, moment.at - letter.sent
    if passed >= takes:
        return f"arrives after {takes} ms"
    return f"{passed} of {takes} ms" if passed else f"is sent, takes {takes} ms"


def _told(letters: list[Letter], moment: Moment, film: Rehearsal) -> tuple[list[Shape], str]:
    """A row for each message, the newest first; and what is to be read aloud."""
    broken = film.trace.violation
    if broken is not None and moment.at >= film.end:
        words = f"A promise is broken: {film.broken}. {broken.text}."
        rows = wrapped(f"✗ {words}", 940, 12)[:ROWS]
        shapes = [
            text(f"broken {place}", 24, HEAD + ROW * (place + 1) - 4, row, look="bad")
            for place, row in enumerate(rows)
        ]
        return shapes, words
    shown = letters[::-1]
    kept = shown if len(shown) <= ROWS else shown[: ROWS - 1]
    shapes = [
        _row(letter, moment, HEAD + ROW * (place + 1) - 4) for place, letter in enumerate(kept)
    ]
    if len(kept) < len(shown):
        more = f"and {len(shown) - len(kept)} more"
        shapes.append(text("more", 24, HEAD + ROW * ROWS - 4, more, look="soft"))
    if not shown:
        shapes.append(text("none", 24, HEAD + ROW, "Nothing is under way.", look="soft"))
        return shapes, ""
    return shapes, f"{_parties(shown[0])}: {shown[0].text}, {_progress(shown[0], moment)}"


def _row(letter: Letter, moment: Moment, y: float) -> Shape:
    parties, progress = _parties(letter), _progress(letter, moment)
    label = f"{parties}: {letter.text}, {progress}"
    shapes = [
        rect("back", 16, -13, 968, ROW, 3, look="clear", label=label, kin=letter.key),
        text("parties", 24, 0, parties, look="soft bold still"),
        text("text", 196, 0, fit(letter.text, 610, 11.5), look="small still"),
        text("progress", 976, 0, progress, UP_TO, look="soft still"),
    ]
    return group(f"row {letter.key}", 0, y, shapes)


def _foot(moment: Moment, film: Rehearsal, width: float) -> list[Shape]:
    """The time to the millisecond, and which run it is."""
    defect = film.trace.recipe.defect
    run = film.name + (f", with a defect: {defect}" if defect else "")
    clock = f"at {(moment.at - film.start) / 1000:.3f} s"
    return [
        line("edge", 0, 0, width, 0, look="rule"),
        text("heading", 24, 24, "Messages under way", look="bold"),
        text("exactly", 182, 24, clock, look="soft"),
        text("run", width - 24, 24, run, UP_TO, look="soft"),
    ]
