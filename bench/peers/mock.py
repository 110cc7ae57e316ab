"""librdkafka's mock broker, in a process of its own.

    python -m bench.peers.mock      prints its address, and serves until its stdin ends

It is a list in memory with Kafka's protocol in front, all in C: no disk, no ZooKeeper, no check of
records. Of a partition it keeps the last 5 MB, hence the small logs to read back.
"""

import subprocess
import sys
from pathlib import Path

from confluent_kafka import Producer

from bench.peers.kafka import KEYED, LZ4, KafkaPeer
from bench.peers.peer import CONSUME, PATIENCE, Load, Size


class Mock(KafkaPeer):
    name = "librdkafka's mock"

    def start(self, home: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.peers.mock"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stdout is not None
        self.bootstrap = self._process.stdout.readline().strip()

    def stop(self) -> None:
        self._process.communicate()

    def loads(self, size: Size) -> dict[str, Load]:
        left_out = {CONSUME, KEYED, LZ4}  # it creates no topics of many partitions
        return {name: load for name, load in super().loads(size).items() if name not in left_out}


def main() -> None:
    host = Producer({"bootstrap.servers": "mock", "test.mock.num.brokers": 1})
    (broker,) = host.list_topics(timeout=PATIENCE).brokers.values()
    print(f"{broker.host}:{broker.port}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
