"""The data of a group's run for a chart, and of a recording at any moment.

    recording ── events, states ──> Past ── at(12.4 s) ──> Run: all that was known then
              └─ track "deeds" ──>       ── marks ───────> kills and freezes, with times

The cluster does not know what was done to a consumer. To record a run with consumers of a
GroupView, record these acts as a track: cluster.record(path, tracks={"deeds": view.news}).
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from engine.cluster.recording import Recording
from widgets.group.history import GroupHistory
from widgets.group.lag import lags
from widgets.group.layout import DeedMark
from widgets.run_source import RunSource

DEEDS = "deeds"  # the name of the track
ABOUT = ("group.", "transaction.changed", "offset.transaction")  # events that a history reads
FATES = {"kill": "killed", "freeze": "frozen", "thaw": "reading", "stop": "leaving"}


class GroupRun(NamedTuple):
    """The history of a group from its beginning to its end."""

    history: GroupHistory
    end: int  # ms since 1970
    lag: Sequence[tuple[int, int]]  # when, and how many records, each time that it changed

    @property
    def start(self) -> int:
        return self.end if self.history.start is None else self.history.start

    def seconds(self, at: int | None) -> float:
        return ((self.end if at is None else at) - self.start) / 1000


class RecordedGroup:
    """A group of a recording; it need not be named if it is the only one."""

    def __init__(self, recording: Recording, group: str = "") -> None:
        if not group:
            names = sorted({name for state in recording for name in state.groups})
            if len(names) != 1:
                raise ValueError(f"which group? In the recording there are {names or 'none'}")
            group = names[0]
        self.group = group
        self.marks = [DeedMark(*row) for _, told in recording.track(DEEDS) for row in told]
        self.whole = recording.start, recording.end
        self._recording = recording
        self._events = [it for it in recording.events() if it.kind.startswith(ABOUT)]
        self._lag: list[tuple[int, int]] = []
        for state in recording:
            now = sum(lags(state, state.groups.get(group)).values())
            if not self._lag or self._lag[-1][1] != now:
                self._lag.append((state.at, now))

    def at(self, time: int) -> GroupRun:
        """All that was known at that time."""
        history = GroupHistory(self.group)
        history.add(it for it in self._events if it.at <= time)
        history.see(self._recording.at(time).groups.get(self.group), time)
        known = bisect_right(self._lag, time, key=lambda it: it[0])
        return GroupRun(history, time, self._lag[:known])

    def done(self, time: int) -> list[DeedMark]:
        """The acts on consumers up to that time."""
        return [mark for mark in self.marks if mark.at <= time]

    def turns(self) -> list[int]:
        """The times of acts, of the beginnings and ends of rebalances, and of aborts."""
        start, end = self.whole
        history = self.at(end).history
        rounds, spans = history.rounds, history.transactions.facts.own
        times = [it.at for it in self.marks] + [it.began for it in rounds]
        times += [it.ended for it in rounds if it.ended is not None]
        times += [it.decided for it in spans if it.result == "aborted" and it.decided]
        return sorted({start, end, *(at for at in times if start < at < end)})


class RebalanceSteps(RunSource):
    """A run whose steps are acts, rebalances and aborted transactions."""

    def __init__(self, recording: Recording, past: RecordedGroup) -> None:
        super().__init__(recording)
        self._turns = past.turns()

    def moments(self) -> list[int]:
        return self._turns


def read(recording: Recording, group: str = "") -> GroupRun:
    """The whole of it."""
    return RecordedGroup(recording, group).at(recording.end)
