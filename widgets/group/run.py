"""A group's run, from its beginning to its end: what a chart is drawn from."""

from collections.abc import Sequence
from typing import NamedTuple

from engine.cluster.recording import Recording
from widgets.group.history import History
from widgets.group.lag import lags


class Run(NamedTuple):
    """What is known of a group from its beginning to its end."""

    history: History
    end: int  # ms since 1970
    lag: Sequence[tuple[int, int]]  # when, and how many records, each time that it changed

    @property
    def start(self) -> int:
        return self.end if self.history.start is None else self.history.start

    def seconds(self, at: int | None) -> float:
        return ((self.end if at is None else at) - self.start) / 1000


def read(recording: Recording, group: str = "") -> Run:
    """A group's run in a recording, which need not be named if it is the only one."""
    if not group:
        names = sorted({name for state in recording for name in state.groups})
        if len(names) != 1:
            raise ValueError(f"which group? In the recording there are {names or 'none'}")
        group = names[0]
    history, lag = History(group), list[tuple[int, int]]()
    history.add(recording.events())
    for state in recording:
        now = sum(lags(state, state.groups.get(group)).values())
        if not lag or lag[-1][1] != now:
            lag.append((state.at, now))
    history.see(recording.at(recording.end).groups.get(group), recording.end)
    return Run(history, recording.end, lag)
