"""Two strips under the pipeline: the parts of a batch's time, and event time.

    ▒▓▓██████████████▒▒      note, plan, run, done: the parts of a batch, to scale
    ──░░░░▼━━━━━━━━━━━──     the watermark, and the times of the input rows

The watermark of a batch was set by the batches before it: rows left of it are too late.
"""

from math import ceil

from widgets.scene import ABOUT, UP_TO, SceneShape, group, line, path, rect, text, width_of
from widgets.stream import words
from widgets.stream.history import BatchMoment
from widgets.stream.layout import StreamColumn, StreamViewState
from widgets.text_column import TextColumn

HEIGHT = 78  # of one strip
BAR = 16  # how high
LOOKS = {  # of the parts of a batch
    "latestOffset": "band place",
    "walCommit": "band time",
    "queryPlanning": "band flags",
    "addBatch": "span now",
    "commitOffsets": "band check",
    "commitBatch": "band check",
}


def height(view: StreamViewState) -> float:
    return 2 * HEIGHT if view.narrow else HEIGHT


def drawn(view: StreamViewState, moment: BatchMoment, y: float) -> list[SceneShape]:
    below = HEIGHT if view.narrow else 0
    return [
        *_times(moment, view.columns[0], y),
        *_watermark(view, moment, view.columns[1], y + below),
    ]


def _times(moment: BatchMoment, column: StreamColumn, y: float) -> list[SceneShape]:
    whole, width = max(sum(it for _, it in moment.parts), 1), column.width
    title = f"Where {words.seconds(moment.took)} went"
    shapes = [text("times", column.left, y + 12, title, look="bold")]
    named = _named(moment, whole, width)
    x = column.left
    for name, spent in moment.parts:
        word, does = words.PARTS.get(name, (name, "does more for a batch"))
        long = width * spent / whole
        label = f"{word}: {spent} ms of {moment.took}; Spark {does} ({name})"
        inside = [rect("bar", 0, 0, long, BAR, look=LOOKS.get(name, "band"))]
        if name in named:
            inside.append(text("word", 0, BAR + 14, _words(word, spent), look="tiny"))
        shapes.append(group(f"part {name}", x, y + 22, inside, label=label))
        x += long
    return shapes


def _words(word: str, spent: int) -> str:
    return f"{word} {spent} ms"


def _named(moment: BatchMoment, whole: int, width: float) -> set[str]:
    """The parts with a text below them: the longest first, then those with room."""
    places, x = list[tuple[int, str, float]](), 0.0
    for name, spent in moment.parts:
        places.append((spent, name, x))
        x += width * spent / whole
    named, taken = set(), list[tuple[float, float]]()
    for spent, name, start in sorted(places, reverse=True):
        end = start + width_of(_words(words.PARTS.get(name, (name, ""))[0], spent), 11) + 10
        free = all(end <= left or start >= right for left, right in taken)
        if spent and free and end <= width + 10:
            named.add(name)
            taken.append((start, end))
    return named


def _watermark(
    view: StreamViewState, moment: BatchMoment, column: StreamColumn, y: float
) -> list[SceneShape]:
    left, right, level = column.left, column.right, y + 22 + BAR / 2
    shapes = [text("event time", left, y + 12, "Event time", look="bold")]
    edges = _edges(view)
    if not edges:
        why = "No watermark: each row counts, however late it comes."
        lines = TextColumn(left, y + 36, column.width, 15).write("no watermark", why, "soft")
        return shapes + lines.shapes
    least, span = edges[0], max(edges[-1] - edges[0], 1)
    pad = (right - left) * 0.06

    def place(at: int) -> float:
        return left + pad + (right - left - 2 * pad) * (at - least) / span

    shapes.append(line("event axis", left, level, right, level, look="rule"))
    if moment.event_times:
        early, late = moment.event_times
        names = words.clocks([early, late])
        bar = rect("bar", 0, -5, max(place(late) - place(early), 3), 10, 3, look="span now")
        label = f"rows of this batch: from {names[0]} to {names[1]}"
        shapes.append(group("event times", place(early), level, [bar], label=label))
        ends = text("latest", right, y + 12, f"rows up to {names[1]}", UP_TO, look="soft")
        shapes.append(ends)
    if moment.watermark is None:
        none = "no watermark yet: it follows the first rows"
        return [*shapes, text("no watermark", left, level + 26, none, look="tiny")]
    (clock,) = words.clocks([moment.watermark])
    x = place(moment.watermark)
    told = f"watermark {clock}"
    half = ceil(width_of(told, 11) / 2)  # rounded up, so that the text stays in the strip
    about = min(max(x, left + half), right - half) - x  # the text stays in the strip
    inside = [
        line("stem", 0, -8, 0, 12, look="watermark"),
        path("flag", "M-5 -12h10l-5 7z", look="watermark"),
        text("clock", about, 24, told, ABOUT, look="tiny"),
    ]
    shapes.insert(1, rect("closed", left, level - 8, x - left, 16, look="band unused"))
    label = f"the watermark is at {clock}: older rows are too late"
    return [*shapes, group("watermark", x, level, inside, label=label)]


def _edges(view: StreamViewState) -> list[int]:
    """All times of the strip, in order: also those of the last batches, to show how the watermark
    moves."""
    found = [
        at for it in view.recent for at in (it.watermark, *(it.event_times or ())) if at is not None
    ]
    return sorted(found)
