"""Mutants of the appendix, its table of brokers: another record, or another question to it.

Nothing runs in this section, so what is changed is what `make peers` might have found elsewhere.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from tests.labs.mutants import Mutant

SPEED = "peers-record peers-speed peers-speed-verdict"
DELAY = "peers-record peers-speed peers-speed-verdict peers-delay-verdict"
CRASH = "peers-record peers-crash peers-crash-verdict"
FAILOVER = "peers-record peers-failover peers-failover-verdict"
FEATURES = "peers-record peers-features peers-features-verdict"


def recorded(change: Callable[[dict[str, Any]], None]) -> Callable[[pytest.MonkeyPatch], None]:
    """The record, changed before the lab sees it."""

    def defect(patch: pytest.MonkeyPatch) -> None:
        peers = import_module("articles.peers")
        known = peers.load

        def load(*where: Any) -> Any:
            found = known(*where)
            change(found)
            return found

        patch.setattr(peers, "load", load)

    return defect


def slow_when_batched(record: dict[str, Any]) -> None:
    batched = record["speed"]["loads"]["batched"]
    batched["RocketMQ"] = list(batched["RabbitMQ"])


def slow_transient(record: dict[str, Any]) -> None:
    times = record["speed"]["loads"]["p50"]
    times["RabbitMQ transient"] = [1000.0 for _ in times["RabbitMQ transient"]]


def steady_kafka(record: dict[str, Any]) -> None:
    topics = record["topics"]["topics"]
    topics["500"]["Kafka"] = list(topics["10"]["Kafka"])


def loses_in_sync(record: dict[str, Any]) -> None:
    record["crash"]["RocketMQ sync"]["lost"][0] = 1


def stays_away(record: dict[str, Any]) -> None:
    record["failover"]["engine, 3 replicas"]["away"] = [None]


def without_a_log(record: dict[str, Any]) -> None:
    kafka = record["features"]["Apache Kafka"]
    kafka |= dict.fromkeys(("transactions", "replay", "compaction"), "none")


MUTANTS = [
    Mutant("RocketMQ is slow", "C252", SPEED, defect=recorded(slow_when_batched)),
    Mutant(
        "one by one is not asked",
        "C252",
        SPEED,
        [
            ('"single", "Kafka", "RabbitMQ"', '"batched", "Kafka", "RabbitMQ"'),
            ('"RabbitMQ quorum"', '"RabbitMQ"'),
        ],
    ),
    Mutant("transient is slow, too", "C254", DELAY, defect=recorded(slow_transient)),
    Mutant("Kafka loses nothing by topics", "C253", DELAY, defect=recorded(steady_kafka)),
    Mutant("a confirmed message is lost", "C256", CRASH, defect=recorded(loses_in_sync)),
    Mutant("nobody takes over", "C255", FAILOVER, defect=recorded(stays_away)),
    Mutant("a queue and nothing else", "C257", FEATURES, defect=recorded(without_a_log)),
]
