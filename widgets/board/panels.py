"""The six panels of the board: which figures each shows, and what they mean.

    partitions   under-replicated: a copy is missing; offline: nobody leads
    ISR          each shrink and each expand
    records      appended per second, by topic
    lag          records that a group has still to read
    requests     per second, by API, and their mean time
    disk         bytes by topic, all replicas

A rate is that between two samples. A panel shows the largest few series, and counts the others.

Invariant: a panel is a function of samples; the picture and the plotly chart show the same.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from widgets.board.history import BoardSample
from widgets.log.fields import count

LARGEST = 6  # series in a panel
APART = 700  # ms between two samples that make a rate: less makes spikes
Point = tuple[int, float]  # ms since 1970, value


class Series(NamedTuple):
    name: str
    points: Sequence[Point]
    bad: bool = False  # it should be 0

    @property
    def now(self) -> float:
        return self.points[-1][1] if self.points else 0.0

    @property
    def peak(self) -> float:
        return max((value for _, value in self.points), default=0.0)


class Panel(NamedTuple):
    name: str
    means: str  # what a reader should know
    unit: str  # "", "/s", "bytes"
    series: Callable[[Sequence[BoardSample]], list[Series]]
    empty: str = "nothing yet"


def partitions(samples: Sequence[BoardSample]) -> list[Series]:
    return [
        Series("under-replicated", [(it.at, it.under_replicated) for it in samples], bad=True),
        Series("offline", [(it.at, it.offline) for it in samples], bad=True),
    ]


def records(samples: Sequence[BoardSample]) -> list[Series]:
    return rates(samples, lambda it: it.records)


def lag(samples: Sequence[BoardSample]) -> list[Series]:
    return levels(samples, lambda it: it.lag)


def disk(samples: Sequence[BoardSample]) -> list[Series]:
    return levels(samples, lambda it: it.disk)


def requests(samples: Sequence[BoardSample]) -> list[Series]:
    """The rate of each API; its name tells the mean time of the last ones."""
    found = rates(samples, lambda it: {api: number for api, (number, _) in it.requests.items()})
    times = mean_times(samples)
    return [it._replace(name=f"{it.name} {times[it.name]}") for it in found if it.name in times]


PANELS = (
    Panel("Partitions", "a copy is missing; nobody leads", "", partitions),
    Panel("ISR changes", "▾ a replica left, ▴ one came back", "", lambda samples: []),
    Panel("Records", "appended, by topic", "/s", records),
    Panel("Lag", "records still to be read, by group", "", lag, "no group has committed yet"),
    Panel("Requests", "answered by all brokers, and their mean time", "/s", requests,
          "not counted: cluster.count_requests() does it"),
    Panel("Disk", "all replicas, by topic", "bytes", disk),
)  # fmt: skip
ISR = PANELS[1]


# -- series ----------------------------------------------------------------------------------------


def levels(
    samples: Sequence[BoardSample], values: Callable[[BoardSample], Mapping[str, float]]
) -> list[Series]:
    names = {name for it in samples for name in values(it)}
    return largest(
        [Series(name, [(it.at, values(it).get(name, 0)) for it in samples]) for name in names]
    )


def rates(
    samples: Sequence[BoardSample], counts: Callable[[BoardSample], Mapping[str, float]]
) -> list[Series]:
    """Per second, from each sample to the next that is not too near. A counter that goes back (a
    broker began anew, a log was cut) counts from there; one that is seen for the first time has no
    rate yet."""
    names, apart = {name for it in samples for name in counts(it)}, list[BoardSample]()
    for each in samples:
        if not apart or each.at - apart[-1].at >= APART:
            apart.append(each)
    found = []
    for name in names:
        points = []
        for before, after in pairwise(apart):
            was, now = counts(before).get(name), counts(after).get(name)
            gained = max(now - was, 0) if was is not None and now is not None else 0
            points.append((before.at, gained * 1000 / (after.at - before.at)))
        found.append(Series(name, points))
    return largest([it for it in found if it.points])


def mean_times(samples: Sequence[BoardSample]) -> dict[str, str]:
    """Of the requests since the sample before; of all, if there were none."""
    found = {}
    if samples:
        last, before = samples[-1].requests, samples[max(len(samples) - 3, 0)].requests
        for api, (number, ms) in last.items():
            n, took = before.get(api, (0, 0))
            new, time = (number - n, ms - took) if number > n else (number, ms)
            found[api] = f"{time / new:.0f} ms" if new else ""
    return found


def largest(found: list[Series]) -> list[Series]:
    """By all that they have shown: a short peak is not the most important."""
    return sorted(found, key=lambda it: (-sum(value for _, value in it.points), it.name))[:LARGEST]


# -- numbers ---------------------------------------------------------------------------------------


def told(value: float, unit: str) -> str:
    """1,204/s, 18 KB, 3"""
    if unit == "bytes":
        for size, name in ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")):
            if value >= size:
                return f"{value / size:.3g} {name}"
        return count(round(value), "byte")
    return f"{value:,.0f}{unit}" if value >= 10 or value == int(value) else f"{value:.1f}{unit}"


def rounded(peak: float, unit: str) -> float:
    """1, 2 or 5 times a power of ten, of bytes a power of two: a scale that seldom changes."""
    step, factors, times = (1024.0, (1,), 2) if unit == "bytes" else (1.0, (1, 2, 5), 10)
    while True:
        for factor in factors:
            if peak <= factor * step:
                return factor * step
        step *= times
