"""All batches of a query as a plotly figure, to print, save or show without a kernel.

rows/s       in and out, while a batch ran
time         of a batch, stacked by its parts
lag          records still to read
state        rows, of all operators
event time   of the rows that came in, and the watermark behind it
"""

from collections.abc import Sequence
from datetime import UTC, datetime

import plotly.graph_objects as go  # type: ignore[import-untyped]
from plotly.subplots import make_subplots  # type: ignore[import-untyped]

from widgets.palette import LIGHT
from widgets.stream import words
from widgets.stream.history import BatchMoment

TITLES = (
    "rows a second",
    "time of a batch",
    "records still to read",
    "rows of state",
    "event time",
)
SHADES = {  # of the parts of a batch: colour, and a pattern beside it
    "latestOffset": ("blue", "x"),
    "getBatch": ("grey", "x"),
    "walCommit": ("amber", "/"),
    "queryPlanning": ("rose", "\\"),
    "addBatch": ("sky", ""),
    "commitOffsets": ("green", "."),
    "commitBatch": ("green", "."),
}
SLOW = 3  # if the first batch takes more times as long as any other, its bar is cut


def chart(moments: Sequence[BatchMoment]) -> go.Figure:
    figure = make_subplots(
        rows=len(TITLES), shared_xaxes=True, vertical_spacing=0.05, subplot_titles=TITLES
    )
    numbers = [it.batch for it in moments]
    _add_rates(figure, moments, numbers)
    _add_times(figure, moments, numbers)
    _add_line(figure, 3, numbers, [it.lag for it in moments], "lag", "amber")
    rows = [sum(each.rows for each in it.states) if it.states else None for it in moments]
    _add_line(figure, 4, numbers, rows, "state", "blue")
    _add_event_time(figure, moments, numbers)
    figure.update_xaxes(title="batch", row=len(TITLES), col=1)
    for row in (1, 2, 3, 4):
        figure.update_yaxes(rangemode="tozero", row=row, col=1)
    figure.update_layout(template="simple_white", barmode="stack", height=860)
    figure.update_layout(margin={"t": 40}, legend={"traceorder": "normal"})
    return figure


def _add_line(
    figure: go.Figure,
    row: int,
    numbers: Sequence[int],
    values: Sequence[object],
    name: str,
    colour: str,
    dash: str = "solid",
) -> None:
    figure.add_scatter(
        x=numbers,
        y=values,
        name=name,
        mode="lines+markers",
        line={"color": LIGHT[colour], "dash": dash, "width": 2},
        marker={"symbol": "circle" if dash == "solid" else "diamond-open"},
        row=row,
        col=1,
    )


def _add_rates(figure: go.Figure, moments: Sequence[BatchMoment], numbers: Sequence[int]) -> None:
    _add_line(figure, 1, numbers, [it.rate for it in moments], "in", "blue")
    _add_line(figure, 1, numbers, [it.rate_out for it in moments], "out", "green", "dash")


def _add_times(figure: go.Figure, moments: Sequence[BatchMoment], numbers: Sequence[int]) -> None:
    names = list(dict.fromkeys(name for it in moments for name, _ in it.parts))
    for name in sorted(names, key=[*words.PARTS, *names].index):
        word, does = words.PARTS.get(name, (name, "does more for a batch"))
        colour, pattern = SHADES.get(name, ("grey", ""))
        figure.add_bar(
            x=numbers,
            y=[dict(it.parts).get(name, 0) / 1000 for it in moments],
            name=word,
            marker={"color": LIGHT[colour], "pattern": {"shape": pattern}},
            hovertemplate=f"batch %{{x}}: {word} %{{y:.3f}} s<br>Spark {does} ({name})",
            row=2,
            col=1,
        )
    figure.update_yaxes(title="s", row=2, col=1)
    others = [it.took / 1000 for it in moments[1:]]
    first = moments[0].took / 1000 if moments else 0.0
    if others and first > SLOW * max(others):  # Spark compiles in it
        figure.update_yaxes(range=[0, 1.5 * max(others)], row=2, col=1)
        told = f"batch {numbers[0]}: {first:.1f} s"
        place = {"x": numbers[0], "y": 1.5 * max(others), "xanchor": "left", "yanchor": "top"}
        figure.add_annotation(text=told, showarrow=False, xshift=24, row=2, col=1, **place)


def _add_event_time(
    figure: go.Figure, moments: Sequence[BatchMoment], numbers: Sequence[int]
) -> None:
    """A bar from the earliest row of a batch to its latest, and the watermark."""
    spans = [(it.batch, *it.event_times) for it in moments if it.event_times]
    figure.add_scatter(
        x=[at for batch, _, _ in spans for at in (batch, batch, None)],
        y=[at for _, early, late in spans for at in (_date(early), _date(late), None)],
        name="rows' times",
        mode="lines",
        line={"color": LIGHT["sky"], "width": 6},
        row=5,
        col=1,
    )
    marks = [None if it.watermark is None else _date(it.watermark) for it in moments]
    _add_line(figure, 5, numbers, marks, "watermark", "amber", "dash")
    if not spans:
        figure.update_yaxes(showticklabels=False, row=5, col=1)


def _date(at: int) -> datetime:
    return datetime.fromtimestamp(at / 1000, UTC)
