"""A partition's whole run as a plotly figure, to print, save or show without a kernel.

offset   ┌──────── LEO of each replica, the high watermark, epochs as bands, faults as signs
ISR      ● ● ● ●   a row for each replica
acks     ✓   ✓     where the high watermark rose
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import plotly.graph_objects as go  # type: ignore[import-untyped]
from plotly.subplots import make_subplots  # type: ignore[import-untyped]

from widgets.palette import LIGHT
from widgets.replica.layout import ReplicaViewState
from widgets.replica.scene import about
from widgets.replica.strips import kind

LINES = {  # as in the picture: colour, dash, width
    "lead": ("blue", "solid", 3.5),
    "sync": ("sky", "solid", 2),
    "lag": ("grey", "dash", 2),
    "gone": ("grey", "dot", 2),
}
NAMES = {"lead": "leader", "sync": "in sync", "lag": "out of sync", "gone": "no answer"}
DOTS = {  # colour, symbol, size
    "lead": ("blue", "circle", 9),
    "sync": ("sky", "circle", 9),
    "lag": ("grey", "circle", 9),
    "gone": ("grey", "circle", 9),
    "out": ("grey", "circle-open", 5),
}


def chart(view: ReplicaViewState) -> go.Figure:
    """All of the run, wherever the head of the picture is."""
    view = replace(view, at=view.run_source.end, span=0)
    start = view.run_source.start

    def seconds(at: int) -> float:
        return (at - start) / 1000

    figure = make_subplots(
        rows=2, shared_xaxes=True, row_heights=[0.72, 0.28], vertical_spacing=0.06
    )
    line = {"shape": "hv", "color": LIGHT["amber"], "width": 7}
    name = "high watermark"
    _add_mark(figure, view, seconds, "committed", line=line, opacity=0.7, name=name)
    if view.past.transactional:
        line = {"shape": "hv", "color": LIGHT["rose"], "width": 2.5, "dash": "dashdot"}
        _add_mark(figure, view, seconds, "stable", line=line, name="last stable offset")
    for broker in view.brokers:
        _add_log(figure, view, broker, seconds)
    _add_events(figure, view, seconds)
    _add_epochs(figure, view, seconds)  # plotly leaves out bands where there is no data yet
    _add_rows(figure, view, seconds)
    least, _, most = view.offsets
    figure.update_yaxes(title="offset", range=[least, most + (most - least) / 8], row=1, col=1)
    figure.update_xaxes(range=[0, seconds(view.run_source.end)])
    figure.update_xaxes(title="seconds since the run began", row=2, col=1)
    figure.update_layout(title=about(view), template="simple_white", height=520)
    return figure


Clock = Callable[[int], float]


def _add_epochs(figure: go.Figure, view: ReplicaViewState, seconds: Clock) -> None:
    for epoch in view.epochs:
        if epoch.number < 0:
            continue
        figure.add_vrect(
            x0=seconds(epoch.began),
            x1=seconds(epoch.ended),
            fillcolor=LIGHT["soft"],
            opacity=0.1 if epoch.number % 2 else 0,
            line_width=0,
            annotation_text=f"epoch {epoch.number}",
            annotation_position="top left",
            row=1,
            col=1,
        )


def _add_mark(
    figure: go.Figure, view: ReplicaViewState, seconds: Clock, mark: str, **looks: Any
) -> None:
    """The high watermark (`committed`), or the last stable offset (`stable`)."""
    known = [(it.at, at) for it in view.samples if (at := getattr(it, mark)) is not None]
    known += [(view.at, known[-1][1])] if known else []
    figure.add_scatter(
        x=[seconds(at) for at, _ in known],
        y=[offset for _, offset in known],
        mode="lines",
        row=1,
        col=1,
        **looks,
    )


def _add_log(figure: go.Figure, view: ReplicaViewState, broker: int, seconds: Clock) -> None:
    """A trace for each of its states, with gaps where it was in another state."""
    samples = [*view.samples, view.now._replace(at=view.at)]
    for stands, (colour, dash, width) in LINES.items():
        ys: list[int | None] = []
        for before, sample in zip([None, *samples], samples, strict=False):
            replica = sample.state.replicas.get(broker)
            here = replica is not None and (
                sample.stands(broker) == stands  # or it was so until now
                or (before is not None and before.stands(broker) == stands)
            )
            ys.append(replica.log_end if replica and here else None)
        if any(y is not None for y in ys):
            figure.add_scatter(
                x=[seconds(sample.at) for sample in samples],
                y=ys,
                mode="lines",
                line={"shape": "hv", "color": LIGHT[colour], "dash": dash, "width": width},
                name=f"broker {broker}, {NAMES[stands]}",
                row=1,
                col=1,
            )


def _add_events(figure: go.Figure, view: ReplicaViewState, seconds: Clock) -> None:
    lines = [it for it in view.lines if it.sort.weight > 1]
    figure.add_scatter(
        x=[seconds(it.at) for it in lines],
        y=[view.offsets.last] * len(lines),
        mode="text",
        text=[it.sort.glyph for it in lines],
        hovertext=[it.words for it in lines],
        hoverinfo="text",
        showlegend=False,
        row=1,
        col=1,
    )


def _add_rows(figure: go.Figure, view: ReplicaViewState, seconds: Clock) -> None:
    """The replicas in sync, and the times at which producers could be answered."""
    for broker in view.brokers:
        dots = [(column, kind(view, column, broker)) for column in view.columns]
        drawn = [(column, DOTS[how]) for column, how in dots if how]
        figure.add_scatter(
            x=[seconds((column.start + column.end) // 2) for column, _ in drawn],
            y=[f"ISR {broker}"] * len(drawn),
            mode="markers",
            marker={
                "color": [LIGHT[colour] for _, (colour, _, _) in drawn],
                "symbol": [symbol for _, (_, symbol, _) in drawn],
                "size": [size for _, (_, _, size) in drawn],
            },
            showlegend=False,
            row=2,
            col=1,
        )
    figure.add_scatter(
        x=[seconds(it.at) for it in view.past.rises],
        y=["acks"] * len(view.past.rises),
        mode="markers",
        marker={"symbol": "line-ns", "size": 9, "line": {"width": 1.5, "color": LIGHT["amber"]}},
        hovertext=[f"HW {it.was:,} → {it.now:,}" for it in view.past.rises],
        showlegend=False,
        row=2,
        col=1,
    )
    figure.update_yaxes(autorange="reversed", row=2, col=1)
