"""ThrottleGauge: each client with a quota, its rate against it, and how long it was told to wait.

    noisy               ▇▇▇▇▇▇▇▇▇▇│▇▇▇▇▇      waits 3,200 ms
    sends, broker 1     760 KB/s of 500 KB/s
    ben                 ▇▇▇▇      │           does not wait
    reads, broker 2     210 KB/s of 500 KB/s

    gauge = ThrottleGauge(cluster)                      live
    ThrottleGauge(Recording.load("run.jsonl.gz"))       a run that is over, with its timeline
    gauge.clients                   what it shows: who, which quota, limit, rate, throttle_ms

Each broker counts for itself, so a client of two brokers has two rows. The rate is that of the
broker's windows (quotas/rate.py); the time to wait is the one in its last answer. A client without
a quota is not measured, and not shown.

Left out: controller_mutation_rate, which is a bucket of tokens and no rate.

Invariant: the picture has room for the most rows that it has had, so its timeline stays in place.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from engine.cluster.state import ClusterState
from widgets import timeline
from widgets.moment import ViewMoment
from widgets.playback import Playback
from widgets.scene import UP_TO, Scene, SceneShape, fit, group, line, rect, text

MARGIN, ROW, BAR = 16, 60, 14  # px: a row, and the height of its bar
SLIM = 620  # px: a narrower picture has the time to wait below the bar
SCALE = 2.0  # quotas: how much fits on a bar; a rate above that has an open end
NOBODY = "no client that has a quota has used it in the last seconds"
KINDS = {"producer_byte_rate": "sends", "consumer_byte_rate": "reads", "request_percentage": "asks"}
UNITS = ((1_000_000, "MB/s"), (1000, "KB/s"), (1, "B/s"))


class ThrottledClient(NamedTuple):
    """One client on one broker, with one of its quotas."""

    name: str  # its client id, its user, or both
    quota: str
    broker: int
    limit: float
    rate: float
    throttle_ms: int

    @property
    def share(self) -> float:
        """Of its quota."""
        return self.rate / self.limit if self.limit else 0.0

    @property
    def amount(self) -> str:
        """Its rate, and its quota."""
        if self.quota == "request_percentage":
            return f"{self.rate:.1f} % of {self.limit:g} % of the time"
        return f"{_bytes(self.rate)} of {_bytes(self.limit)}"

    @property
    def waits(self) -> str:
        return f"waits {self.throttle_ms:,} ms" if self.throttle_ms else "does not wait"


def clients(state: ClusterState) -> Iterator[ThrottledClient]:
    """All that a state tells, by name."""
    rows = [
        _client(number, each)
        for number, broker in state.brokers.items()
        if broker.answers
        for each in broker.quotas
        if each["quota"] in KINDS
    ]
    yield from sorted(rows)


def _client(broker: int, row: Mapping[str, Any]) -> ThrottledClient:
    name = " / ".join(filter(None, (row["user"], row["client"])))
    limit, rate = float(row["limit"]), max(0.0, float(row["rate"]))
    return ThrottledClient(name, row["quota"], broker, limit, rate, int(row["throttle_ms"]))


def _bytes(rate: float) -> str:
    size, unit = next((each for each in UNITS if rate >= each[0]), UNITS[-1])
    return f"{rate / size:,.3g} {unit}" if rate < 100 * size else f"{rate / size:,.0f} {unit}"


class ThrottleGauge(Playback[ViewMoment]):
    def __init__(self, source: Any, *, title: str = "Quotas") -> None:
        """`source`: an engine.Cluster, a Recording of one, or a simulator's trace."""
        super().__init__(name=title)
        self._most = 0  # rows
        self._open(source)

    def _open(self, source: Any) -> None:
        super()._open(source)
        run_source = self.run_source
        for state in run_source.between(run_source.start, run_source.end):
            self.see(state)
        self._drawn = None  # the first picture had no room
        self.draw()

    def see(self, state: ClusterState) -> None:
        self._most = max(self._most, len([*clients(state)]))

    @property
    def clients(self) -> list[ThrottledClient]:
        return [*clients(self.moment().state)]

    def view_state(self) -> ViewMoment:
        return self.moment()

    def headline(self, moment: ViewMoment) -> str:
        found = [*clients(moment.state)]
        waiting = [each for each in found if each.throttle_ms]
        return f"{len(waiting)} of {len(found)} wait · the mark is the quota" if found else NOBODY

    def gist(self, moment: ViewMoment) -> tuple[object, ...]:
        told = tuple(clients(moment.state)), self._most, len(moment.story.lines)
        return *told, moment.at // (1000 if moment.live else 100)

    def painted(self, moment: ViewMoment) -> Scene:
        found = [*clients(moment.state)]
        shapes: list[SceneShape] = []
        for place, each in enumerate(found):
            key = f"{each.name} {each.quota} {each.broker}"
            shapes.append(group(key, 0, place * self._high, self._row(each), label=_says(each)))
        if not shapes:
            shapes.append(text("none", MARGIN, 26, "Nothing is measured now.", look="small"))
        foot = max(max(len(found), self._most) * self._high, 40.0) + 8
        shapes += timeline.drawn(moment, 24, foot, moment.width - 48)
        title = "; ".join(map(_says, found)) or self.headline(moment)
        return Scene(moment.width, foot + timeline.HEIGHT, shapes, title=title)

    @property
    def _slim(self) -> bool:
        return self.width < SLIM

    @property
    def _high(self) -> float:
        return ROW + (30 if self._slim else 0)

    def _row(self, each: ThrottledClient) -> list[SceneShape]:
        """Name and bar side by side, or the one below the other."""
        slim, room = self._slim, self.width - 2 * MARGIN
        left, wide, top = MARGIN + room * 0.3, room * 0.46, 16.0
        if slim:
            left, wide, top = MARGIN, room, 30.0
        where = f"{KINDS[each.quota]}, broker {each.broker}"
        name = f"{each.name} {where}" if slim else each.name
        name = fit(name, room if slim else left - 24, 12, bold=True)
        middle, below = left + wide / SCALE, top + BAR + 17
        full = wide * min(each.share, SCALE) / SCALE
        bar, words = ("hit", "bold bad") if each.throttle_ms else ("segment closed", "small")
        shapes = [
            rect("track", left, top, wide, BAR, 3, look="quiet"),
            rect("rate", left, top, full, BAR, 3, look=bar),
            line("quota", middle, top - 5, middle, top + BAR + 5, look="link thick"),
            text("name", MARGIN, top - 10 if slim else top + 11, name, look="bold"),
            text("amount", left, below, each.amount, look="small"),
        ]
        if slim:
            shapes.append(text("waits", left, below + 17, each.waits, look=words))
        else:
            shapes.append(text("where", MARGIN, below, where, look="small"))
            right = self.width - MARGIN
            shapes.append(text("waits", right, top + 11, each.waits, UP_TO, look=words))
        if each.share > SCALE:
            shapes.append(text("more", left + wide - 6, top + 11, "›", UP_TO, look="bold"))
        return shapes


def _says(each: ThrottledClient) -> str:
    return f"{each.name} {KINDS[each.quota]} {each.amount} on broker {each.broker}, {each.waits}"
