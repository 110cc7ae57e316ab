"""Damage on the disk of one replica: it heals from the leader, and does not infect the others."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.storage.batch import HEADER_SIZE, scan

Damage = Callable[[Path], object]


def torn_tail(directory: Path) -> None:
    """The end of the last segment is missing, in the middle of a batch."""
    log = last(directory)
    with log.open("r+b") as file:
        file.truncate(max(0, log.stat().st_size - 5000))


def half_a_batch_more(directory: Path) -> None:
    log = last(directory)
    with log.open("ab") as file:
        file.write(log.read_bytes()[: HEADER_SIZE + 20])


def flipped_bit(directory: Path) -> None:
    """In the records of a batch, in the middle of the last segment."""
    log = last(directory)
    data = bytearray(log.read_bytes())
    positions = [position for position, _ in scan(data)]
    data[positions[len(positions) // 2] + HEADER_SIZE + 10] ^= 0x10
    log.write_bytes(data)


def no_index(directory: Path) -> None:
    for path in [*directory.glob("*.index"), *directory.glob("*.timeindex")]:
        path.unlink()


def no_partition(directory: Path) -> None:
    shutil.rmtree(directory)


def nothing_at_all(directory: Path) -> None:
    """A new disk: whose directory it was is forgotten too."""
    shutil.rmtree(directory.parent)


DAMAGES = [nothing_at_all]
# A broker mends the first three by itself (tests/properties/test_recovery.py); who has lost all has
# lost a partition, too; and a bit flips in the next test.
MORE = [torn_tail, half_a_batch_more, no_index, no_partition, flipped_bit]
DAMAGES += [pytest.param(each, marks=pytest.mark.long) for each in MORE]


def last(directory: Path) -> Path:
    *_, log = sorted(directory.glob("*.log"))
    return log


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda each: each.__name__)
def test_a_replica_heals(cluster, truth, work, damage: Damage):
    """It leads a partition when it dies; once it is replaced its disk goes bad."""
    victim = truth.state(work.topic, 0).leader
    work.advance(count=200)
    cluster.kill(victim)
    truth.await_brokers(set(cluster.brokers) - {victim})
    work.advance()
    damage(cluster.directory(victim) / f"{work.topic}-0")
    cluster.restart(victim)
    truth.await_whole(work.topic)
    work.advance()
    verdict = work.verdict()  # the judge compares every file
    assert verdict.good, verdict


@pytest.mark.parametrize(
    "damage",
    [flipped_bit, pytest.param(torn_tail, marks=pytest.mark.long)],
    ids=lambda each: each.__name__,
)
def test_a_leader_that_comes_back_with_less_before_it_is_missed(
    cluster, truth, work, damage: Damage
):
    """It must not lead with what it has left, though its session never ended."""
    victim = truth.state(work.topic, 0).leader
    work.advance(count=200)
    cluster.kill(victim)
    damage(cluster.directory(victim) / f"{work.topic}-0")
    cluster.restart(victim)
    work.advance()
    verdict = work.verdict()
    assert verdict.good, verdict
