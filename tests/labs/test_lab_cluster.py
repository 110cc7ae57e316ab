"""LabCluster: one cluster for each mode, and the mode that a lab's first cell has chosen."""

from importlib import import_module as lab
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.cluster.state import BrokerState, Status, now
from engine.errors import ApiException

CONFIG = {"zookeeper.session.timeout.ms": "6000"}


class StartedCluster:
    """In the place of a cluster: it says how it was made."""

    def __init__(self, brokers: int, config: dict[str, str], metadata: str) -> None:
        self.config, self.metadata = config, metadata
        self.data = Path(__file__)  # it is there

    def start(self) -> "StartedCluster":
        return self

    def state(self) -> Any:
        return SimpleNamespace(brokers={})


@pytest.fixture
def clusters(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.delenv("BROKERLAB_METADATA", raising=False)
    monkeypatch.setattr(lab("lab"), "Cluster", StartedCluster)
    return lab("lab").LabCluster(CONFIG)


def test_the_first_cell_chooses_and_sections_get_its_cluster(clusters: Any) -> None:
    """Cells may run out of order, twice, and after the learner has changed the word."""
    before = clusters.cluster()
    assert before.metadata == "zookeeper"
    chosen = clusters.cluster("kraft")
    assert chosen.metadata == "kraft"
    assert clusters.cluster() is chosen and clusters.cluster("kraft") is chosen
    assert clusters.cluster("zookeeper") is before and clusters.cluster() is before


def test_a_section_about_zookeeper_changes_nothing_for_the_others(clusters: Any) -> None:
    chosen = clusters.cluster("kraft")
    assert clusters.with_zookeeper().metadata == "zookeeper"
    assert clusters.cluster() is chosen


def test_a_session_lasts_as_long_in_both_modes(clusters: Any) -> None:
    assert clusters.cluster("kraft").config["broker.session.timeout.ms"] == "6000"
    assert clusters.cluster("zookeeper").config == CONFIG


def test_the_environment_chooses_before_anybody_has(
    clusters: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROKERLAB_METADATA", "kraft")
    assert clusters.cluster().metadata == "kraft"
    about_zookeeper = lab("lab").LabCluster(CONFIG, metadata="zookeeper")
    assert about_zookeeper.cluster().metadata == "zookeeper"


def test_a_wrong_word_ends_in_a_sentence_and_chooses_nothing() -> None:
    clusters = lab("lab").LabCluster(CONFIG)
    with pytest.raises(ApiException, match='metadata="kraf": "zookeeper" or "kraft"'):
        clusters.cluster("kraf")
    assert clusters._metadata == ""


def broker_state(at: int, status: Status = Status.UP, answers: bool = True) -> BrokerState:
    return BrokerState(status, answers, pid=1, port=1, at=at)


def test_a_state_is_waited_for_until_all_brokers_that_are_up_have_answered() -> None:
    """The first broker sends what it had been asked for before; the second one does not answer."""
    new, paused = now() + 60_000, broker_state(0, Status.PAUSED, answers=False)
    stale = {1: broker_state(7), 2: broker_state(new), 3: paused}
    silent = {1: broker_state(new), 2: broker_state(new, answers=False), 3: paused}
    whole = {1: broker_state(new), 2: broker_state(new), 3: paused}
    states = iter([SimpleNamespace(brokers=each) for each in (stale, silent, whole)])
    cluster = SimpleNamespace(state=lambda: next(states))
    assert lab("lab").state_now(cluster).brokers is whole


@pytest.mark.parametrize(
    ("measured", "best"), [([1, 9], 1), ([5, 1, 9], 1), ([5, 6, 1], 1), ([5, 6, 7, 1], 7)]
)
def test_what_is_not_good_is_measured_three_times_at_most(measured: list[int], best: int) -> None:
    found = iter(measured)
    assert lab("lab").best_of_three(lambda: next(found), lambda each: each < 3) == best
