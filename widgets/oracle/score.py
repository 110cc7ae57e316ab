"""The score of one idea: a bar, and the sections of the labs that show what was missed."""

from collections.abc import Sequence
from typing import NamedTuple

from oracle.exam import IdeaScore
from widgets.scene import SceneShape, fit, rect, text

NAME, BAR = 150, 150  # px
BESIDE = 370  # px from the left to the sections, where there is room for them
ROOMY = 640  # px that this takes
LINE = 19


class ScoreRow(NamedTuple):
    shapes: list[SceneShape]
    label: str
    height: float  # below the first line


def score_row(row: IdeaScore, sections: Sequence[str], width: float) -> ScoreRow:
    shapes = [
        text("idea", 0, 0, row.idea, look="bold"),
        rect("all", NAME, -11, BAR, 14, 3, look="card"),
        text("count", NAME + BAR + 10, 0, f"{row.right} of {row.asked}", look="soft"),
    ]
    if row.right:
        shapes.append(rect("right", NAME, -11, BAR * row.right / row.asked, 14, 3, look="kept"))
    x, top = (BESIDE, 0) if width >= ROOMY else (0, LINE)
    for place, words in enumerate(sections):
        said = fit(f"see {words}", width - x, 11)
        shapes.append(text(f"see {place}", x, top + LINE * place, said, look="soft"))
    lines = top + LINE * max(0, len(sections) - 1) if sections else 0
    return ScoreRow(shapes, f"{row.idea}: {row.right} of {row.asked} right", lines)
