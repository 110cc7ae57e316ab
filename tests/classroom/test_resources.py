"""A crowded machine kills ZooKeeper while brokers start: it is ZooKeeper that is named."""

import pytest

from engine.cluster.broker_process import BrokerProcess
from engine.cluster.cluster import Cluster
from engine.errors import ApiException, ErrorCode


def test_who_was_killed_is_named_and_not_who_missed_it(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()

    def waits_in_vain(node: BrokerProcess) -> None:
        cluster.child("zookeeper").kill()
        raise ApiException(ErrorCode.broker_not_available, "no answer from ZooKeeper")

    monkeypatch.setattr(BrokerProcess, "await_ready", waits_in_vain)
    with pytest.raises(ApiException, match=r"^ZooKeeper has ended \(nobody here did .*\)\.$"):
        cluster.start()
    assert not cluster.data.exists()


def test_a_broker_s_own_trouble_stays_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(node: BrokerProcess) -> None:
        raise ApiException(ErrorCode.broker_not_available, "my disk")

    monkeypatch.setattr(BrokerProcess, "await_ready", fails)
    with pytest.raises(ApiException, match=r"^my disk$"):
        Cluster().start()
