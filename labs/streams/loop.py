"""A stream processor by hand: consume, do something, produce. It runs as a process of its own.

    python -m streams.loop --bootstrap ... --source cards --target out --steps greet,large,count

    cards  key Mei, value -4 ──> greet  Hello, Mei      stateless: the record alone
                             ├─> large  (only from 5)   stateless
                             └─> count  3               stateful: all that came before

Each record that it writes says in its headers what it comes from. Every hundred records it makes
sure that all is written, and only then commits: after a crash some are done again, none is left
out.

With --restore it first reads back what it has written itself, the changes of its table, and goes
on where they end: its target is its changelog.
"""

import argparse
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from engine import Consumer, Producer, TopicPartition
from streams.stand import WRITER, Record, ends, poll

Step = Callable[[str, str], str | None]


def greet(guest: str, value: str) -> str:
    return f"Hello, {guest}"


def copy(guest: str, value: str) -> str:
    return value


def large(guest: str, value: str) -> str | None:
    return value if abs(int(value)) >= 5 else None


class Count:
    def __init__(self) -> None:
        self.table: dict[str, int] = {}  # lost with the process

    def __call__(self, guest: str, value: str) -> str:
        self.table[guest] = self.table.get(guest, 0) + 1
        return str(self.table[guest])


class Loop:
    def __init__(self, facts: argparse.Namespace) -> None:
        self.facts, self.ended = facts, False
        every: dict[str, Step] = {"copy": copy, "greet": greet, "large": large, "count": Count()}
        self.steps = {name: every[name] for name in facts.steps.split(",")}
        common = {"bootstrap.servers": facts.bootstrap, "client.id": facts.name}
        self.producer = Producer({**common, **WRITER})
        self.consumer = Consumer(
            {
                **common,
                "group.id": facts.group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": "false",
                "session.timeout.ms": "1000",
                "heartbeat.interval.ms": "200",
                "partition.assignment.strategy": "roundrobin",
            }
        )

    def run(self) -> None:
        print("with" if "py4j" in sys.modules else "without", "a JVM", flush=True)
        if self.facts.restore:
            self.restore()
        else:
            self.consumer.subscribe([self.facts.source])
        since = 0  # the last commit
        while not self.ended:
            found = poll(self.consumer, min(self.facts.commit_every - since, self.facts.batch))
            for each in found:
                self.process(each)
            since += len(found)
            if since == self.facts.commit_every:
                self.commit()
                since = 0
            else:
                self.producer.poll(0)
        if since:
            self.commit()
        self.consumer.close()
        self.producer.close()

    def process(self, record: Record) -> None:
        if self.facts.work:
            time.sleep(self.facts.work)
        for name, step in self.steps.items():
            result = step(record.key, record.value or "0")
            if result is not None:
                origin = {"step": name, "from": str(record.offset), "by": self.facts.name}
                self.producer.produce(
                    self.facts.target, result, record.key, headers=list(origin.items())
                )

    def commit(self) -> None:
        left = self.producer.flush()
        assert left == 0, f"{left} records are not written"
        self.consumer.commit(asynchronous=False)

    def restore(self) -> None:
        """The table is the last value of each key; the newest of them says how far it came."""
        count, done = self.steps["count"], -1
        assert isinstance(count, Count)
        read = 0
        for record in changes(self.facts.bootstrap, self.facts.target):
            count.table[record.key] = int(record.value or 0)
            done = max(done, int(record.headers["from"]))
            read += 1
        print(f"restored from {read} records", flush=True)
        self.consumer.assign([TopicPartition(self.facts.source, 0, done + 1)])

    def end(self, *_: Any) -> None:
        self.ended = True


def changes(bootstrap: str, topic: str) -> list[Record]:
    """All that stands in a topic of one partition."""
    with Consumer({"bootstrap.servers": bootstrap, "group.id": "restore"}) as consumer:
        end = ends(consumer, topic)[0]
        place = TopicPartition(topic, 0, 0)
        consumer.assign([place])
        found: list[Record] = []
        while end and consumer.position([place])[0].offset < end:
            found += poll(consumer)
        return found


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="streams.loop")
    for name in ("bootstrap", "source", "target", "steps", "group"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--name", default="processor")
    parser.add_argument("--work", type=float, default=0, help="seconds that a record takes")
    parser.add_argument("--batch", type=int, default=500, help="records of one poll")
    parser.add_argument("--commit-every", type=int, default=100)
    parser.add_argument("--restore", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    loop = Loop(arguments())
    signal.signal(signal.SIGTERM, loop.end)
    loop.run()
    sys.exit(0)
