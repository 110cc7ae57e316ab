"""ThrottleGauge: rates against quotas, who waits, and nobody who is not measured."""

from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

from engine.cluster.recording import Recording
from tests.unit.widgets.cluster import state
from widgets import ThrottleGauge


def row(client: str | None, rate: float, throttle_ms: int = 0, **more: Any) -> dict[str, Any]:
    facts = {"quota": "producer_byte_rate", "user": None, "limit": 500_000.0}
    return {**facts, "client": client, "rate": rate, "throttle_ms": throttle_ms, **more}


class Cluster:
    """Tells what its brokers measure; by broker."""

    def __init__(self, **rows: list[dict[str, Any]]) -> None:
        self.rows = {int(name[1:]): each for name, each in rows.items()}
        self.answers = True

    def state(self) -> Any:
        told = state(brokers=2)
        brokers = {
            number: replace(each, quotas=tuple(self.rows.get(number, ())), answers=self.answers)
            for number, each in told.brokers.items()
        }
        return replace(told, brokers=brokers)

    def events(self, after: int = 0) -> list[Any]:
        return []


def lines(gauge: ThrottleGauge) -> list[str]:
    assert gauge.picture is not None
    return [each.label for each in gauge.picture.shapes if each.kind == "group"]


def test_each_client_has_its_rate_its_quota_and_its_time_to_wait() -> None:
    fetched = row("ben", 60_400.0, quota="consumer_byte_rate")
    cluster = Cluster(b1=[row("noisy", 1_234_567.0, 3200), fetched], b2=[row("noisy", 900.0)])
    gauge = ThrottleGauge(cluster)
    assert lines(gauge) == [
        "ben reads 60.4 KB/s of 500 KB/s on broker 1, does not wait",
        "noisy sends 1.23 MB/s of 500 KB/s on broker 1, waits 3,200 ms",
        "noisy sends 900 B/s of 500 KB/s on broker 2, does not wait",
    ]
    assert gauge.about == "1 of 3 wait · the mark is the quota"
    assert gauge.picture is not None
    track, rate = gauge.picture["track"].where, gauge.picture["rate"].where
    assert rate[2] <= track[2]  # a rate above the scale stays in its track


def test_a_user_and_a_part_of_the_time_have_their_own_words() -> None:
    asks = row("app", 12.25, 40, user="alice", quota="request_percentage", limit=50.0)
    tokens = row("app", 9.0, quota="controller_mutation_rate")
    gauge = ThrottleGauge(Cluster(b1=[asks, tokens]))
    assert lines(gauge) == ["alice / app asks 12.2 % of 50 % of the time on broker 1, waits 40 ms"]


def test_it_follows_the_state_and_forgets_who_is_no_longer_measured() -> None:
    cluster = Cluster()
    gauge = ThrottleGauge(cluster)
    assert lines(gauge) == []
    assert gauge.about == "no client that has a quota has used it in the last seconds"
    cluster.rows[1] = [row("noisy", 800_000.0, 1200)]
    assert gauge.poll()
    assert [each.throttle_ms for each in gauge.clients] == [1200]
    drawn = gauge.picture
    gauge.poll()
    assert gauge.picture is drawn  # nothing has changed
    cluster.answers = False  # what a dead broker told last is no rate of now
    gauge.poll()
    assert lines(gauge) == []


def test_a_run_that_is_over_is_gone_through_and_its_timeline_stays_where_it_is() -> None:
    told = [
        Cluster().state(),
        Cluster(b1=[row("noisy", 800_000.0, 1200), row("shop", 900.0)]).state(),
    ]
    told += [Cluster(b1=[row("shop", 900.0)]).state()]
    states = [replace(each, at=each.at + 1000 * place) for place, each in enumerate(told)]
    gauge = ThrottleGauge(Recording(states, []))
    assert not gauge.poll()
    seen, feet = [], set()
    for share in (0, 0.5, 1):
        gauge.do("seek", share)
        seen.append([each.throttle_ms for each in gauge.clients])
        feet.add((gauge.picture["head"].where[1], gauge.picture.height))
    assert seen == [[], [1200, 0], [0]]
    assert len(feet) == 1


def test_it_has_a_still_in_every_width() -> None:
    gauge = ThrottleGauge(Cluster(b1=[row("noisy" * 30, 800_000.0, 1200)]))
    for width in (960, 356):
        gauge.fit(width)
        still = gauge.still()
        assert still["text/plain"].startswith("ThrottleGauge: noisy")
        ElementTree.fromstring(still["image/svg+xml"])
