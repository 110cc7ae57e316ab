"""What a client finds in each system: each feature tried once, by java/Features.java."""

from pathlib import Path

from bench.brokers.driver import Driver, LoadFailed
from bench.brokers.speed import Report
from bench.brokers.system import System

FEATURES = (
    "priority",
    "delay",
    "acknowledge-one",
    "dead-letters",
    "transactions",
    "replay",
    "compaction",
)


def measure(kind: type[System], home: Path, report: Report) -> dict[str, str]:
    """By system, by feature: see java/Features.java for the words."""
    report(f"features of {kind.name}")
    system = kind(home)
    try:
        system.start()
        with Driver(system.settings(), home / "load.log") as driver:
            return {each: _tried(driver, each, report) for each in FEATURES}
    finally:
        system.stop()


def _tried(driver: Driver, feature: str, report: Report) -> str:
    try:
        return " ".join(driver.do("try", feature))
    except LoadFailed as error:
        report(f"{feature} failed: {error}")
        return "failed"
