"""One moment of a query as a picture: a pure function, without Spark.

layout.py has the positions of the parts; this module draws them, with a sentence about the batch
and the end of the query.
"""

from widgets.scene import Scene, SceneShape, group, rect
from widgets.stream import batches, lists, pipeline, strips, words
from widgets.stream.history import BatchMoment
from widgets.stream.layout import StreamViewState
from widgets.text_column import TextColumn

LINE = 17


def picture(view: StreamViewState) -> Scene:
    moment = view.moment
    shapes, y = pipeline.drawn(view)
    if moment is None:
        return Scene(view.width, y, shapes, title=title(view), says=view.history.ended)
    says = sentence(moment, view.before)
    column = TextColumn(view.left, y + LINE, view.room, LINE).write("says", says)
    shapes, y = shapes + column.shapes, column.y - LINE
    if view.live and not moment.late:
        says = ""  # batches come too often to be read aloud
    y += 14
    if view.head is None and view.history.ended:
        band, y = _ended(view, y)
        shapes += band
        says = view.history.ended
    shapes += strips.drawn(view, moment, y)
    y += strips.height(view)
    shapes += lists.drawn(view, moment, y)
    y += lists.height(view)
    shapes += batches.drawn(view, y)
    return Scene(view.width, y + batches.HEIGHT, shapes, title=title(view), says=says)


def title(view: StreamViewState) -> str:
    """The description of the picture, for screen readers."""
    name = f" {view.name}" if view.name else ""
    at = f", batch {view.moment.batch}" if view.moment else ""
    return f"Streaming query{name}{at}"


def header(view: StreamViewState) -> str:
    """A few words above the picture."""
    moment, history = view.moment, view.history
    at = f"batch {moment.batch}" if moment else ""
    lag = "" if moment is None or moment.lag is None else f"lag {words.amount(moment.lag)}"
    state = "failed" if history.failed else "ended" if history.ended else view.status
    parts = view.name, at, lag, state if view.head is None else "looking back"
    return " · ".join(filter(None, parts))


def sentence(moment: BatchMoment, before: BatchMoment | None = None) -> str:
    """The result of a batch, in a sentence."""
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


def _ended(view: StreamViewState, y: float) -> tuple[list[SceneShape], float]:
    failed = view.history.failed
    told = ("▲ " if failed else "■ ") + view.history.ended
    column = TextColumn(10, 18, view.room - 20, LINE)
    column.write("line", told, "bad bold" if failed else "bold")
    high, look = column.y - 8, "outage" if failed else "card"
    shapes = [rect("back", 0, 0, view.room, high, 6, look=look), *column.shapes]
    whole = group("ended", view.left, y - 4, shapes, label=view.history.ended)
    return [whole], y + high + 10
