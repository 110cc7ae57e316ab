"""The broker beside its peers: `make bench`, or python -m bench.

Prints ratios and writes them to build/bench/ with the seconds they come from and a picture.
docs/benchmarks.md says what is measured, and how.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from bench import alone, streams, warm
from bench.peers.apache import Apache, Kafka28
from bench.peers.engine import Engine
from bench.peers.limits import File, Loopback
from bench.peers.mock import Mock
from bench.peers.nats import Nats
from bench.peers.peer import Peer, Size
from bench.peers.rabbitmq import RabbitMQ
from bench.peers.redis import Redis
from bench.picture import picture
from bench.rounds import Seconds, measure, ratios
from bench.table import number, ratio_table, table

PEERS: tuple[type[Peer], ...] = (
    Engine, Mock, Apache, RabbitMQ, Redis, Nats, Loopback, File,
)  # fmt: skip
TITLE = "How many times as fast as its peers the engine is"
BEGAN = time.monotonic()


def main() -> None:
    options = arguments()
    if Kafka28().installed():
        pairs = [warm.beside_kafka(brokers, options.rounds) for brokers in warm.SIZES]
        print("\nBeside a warm Kafka 2.8.2\n", *pairs, sep="\n")
    else:
        progress(f"{Kafka28.name} is left out: {Kafka28.remedy}")
    seconds = beside_peers(PEERS, Size(options.records), options.rounds)
    ours = alone.measure(options.log_mb, progress)
    spark = streams.measure(options.stream_records, options.rounds, progress)
    told = ratios(seconds, Engine.name)
    shares = [*ours.rows(), *spark.goals()]
    own = table(["", "of the goal"], [(name, number(share)) for name, share in shares])
    print(f"\n{TITLE} (median of {options.rounds} rounds)\n\n{ratio_table(told)}")
    print(f"\nThe engine by itself\n\n{own}")
    print(f"\nSpark's source and sink\n\n{spark.table()}\n")
    report = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "options": vars(options),
        "ratios": told,
        "seconds": seconds,
        "alone": ours._asdict(),
        "streams": spark._asdict(),
    }
    folder = Path("build", "bench")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "broker.json").write_text(json.dumps(report, indent=1))
    (folder / "broker.svg").write_text(picture(told, TITLE))
    print(f"{folder}/broker.json and {folder}/broker.svg have the same and more.")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description="The broker beside its peers.")
    parser.add_argument("--records", type=int, default=Size().records, help="in one measurement")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--stream-records", type=int, default=streams.RECORDS, help="for Spark")
    parser.add_argument("--log-mb", type=int, default=1024, help="size of the long log")
    return parser.parse_args()


def progress(line: str) -> None:
    print(f"{time.monotonic() - BEGAN:4.0f} s  {line}", file=sys.stderr, flush=True)


def beside_peers(kinds: Sequence[type[Peer]], size: Size, rounds: int) -> Seconds:
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
        running: list[Peer] = []
        for peer in (kind() for kind in kinds):
            if not peer.installed():
                progress(f"{peer.name} is left out: {peer.remedy}")
                continue
            progress(f"starting {peer.name}")
            place = home / str(len(running))
            place.mkdir()
            peer.start(place)
            stack.callback(peer.stop)
            running.append(peer)
        return measure(running, size, rounds, progress)


def machine() -> dict[str, str | int]:
    return {
        "cores": len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 0,
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


if __name__ == "__main__":
    main()
