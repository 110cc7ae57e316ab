"""ThrottleGauge: each client with a quota, its rate against it, and how long it was told to wait.

    noisy               ▇▇▇▇▇▇▇▇▇▇│▇▇▇▇▇      waits 3,200 ms
    sends, broker 1     760 KB/s of 500 KB/s
    ben                 ▇▇▇▇      │           does not wait
    reads, broker 2     210 KB/s of 500 KB/s

    gauge = ThrottleGauge(cluster)
    gauge.clients                   what it shows: who, which quota, limit, rate, throttle_ms

It follows the cluster's state while a page shows it. Each broker counts for itself, so a client of
two brokers has two rows. The rate is that of the broker's windows (quotas/rate.py); the time to
wait is the one in its last answer. A client without a quota is not measured, and not shown.

Left out: controller_mutation_rate, which is a bucket of tokens and no rate.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from engine.cluster.state import ClusterState
from widgets.scene import UP_TO, Scene, SceneShape, fit, group, line, rect, text
from widgets.stage import SceneWidget

MARGIN, ROW, BAR = 16, 60, 14  # px: a row, and the height of its bar
SLIM = 620  # px: a narrower picture has the time to wait below the bar
SCALE = 2.0  # quotas: how much fits on a bar; a rate above that has an open end
NOBODY = "no client that has a quota has used it in the last seconds"
KINDS = {
    "producer_byte_rate": "sends",
    "consumer_byte_rate": "reads",
    "request_percentage": "asks",
}
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


class ThrottleGauge(SceneWidget):
    def __init__(self, cluster: Any, *, title: str = "Quotas") -> None:
        """`cluster` is any object with state()."""
        super().__init__(name=title)
        self.cluster = cluster
        self.clients: list[ThrottledClient] = []
        self.poll()

    def poll(self) -> bool:
        """Follow the state, as long as a page shows it."""
        found = [*clients(self.cluster.state())]
        with self.lock:
            if self.picture is None or found != self.clients:
                self.clients = found
                self.draw()
        return True

    def draw(self) -> None:
        with self.lock:
            waiting = [each for each in self.clients if each.throttle_ms]
            told = f"{len(waiting)} of {len(self.clients)} wait · the mark is the quota"
            self.about = told if self.clients else NOBODY
            shapes: list[SceneShape] = []
            for place, each in enumerate(self.clients):
                key = f"{each.name} {each.quota} {each.broker}"
                shapes.append(group(key, 0, place * self._high, self._row(each), label=_says(each)))
            if not shapes:
                shapes.append(text("none", MARGIN, 26, "Nothing is measured now.", look="small"))
            height = 40.0 if not self.clients else len(self.clients) * self._high + 8
            title = "; ".join(map(_says, self.clients)) or self.about
            self.show(Scene(self.width, height, shapes, title=title))

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
