"""The transactions of a group as marks in its lanes, and as a row for each transactional id.

    c1       ━━━━━━━━━━━━━━━━━━━━━━━━━━    a lane; below its threads, offsets that were sent:
                  ✓ till-1·0    ✗          id, epoch, and the result of the transaction
                     ✓              ✗
    till-1       ├───┤        ├─────┤      from its begin to commit or abort: filled if
    producer 4 · epoch 0                   committed, struck through if aborted, dashed if open

    ✓ committed     ✗ aborted     ⊘ the producer was fenced, or its offsets were refused     … open

Marks that are too near each other are joined: one that was aborted or fenced is shown, and all are
counted.
"""

from collections.abc import Sequence
from typing import TypeVar

from widgets.group.layout import EDGE, ID, NAMES, SLIM_ID, GroupViewState, Rows, Sent
from widgets.group.transactions import OffsetsCommit, TransactionSpan
from widgets.log.fields import count
from widgets.scene import ABOUT, UP_TO, SceneShape, fit, group, line, path, rect, text, width_of

CARD = NAMES - 30
NEAR = 15  # px between two glyphs at least
BAR = 9  # height of a transaction
SIGNS = "Transactions: ✓ committed, ✗ aborted, ⊘ fenced or refused, … open; id·epoch beside it."
SAID = 3  # joined marks that are described one by one
GLYPHS = {"…": "soft", "✓": "ok", "✗": "bad", "⊘": "bad"}  # and looks, by weight

Told = TypeVar("Told", Sent, TransactionSpan)


def lane_marks(view: GroupViewState, rows: Rows) -> list[SceneShape]:
    shapes = []
    for lane in rows.top:
        sent = [it for it in view.sent if it[0].lane == lane]
        shapes += _of_lane(view, rows, lane, sent)
    return shapes


def id_rows(view: GroupViewState, rows: Rows) -> list[SceneShape]:
    shapes = []
    for id, top in rows.ids.items():
        shapes += _id(view, id, top)
    return shapes


def last_sentence(view: GroupViewState) -> list[str]:
    """What the last transaction of the group means for its offsets."""
    own = [it for it in view.history.transactions.facts.own if it.commits]
    if not own:
        return []
    span = own[-1]
    offsets, lasted = span.commits[-1].words, f"{span.lasted(view.now):.2f} s"
    match span.result:
        case "":
            words = f"{offsets} count when it is committed; open for {lasted}."
        case "committed":
            words = f"committed after {lasted}, and {offsets} with it."
        case _ if span.fenced:
            words = f"aborted after {lasted}, and this epoch is fenced. {offsets}: not committed."
        case _:
            words = f"aborted after {lasted}. {offsets}: not committed."
    return [f"Last transaction, of {span.name}: {words}"]


def legend(view: GroupViewState) -> str:
    return SIGNS if view.ids else ""


# -- in a lane ----------------------------------------------------------------------------------


def _of_lane(view: GroupViewState, rows: Rows, lane: str, sent: Sequence[Sent]) -> list[SceneShape]:
    runs = _joined(sent, [view.scale.place(it.at) for it, _ in sent])
    places = [view.scale.place(run[0][0].at) for run in runs]
    y, shapes = rows.top[lane] + rows.height[lane] - 6, []
    for run, x, end in zip(runs, places, [*places, view.right][1:], strict=False):
        glyph, (first, _) = _heaviest([_glyph(span) for _, span in run]), run[0]
        words = f"{first.id}·{first.epoch}" if len(run) == 1 else f"{len(run)}"
        inside = [
            line("stem", 0, -16, 0, -10, look="tick"),
            text("glyph", 0, 0, glyph, ABOUT, look=f"mark {GLYPHS[glyph]}"),
        ]
        if 9 + width_of(words, 11) + NEAR / 2 <= end - x:
            inside.append(text("words", 9, 0, words, look="tiny still"))
        label = "; ".join(_sent(view, *it) for it in run[-SAID:])
        more = f"{len(run) - SAID} before, then " if len(run) > SAID else ""
        shapes.append(group(f"offsets {lane} {first.at}", x, y, inside, label=more + label))
    return shapes


def _sent(view: GroupViewState, it: OffsetsCommit, span: TransactionSpan | None) -> str:
    at = f"{(it.at - view.start) / 1000:.1f} s: {it.lane}"
    whose = f"in a transaction of {it.id}, epoch {it.epoch}"
    if span is None:
        return f"{at} may not commit {it.words} {whose}: {it.error.upper()}"
    fenced = ", the producer is fenced" if span.fenced else ""
    return f"{at} commits {it.words} {whose}: {span.result or 'open'}{fenced}"


# -- a transactional id ---------------------------------------------------------------------------


def _id(view: GroupViewState, id: str, top: float) -> list[SceneShape]:
    known = view.history.transactions.facts
    producer, epoch = known.epochs.get(id, (-1, -1))
    spans = [it for it in known.own if it.id == id and view.seen(it.began, it.ended)]
    now, whose = (f"epoch {epoch}", f"producer {producer}") if producer >= 0 else ("", "")
    if view.narrow:
        y, box = top + 45, (8.0, top, view.width - 16, float(SLIM_ID))
        said = " · ".join(filter(None, (whose, now)))
        name = fit(id, view.width - 44 - width_of(said, 11) - 12, 11.5, bold=True)
        head = [
            text("name", EDGE, top + 17, name, look="bold small"),
            text("whose", view.width - EDGE, top + 17, said, UP_TO, look="soft"),
        ]
    else:
        left, right = view.left - 6, view.right + 6
        y, box = top + 28, (left, top, right - left, float(ID))
        name = fit(id, CARD - 34 - width_of(now, 11), 11.5, bold=True)
        head = [
            rect("card", 14, top, CARD, ID, 10, look="card"),
            text("name", 28, top + 17, name, look="bold small"),
            text("epoch", 4 + CARD, top + 17, now, UP_TO, look="soft"),
            text("whose", 28, top + 32, fit(whose, CARD - 22, 11), look="soft"),
        ]
    label = f"transactional id {id}: {whose}, {now}, {count(len(spans), 'transaction')}"
    return [
        group(f"lane of {id}", 0, 0, [rect("ground", *box, 6, look="card")]),
        group(f"transactional id {id}", 0, 0, head, label=label),
        *_bars(view, id, y, spans),
    ]


def _bars(
    view: GroupViewState, id: str, y: float, spans: Sequence[TransactionSpan]
) -> list[SceneShape]:
    """`y`: of the bars; the result of each is above its end."""
    scale, shapes = view.scale, list[SceneShape]()
    runs = _joined(spans, [None if it.decided is None else scale.place(it.decided) for it in spans])
    ends = [scale.place(run[-1].decided or view.now) for run in runs]
    for run, end, free in zip(runs, ends, [*ends, view.right + 6][1:], strict=False):
        x = max(scale.place(run[0].began), view.left)
        width, glyph = max(end - x, 3), _heaviest([_glyph(it) for it in run])
        inside = [rect("back", 0, -20, max(width, 8), 28, look="clear"), _bar(glyph, width)]
        if glyph != "…":
            look = f"mark {GLYPHS[glyph]}"
            inside.append(text("glyph", width, -8, glyph, ABOUT, look=look))
            words = f"epoch {run[-1].epoch} fenced" if glyph == "⊘" else f"{len(run)}"
            fits = width_of(words, 11) + 9 + NEAR / 2 <= free - end
            if fits and (len(run) > 1 or glyph == "⊘"):
                look = "tiny bad still" if glyph == "⊘" else "tiny still"
                inside.append(text("words", width + 9, -8, words, look=look))
        key = f"transactions {id} {run[0].began}"
        shapes.append(group(key, x, y, inside, label=_told(view, run)))
    return shapes


def _bar(glyph: str, width: float) -> SceneShape:
    """Filled, struck through, or dashed: see above."""
    top, box = -BAR / 2, f"M0 {-BAR / 2}h{width:.1f}v{BAR}h{-width:.1f}z"
    if glyph in "✗⊘":
        return path("bar", f"{box}M0 0h{width:.1f}", look="offline")
    if glyph == "✓":
        return rect("bar", 0, top, width, BAR, look="hop")
    return path("bar", box, look="slow")


def _told(view: GroupViewState, run: Sequence[TransactionSpan]) -> str:
    span, start = run[-1], view.start
    if len(run) > 1:
        counts = [
            f"{sum(it.result == result for it in run)} {result}"
            for result in ("committed", "aborted")
            if any(it.result == result for it in run)
        ]
        words = f"{count(len(run), 'transaction')} of {span.id}: {', '.join(counts) or 'open'}"
        return f"{words}. The last: {_told(view, [span])}"
    words = f"{span.name}: begun at {(span.began - start) / 1000:.2f} s"
    if span.decided is None:
        return f"{words}, open"
    words += f", {span.result} at {(span.decided - start) / 1000:.2f} s"
    words += ", and this epoch is fenced" if span.fenced else ""
    if span.ended is not None:
        took = (span.ended - span.decided) / 1000
        words += f"; all partitions had its marker {took:.2f} s later"
    return words


# -- both -----------------------------------------------------------------------------------------


def _glyph(span: TransactionSpan | None) -> str:
    """`None`: what was sent was refused."""
    if span is None or span.fenced:
        return "⊘"
    return {"": "…", "committed": "✓"}.get(span.result, "✗")


def _heaviest(glyphs: Sequence[str]) -> str:
    return max(glyphs, key=list(GLYPHS).index)


def _joined(told: Sequence[Told], places: Sequence[float | None]) -> list[list[Told]]:
    """Those whose glyphs would touch are together; `None`: it has no glyph yet."""
    runs: list[list[Told]] = []
    last: float | None = None
    for it, x in zip(told, places, strict=True):
        if last is not None and x is not None and x - last < NEAR + 6:
            runs[-1].append(it)
        else:
            runs.append([it])
        last = x
    return runs
