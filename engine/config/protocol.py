"""inter.broker.protocol.version: what the brokers of a cluster may send each other.

    0.11.0-IV2  a follower truncates by leader epochs
    2.7-IV0     features have versions (UpdateFeatures)
    2.7-IV1     a follower truncates by what its leader says in the response to Fetch
    2.7-IV2     a leader sends its ISR to the controller (AlterIsr)
    2.8-IV0     topics have ids

While a cluster is upgraded, all its brokers speak the older version. Kafka's default is its own
release, ours is 2.6: there a leader writes its ISR to ZooKeeper, which is what the labs look at.

A short name stands for the last version of its release: 2.7 is 2.7-IV2. Kafka gates more features
than these five; all others are always on here, because every broker of Kafka 2.8 understands them.
"""

from enum import Enum
from typing import Any

from engine.config.key import invalid

# How many versions (IV0, IV1 ...) each release has; before 0.10 there were no such numbers.
_RELEASES = {
    "0.8.0": 0, "0.8.1": 0, "0.8.2": 0, "0.9.0": 0,
    "0.10.0": 2, "0.10.1": 3, "0.10.2": 1, "0.11.0": 3,
    "1.0": 1, "1.1": 1, "2.0": 2, "2.1": 3, "2.2": 2, "2.3": 2,
    "2.4": 2, "2.5": 1, "2.6": 1, "2.7": 3, "2.8": 2,
}  # fmt: skip
VERSIONS = tuple(
    version
    for release, count in _RELEASES.items()
    for version in ([f"{release}-IV{each}" for each in range(count)] or [release])
)
DEFAULT = "2.6"  # leaders write their ISR to ZooKeeper, where a learner sees it


class Feature(Enum):
    """A feature, by the first version that has it."""

    LEADER_EPOCHS = "0.11.0-IV2"
    FEATURE_VERSIONS = "2.7-IV0"
    TRUNCATION_ON_FETCH = "2.7-IV1"
    ALTER_ISR = "2.7-IV2"
    TOPIC_IDS = "2.8-IV0"


def has(version: str, feature: Feature) -> bool:
    return _rank(version) >= VERSIONS.index(feature.value)


def check_version(name: str, value: Any) -> None:
    try:
        _rank(value)
    except ValueError:
        raise invalid(name, value, f"Version `{value}` is not a valid version") from None


def _rank(version: str) -> int:
    """Of the release's parts only the first ones count: 2.8.2 is 2.8, and that is 2.8-IV1."""
    segments = version.split(".")
    name = ".".join(segments[: 3 if version.startswith("0.") else 2])
    count = _RELEASES.get(name, 0)
    return VERSIONS.index(f"{name}-IV{count - 1}" if count else name)
