"""What an exercise has earned, as a number that a saved notebook keeps.

    points(task, 2)       2 if it is done, else 0

Pictures are gone when a notebook is closed; what a cell ends in stays. Cells that call this are
written into the notebooks that `make student` makes, and nbgrader takes their number for the grade.
"""

import time

from widgets import Check
from widgets.exercise import Task

PATIENCE = 30.0  # seconds for a cluster to come to what was done to it
LOOK = 0.2  # seconds between two looks


def points(task: Task, most: int) -> int:
    """All or nothing. A cluster that was just told to do something is given a moment."""
    deadline = time.monotonic() + PATIENCE
    while isinstance(task, Check) and not task.check() and time.monotonic() < deadline:
        time.sleep(LOOK)
    return most if task.passed else 0
