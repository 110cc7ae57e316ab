"""The engine beside a warm Kafka 2.8.2: python -m bench.warm

One broker of each, then three of each with as many replicas. Both clusters run all the time, on the
same cores, and each load runs on both in turns: A B A B. The client is confluent-kafka.

A JVM compiles what it has run often, and goes on with it for some minutes: a load that lasts half a
second, or a broker that was started a moment ago, measures its compiler. So two rounds run before
those that count, and a load lasts seconds.

Each round gives a pair, and its ratio: above 1 the engine is faster. `best` is the ratio of the
best time of each: what is left if the rest of the machine is quiet for a moment.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from bench.peers.apache import Kafka28
from bench.peers.engine import Engine
from bench.peers.peer import Load, Peer, Size
from bench.rounds import Seconds, measure
from bench.table import number, table

WARM_UP = 2  # rounds that do not count
SIZES = {1: Size(3_000_000, pings=16_000), 3: Size(1_000_000, pings=8_000)}  # by number of brokers
BEGAN = time.monotonic()


class OurBrokers(Engine):
    def loads(self, size: Size) -> dict[str, Load]:
        return self.columns(size)


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.warm", description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5, help="rounds that count")
    parser.add_argument("--brokers", type=int, choices=SIZES, help="only one, or only three")
    options = parser.parse_args()
    if not Kafka28().installed():
        print(f"Kafka 2.8.2 is not here: {Kafka28.remedy}.")
        return 1
    for brokers in [options.brokers] if options.brokers else SIZES:
        print(f"\n{beside_kafka(brokers, options.rounds)}", flush=True)
    return 0


def beside_kafka(brokers: int, rounds: int) -> str:
    """Measure so many brokers of each, and tell the pairs."""
    pair: list[Peer] = [OurBrokers(brokers), Kafka28(brokers)]
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
        for peer in pair:
            place = home / peer.name
            place.mkdir()
            peer.start(place)
            stack.callback(peer.stop)
        seconds = measure(pair, SIZES[brokers], rounds, progress, WARM_UP)
    folder = Path("build", "bench")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"warm-{brokers}.json").write_text(json.dumps(seconds, indent=1))
    return pairs_table(seconds, brokers)


def pairs_table(seconds: Seconds, brokers: int) -> str:
    """A row for each load: its pairs, their median, and the ratio of the best times."""
    rows = []
    for load, by_peer in seconds.items():
        ours, theirs = by_peer[Engine.name], by_peer[Kafka28.name]
        pairs = [other / one for one, other in zip(ours, theirs, strict=True)]
        best = min(theirs) / min(ours)
        told = " ".join(f"{number(it):>4}" for it in pairs)
        rows.append((load, number(statistics.median(pairs)), number(best), told))
    return table([f"brokers: {brokers}", "median", "best", "pairs"], rows)


def progress(line: str) -> None:
    print(f"{time.monotonic() - BEGAN:4.0f} s  {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
