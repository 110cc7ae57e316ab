"""How long one thing takes beside another, as a chart: ratios, never seconds."""

from collections.abc import Mapping

import plotly.graph_objects as go  # type: ignore[import-untyped]


def figure(seconds: Mapping[str, float], what: str) -> go.Figure:
    """Each as a multiple of the first, which is 1."""
    names = list(seconds)
    ratios = [seconds[name] / seconds[names[0]] for name in names]
    chart = go.Figure()
    chart.add_bar(
        y=names,
        x=ratios,
        orientation="h",
        text=[f"{it:,.0f}" for it in ratios],
        marker={"color": "#4c78a8"},
    )
    chart.update_layout(
        template="simple_white",
        height=120 + 50 * len(names),
        margin={"t": 30},
        xaxis_title=what,
        yaxis={"autorange": "reversed"},
    )
    return chart
