"""One moment of a query as a picture: a pure function, with Spark at hand or without.

The parts stand in plan.py; this puts them below each other, and says in a sentence what the batch
did and how the query ended.
"""

from widgets.scene import Scene, Shape, group, rect, text, wrap
from widgets.stream import batches, lists, pipeline, strips, words
from widgets.stream.history import Moment
from widgets.stream.plan import LEFT, RIGHT, WIDTH, Scenery

LINE = 17


def picture(scenery: Scenery) -> Scene:
    moment = scenery.moment
    shapes, y = pipeline.drawn(scenery)
    if moment is None:
        return Scene(WIDTH, y, shapes, title=title(scenery), says=scenery.history.ended)
    says = sentence(moment, scenery.before)
    for number, part in enumerate(wrap(says, RIGHT - LEFT, 12)):
        y += LINE
        shapes.append(text(f"says {number}", LEFT, y, part))
    if scenery.live and not moment.late:
        says = ""  # a voice that never stops would say nothing
    y += 14
    if scenery.head is None and scenery.history.ended:
        band, y = _ended(scenery, y)
        shapes += band
        says = scenery.history.ended
    shapes += strips.drawn(scenery, moment, y)
    y += strips.HEIGHT
    shapes += lists.drawn(scenery, moment, y)
    y += lists.height(scenery)
    shapes += batches.drawn(scenery, y)
    return Scene(WIDTH, y + batches.HEIGHT, shapes, title=title(scenery), says=says)


def title(scenery: Scenery) -> str:
    """What the picture is, read aloud."""
    name = f" {scenery.name}" if scenery.name else ""
    at = f", batch {scenery.moment.batch}" if scenery.moment else ""
    return f"Streaming query{name}{at}"


def header(scenery: Scenery) -> str:
    """A few words above the picture."""
    moment, history = scenery.moment, scenery.history
    at = f"batch {moment.batch}" if moment else ""
    lag = "" if moment is None or moment.lag is None else f"lag {words.amount(moment.lag)}"
    state = "failed" if history.failed else "ended" if history.ended else scenery.status
    parts = scenery.name, at, lag, state if scenery.head is None else "looking back"
    return " · ".join(filter(None, parts))


def sentence(moment: Moment, before: Moment | None = None) -> str:
    """What a batch did."""
    took = words.seconds(moment.took)
    if moment.rows:
        said = [f"Batch {moment.batch}: {words.many(moment.rows, 'row')} in {took}."]
    else:
        said = [f"Batch {moment.batch} had no rows, and took {took}."]
    was = before.watermark if before else None
    if moment.watermark is not None and moment.watermark != was:
        (clock,) = words.clocks([moment.watermark])
        said.append(f"The watermark is now at {clock}.")
    removed = sum(it.removed for it in moment.states)
    if removed:
        what = words.many(removed, "row")
        said.append(f"{what} of state can change no more, and went.")
    if moment.late:
        late = words.many(moment.late, "row")
        said.append(f"{late} came behind the watermark, too late to count.")
    return " ".join(said)


def _ended(scenery: Scenery, y: float) -> tuple[list[Shape], float]:
    failed = scenery.history.failed
    told = ("▲ " if failed else "■ ") + scenery.history.ended
    lines = wrap(told, RIGHT - LEFT - 20, 12)
    high = LINE * len(lines) + 10
    look = "bad bold" if failed else "bold"
    shapes = [
        rect("back", 0, 0, RIGHT - LEFT, high, 6, look="outage" if failed else "card"),
        *(text(f"line {at}", 10, 18 + LINE * at, part, look=look) for at, part in enumerate(lines)),
    ]
    return [group("ended", LEFT, y - 4, shapes, label=scenery.history.ended)], y + high + 10
