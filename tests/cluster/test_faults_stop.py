"""SIGTERM: leaders move before their broker goes, so that nobody has to wait for its session."""

from pathlib import Path

import pytest

from engine.storage.batch import HEADER_SIZE
from tests.limits import ENDLESS_SESSION_MS

# So long that nothing here can go on by waiting for a session to end.
CONFIG = {"zookeeper.session.timeout.ms": ENDLESS_SESSION_MS}


@pytest.mark.of_zookeeper  # which has all changes in one order
@pytest.mark.parametrize("role", [pytest.param("leader", marks=pytest.mark.long), "controller"])
def test_leaders_move_first(cluster, truth, work, role):
    before = truth.states(work.topic)
    victim = truth.controller() if role == "controller" else before[0].leader
    led = [number for number, state in before.items() if state.leader == victim]
    assert led
    changes = {number: truth.changes(work.topic, number) for number in led}

    cluster.stop_broker(victim)

    gone = truth.last_change_of_brokers()
    assert victim not in truth.brokers()
    for number in led:  # led by another while the broker was still there
        moved = [state for state in changes[number] if state.leader not in (-1, victim)]
        assert moved[0].zxid < gone
    work.advance()
    cluster.restart(victim)
    verdict = work.verdict()
    assert verdict.good, verdict


@pytest.mark.long  # so is one in tests/interop/test_damage.py
def test_its_logs_are_not_read_when_it_returns(cluster, truth, work):
    """What was closed in good order is taken as it is: a bit that flips meanwhile goes unseen."""
    victim = truth.state(work.topic, 0).leader
    cluster.stop_broker(victim)
    first, *_ = sorted((cluster.directory(victim) / f"{work.topic}-0").glob("*.log"))
    flip(first)
    cluster.restart(victim)
    truth.await_whole(work.topic)
    assert "log.cut" not in cluster.child(victim).output()
    flip(first)  # back, or the judge would see it
    verdict = work.verdict()
    assert verdict.good, verdict


def flip(log: Path) -> None:
    """A bit in the records of the first batch."""
    with log.open("r+b") as file:
        file.seek(HEADER_SIZE + 10)
        byte = file.read(1)[0]
        file.seek(HEADER_SIZE + 10)
        file.write(bytes([byte ^ 0x10]))


@pytest.mark.long
def test_one_after_another(cluster, truth, work):
    """As an upgrade does it: each is stopped, and is in sync again before the next."""
    for broker in cluster.brokers:
        cluster.stop_broker(broker)
        work.advance()
        cluster.restart(broker)
        truth.await_whole(work.topic)
    verdict = work.verdict()
    assert verdict.good, verdict


@pytest.mark.long
def test_all_of_them(cluster, truth, work):
    """The last one has nobody to hand over to, and goes all the same."""
    for broker in cluster.brokers:
        cluster.stop_broker(broker)
    assert truth.brokers() == set()
    for broker in cluster.brokers:
        cluster.restart(broker)
    work.advance()
    verdict = work.verdict()
    assert verdict.good, verdict
