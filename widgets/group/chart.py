"""The generations of a group as a plotly figure, to print, save or compare.

    c1  ▐▐ 0 1 2 3 ▐▐▌ 3 moved ▐▐ 0 1 ▐▐      bars: who reads which partition
    c2               ▌  0.31 s ▐▐ 2 3 ▐▐      gaps: rebalances in which it stood still
    lag ────╱╲────────────╱╲────────────      records still to read

`compare(one, other)` puts two runs on one clock: each begins when its group does.
"""

from collections.abc import Iterable
from typing import Any

import plotly.graph_objects as go  # type: ignore[import-untyped]
from plotly.subplots import make_subplots  # type: ignore[import-untyped]

from engine.cluster.recording import Recording
from widgets.group.group_run import GroupRun, read
from widgets.group.history import MemberSpan, place_of
from widgets.log.fields import count
from widgets.palette import LIGHT

NAMED = 8  # partitions in a bar, before they are counted
LABEL = 0.06  # how much of the width a rebalance's cost takes


def chart(run: GroupRun) -> go.Figure:
    return _figure([run])


def compare(one: Any, other: Any) -> go.Figure:
    """Two GroupViews, or recordings with one group each: one above the other, the same clock."""
    return _figure([_run(each) for each in (one, other)])


def _run(source: Any) -> GroupRun:
    if isinstance(source, GroupRun):
        return source
    run: GroupRun = read(source) if isinstance(source, Recording) else source.run()
    return run


def _figure(runs: list[GroupRun]) -> go.Figure:
    counts = [max(len(_lanes(run)), 1) for run in runs]
    figure = make_subplots(
        rows=len(runs) + 1,
        shared_xaxes=True,
        row_heights=[*counts, max(2, sum(counts) / 3)],
        vertical_spacing=0.24 / len(runs),
        subplot_titles=[*map(summary, runs), "records still to read"],
    )
    for title in figure.layout.annotations[: len(runs)]:
        title.yshift = 26  # room for what rebalances cost
    whole = max(run.seconds(None) for run in runs)
    for row, run in enumerate(runs, 1):
        _add_lanes(figure, run, row)
        _add_rounds(figure, run, row, whole)
        colour, dash = (("blue", "solid"), ("amber", "dash"))[row - 1]
        figure.add_scatter(
            x=[run.seconds(at) for at, _ in run.lag] + [run.seconds(None)],
            y=[lag for _, lag in run.lag] + [lag for _, lag in run.lag[-1:]],
            mode="lines",
            line={"shape": "hv", "color": LIGHT[colour], "dash": dash},
            name=f"{run.history.group}: lag",
            showlegend=len(runs) > 1,
            row=len(runs) + 1,
            col=1,
        )
    figure.update_xaxes(range=[0, whole])
    figure.update_xaxes(title="seconds since the group began", row=len(runs) + 1)
    figure.update_yaxes(rangemode="tozero", row=len(runs) + 1)
    figure.update_layout(
        template="simple_white",
        barmode="overlay",
        height=230 + 90 * len(runs) + 46 * sum(counts),
        margin={"t": 80},
    )
    return figure


def summary(run: GroupRun) -> str:
    """The total cost of the rebalances."""
    rounds = [it for it in run.history.rounds if it.shared]
    moved, took = sum(len(it.moved) for it in rounds), sum(it.lasted(run.end) for it in rounds)
    used = list(dict.fromkeys(it.protocol for it in rounds if it.protocol))
    return (
        f"{run.history.group} ({', '.join(used) or 'no generation yet'}): "
        f"{count(len(rounds), 'rebalance')} in {took:.2f} s, {count(moved, 'partition')} moved"
    )


def _lanes(run: GroupRun) -> list[str]:
    return list(dict.fromkeys(life.lane for life in run.history.lives))


def _add_lanes(figure: go.Figure, run: GroupRun, row: int) -> None:
    bars = [bar for life in run.history.lives for bar in _bars(run, life)]
    figure.add_bar(
        x=[run.seconds(end) - run.seconds(start) for _, start, end, _ in bars],
        base=[run.seconds(start) for _, start, _, _ in bars],
        y=[lane for lane, *_ in bars],
        text=[_words(share) for *_, share in bars],
        textposition="inside",
        insidetextanchor="middle",
        orientation="h",
        marker={"color": LIGHT["sky"], "line": {"color": LIGHT["blue"], "width": 1}},
        hovertemplate="%{y} has %{text}<extra></extra>",
        showlegend=False,
        row=row,
        col=1,
    )
    lanes = _lanes(run)[::-1]
    figure.update_yaxes(type="category", categoryorder="array", categoryarray=lanes, row=row, col=1)


def _bars(run: GroupRun, life: MemberSpan) -> Iterable[tuple[str, int, int, list[str]]]:
    """The partitions of a member between rebalances, and those that it kept during one."""
    edges = [0, *(time for it in run.history.rounds for time in (it.began, it.ended or run.end))]
    spans = list(zip(edges[::2], [*edges[1::2], run.end], strict=True))
    spans += [(it.began, it.ended or run.end) for it in run.history.rounds if it.cooperative]
    for span in sorted(spans):
        start, end = max(span[0], life.came), min(span[1], life.went or run.end)
        share = [
            it.partition
            for it in run.history.spells
            if it.lane == life.lane and it.start <= start and (it.end is None or it.end >= end)
        ]
        if start < end and share:
            yield life.lane, start, end, sorted(share, key=place_of)


def _words(share: list[str]) -> str:
    topics = {place_of(each)[0] for each in share}
    if len(share) > NAMED:
        return f"{len(share)} partitions"
    return " ".join(str(place_of(it)[1]) if len(topics) == 1 else it for it in share)


def _add_rounds(figure: go.Figure, run: GroupRun, row: int, whole: float) -> None:
    """The cost of each is written above it, if there is room beside the one before."""
    free = -whole
    for it in run.history.rounds:
        began, ended = run.seconds(it.began), run.seconds(it.ended)
        figure.add_vrect(
            x0=began,
            x1=ended,
            fillcolor=LIGHT["amber" if it.cooperative else "vermilion"],
            opacity=0.25,
            line_width=0,
            row=row,
            col=1,
        )
        if it.shared and began >= free:
            free = began + whole * LABEL
            figure.add_annotation(
                x=(began + ended) / 2,
                y=1,
                yref=f"y{row if row > 1 else ''} domain",
                yanchor="bottom",
                text=f"{len(it.moved)} moved<br>{it.lasted(run.end):.2f} s",
                font={"size": 10},
                showarrow=False,
                row=row,
                col=1,
            )
