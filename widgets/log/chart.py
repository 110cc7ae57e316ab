"""The segments of a log as bars, to print, save or show without a kernel.

    13,377 ▐▐▐▐▐▐▐▐▐▐         active: bars are bytes, ticks in them are index entries
     9,204 ▐▐▐▐▐▐▐▐▐▐▐▐▐▐     closed
     4,711 ▐▐▐▐▐░░░░░░░░░     compacted: its former size is pale
         0 ╱╱╱╱╱╱╱╱╱╱╱╱╱╱     deleted by retention

Each state has a pattern beside its colour.
"""

from collections.abc import Sequence

import plotly.graph_objects as go  # type: ignore[import-untyped]

from widgets.log.segment_history import SegmentPiece, SegmentState
from widgets.palette import LIGHT

FILLS = {
    SegmentState.ACTIVE: ("blue", ""),
    SegmentState.CLOSED: ("sky", ""),
    SegmentState.COMPACTED: ("green", "x"),
    SegmentState.DELETED: ("grey", "/"),
    SegmentState.MERGED: ("grey", "\\"),
    SegmentState.CUT: ("grey", "-"),
}
TICKS = 60  # index entries that are shown of one segment


def chart(pieces: Sequence[SegmentPiece], title: str) -> go.Figure:
    figure = go.Figure()
    for state, (colour, pattern) in FILLS.items():
        chosen = [piece.segment for piece in pieces if piece.state is state]
        figure.add_bar(
            x=[segment.size for segment in chosen],
            y=[f"{segment.base_offset:,}" for segment in chosen],
            orientation="h",
            name=state.value,
            marker={"color": LIGHT[colour], "pattern": {"shape": pattern}},
            hovertemplate="segment %{y}: %{x:,} bytes, " + state.value + "<extra></extra>",
        )
    shrunk = [piece for piece in pieces if piece.was]
    figure.add_bar(
        x=[piece.was - piece.segment.size for piece in shrunk],
        y=[f"{piece.segment.base_offset:,}" for piece in shrunk],
        orientation="h",
        name="gone by compaction",
        marker={"color": LIGHT["rule"]},
    )
    _add_ticks(figure, pieces)
    order = [f"{piece.segment.base_offset:,}" for piece in pieces]
    figure.update_layout(
        title=f"Segments of {title}",
        barmode="stack",
        template="simple_white",
        height=140 + 26 * max(len(pieces), 2),
        yaxis={"title": "base offset", "categoryorder": "array", "categoryarray": order},
        xaxis={"title": "bytes"},
    )
    figure.update_yaxes(type="category")
    return figure


def _add_ticks(figure: go.Figure, pieces: Sequence[SegmentPiece]) -> None:
    xs: list[int] = []
    ys: list[str] = []
    for segment in (piece.segment for piece in pieces if piece.state.there):
        entries = segment.offsets
        places = [position for _, position in entries[:: max(1, len(entries) // TICKS)]]
        xs += places
        ys += [f"{segment.base_offset:,}"] * len(places)
    marker = {"symbol": "line-ns", "size": 9, "line": {"width": 1.2, "color": LIGHT["ink"]}}
    figure.add_scatter(x=xs, y=ys, mode="markers", name="index entries", marker=marker)
