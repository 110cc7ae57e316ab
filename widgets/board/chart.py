"""The whole run of a board as a plotly figure, to zoom into, save or print."""

import plotly.graph_objects as go  # type: ignore[import-untyped]
from plotly.subplots import make_subplots  # type: ignore[import-untyped]

from widgets.board.panels import ISR, PANELS
from widgets.board.scene import BoardMoment, headline
from widgets.palette import LIGHT

COLOURS = ("blue", "amber", "green", "rose", "sky", "grey")
COLUMNS = 2


def chart(board: BoardMoment) -> go.Figure:
    start = board.run_source.start
    samples = board.history.between(board.start, board.at)
    rows = -(-len(PANELS) // COLUMNS)
    titles = [f"{it.name}{f' ({it.unit})' if it.unit else ''}" for it in PANELS]
    figure = make_subplots(rows=rows, cols=COLUMNS, shared_xaxes=True, subplot_titles=titles)
    for number, panel in enumerate(PANELS):
        row, column = number // COLUMNS + 1, number % COLUMNS + 1
        for place, each in enumerate(panel.series(samples)):
            figure.add_scatter(
                x=[(at - start) / 1000 for at, _ in each.points],
                y=[value for _, value in each.points],
                name=each.name,
                legendgroup=panel.name,
                legendgrouptitle_text=panel.name,
                line={"shape": "hv", "color": LIGHT[COLOURS[place]]},
                row=row,
                col=column,
            )
        if panel is ISR:
            changes = board.history.changed(board.start, board.at)
            figure.add_scatter(
                x=[(it.at - start) / 1000 for it in changes],
                y=["shrink" if it.shrinks else "expand" for it in changes],
                text=[f"{it.partition}: {list(it.was)} → {list(it.isr)}" for it in changes],
                mode="markers",
                marker={"color": [LIGHT["vermilion" if it.shrinks else "green"] for it in changes]},
                showlegend=False,
                row=row,
                col=column,
            )
    figure.update_xaxes(title="seconds since the run began", row=rows)
    return figure.update_layout(title=headline(board), template="simple_white", height=760)
