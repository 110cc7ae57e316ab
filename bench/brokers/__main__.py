"""Measure other brokers beside the engine: `make peers`, or python -m bench.brokers.

Writes build/bench/peers.json; each part of it is written when it is measured, so a run can be ended
and another one can go on with `--parts`. docs/peers.md says what is measured, and how.
"""

import argparse
import json
import platform
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.brokers import crash, features, jars, speed, systems

Measured = Iterator[dict[str, Any]]  # whole parts of the file
BEGAN = time.monotonic()
FILE = Path("build", "bench", "peers.json")
PARTS = ("speed", "topics", "features", "failover", "crash")


def main() -> None:
    options = arguments()
    try:
        jars.prepare()
    except jars.JarsMissing as missing:
        sys.exit(str(missing))  # all clients are among them
    for name, remedy in systems.left_out().items():
        progress(f"{name} is left out: {remedy}")
    found = known(options.file)
    found |= {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": options.machine,
        "java": jars.java_version(),
        "versions": {it.name: it.version() for it in systems.SYSTEMS if it.installed()},
        "left out": systems.left_out(),
    }
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as home:
        for part in options.parts:
            (folder := Path(home, part)).mkdir()
            for measured in MEASURE[part](folder, options):
                found[part] = {**found.get(part, {}), **measured}
                options.file.parent.mkdir(parents=True, exist_ok=True)
                options.file.write_text(json.dumps(found, indent=1) + "\n")
    print(f"{options.file} has what was measured.")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.brokers", description="Brokers side by side.")
    parser.add_argument("--messages", type=int, default=1_000_000, help="of 200 bytes, in a load")
    parser.add_argument("--single", type=int, default=2_000, help="messages sent one by one")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--kills", type=int, default=50, help="for each setting")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--settings", nargs="+", default=[], help="only these")
    parser.add_argument("--file", type=Path, default=FILE)
    parser.add_argument("--machine", default=platform.machine(), help="words for the file")
    return parser.parse_args()


def progress(line: str) -> None:
    print(f"{time.monotonic() - BEGAN:4.0f} s  {line}", file=sys.stderr, flush=True)


def known(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    return found


def measure_speed(home: Path, options: argparse.Namespace) -> Measured:
    settings = systems.present(systems.SPEED)
    size = speed.SpeedOptions(options.messages, options.single, options.rounds)
    words = {each.name: each.words for each in settings}
    with speed.running(settings, home, progress) as drivers:
        for turn, loads in enumerate(speed.measure(drivers, size, progress), 1):
            yield {"settings": words, **size._asdict(), "rounds": turn, "loads": loads}


def measure_topics(home: Path, options: argparse.Namespace) -> Measured:
    settings = [it for it in systems.present(systems.SPEED) if it.name in systems.MANY]
    size = speed.SpeedOptions(options.messages, options.single, options.rounds)
    with speed.running(settings, home, progress) as drivers:
        for turn, topics in enumerate(speed.many(drivers, size, progress), 1):
            yield {"messages": size.messages, "rounds": turn, "topics": topics}


def measure_crash(home: Path, options: argparse.Namespace) -> Measured:
    for each, folder in chosen(systems.CRASH, home, options):
        yield {each.name: crash.crashes(each, options.kills, folder, progress)}


def measure_failover(home: Path, options: argparse.Namespace) -> Measured:
    for each, folder in chosen(systems.FAILOVER, home, options):
        yield {each.name: crash.failover(each, folder, progress)}


def measure_features(home: Path, options: argparse.Namespace) -> Measured:
    for number, kind in enumerate(it for it in systems.TRIED if it.installed()):
        if not options.settings or kind.name in options.settings:
            (folder := home / str(number)).mkdir()
            yield {kind.name: features.measure(kind, folder, progress)}


def chosen(
    settings: tuple[systems.Setting, ...], home: Path, options: argparse.Namespace
) -> Iterator[tuple[systems.Setting, Path]]:
    """The settings that are asked for, each with a folder."""
    for number, each in enumerate(systems.present(settings)):
        if not options.settings or each.name in options.settings:
            (folder := home / str(number)).mkdir()
            yield each, folder


MEASURE = {
    "speed": measure_speed,
    "topics": measure_topics,
    "crash": measure_crash,
    "failover": measure_failover,
    "features": measure_features,
}

if __name__ == "__main__":
    main()
