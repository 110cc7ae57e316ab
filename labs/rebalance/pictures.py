"""A chart, and the stream of records that it shows.

with PacedStream(cluster, topic) as stream: ...      a record for each partition, every 20 ms
pictures.reading({"eager": team, ...}, began)        a dot: records of that partition were read
pictures.moves({"range": [5, 0, 3], ...}, steps)     bars: partitions that changed hands
"""

import threading
from collections.abc import Mapping
from typing import Self

import plotly.graph_objects as go  # type: ignore[import-untyped]

from engine import Cluster
from rebalance.stand import partitions
from rebalance.team import Team
from widgets.palette import LIGHT

PACE = 0.02  # seconds between two records of a partition
AROUND = 0.5  # seconds shown before
COLOURS = (LIGHT["vermilion"], LIGHT["blue"], LIGHT["green"])


class PacedStream:
    """Records to every partition, all the time."""

    def __init__(self, cluster: Cluster, topic: str) -> None:
        self._producer = cluster.producer({"linger.ms": "0"})
        self._topic, self._partitions = topic, partitions(cluster, topic)
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join()
        self._producer.close()

    def _run(self) -> None:
        while not self._ends.wait(PACE):
            for partition in range(self._partitions):
                self._producer.produce(self._topic, value="x", partition=partition)


def reading(teams: Mapping[str, Team], began: float) -> go.Figure:
    figure = go.Figure()
    for (name, team), colour in zip(teams.items(), COLOURS, strict=False):
        points = [(at, number) for number, times in team.times().items() for at in times]
        seen = [it for it in points if it[0] > began - AROUND]
        figure.add_scatter(
            x=[at - began for at, _ in seen],
            y=[f"{name} {number}" for _, number in seen],
            mode="markers",
            marker={"size": 5, "color": colour},
            name=name,
        )
    figure.add_vline(x=0, line_dash="dot")
    figure.update_layout(
        template="simple_white",
        height=440,
        margin={"t": 30},
        xaxis_title="seconds since the third consumer was started; each dot: records were read",
    )
    return figure
