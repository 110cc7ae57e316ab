"""A stream processor by hand: consume, do something, produce. It runs as a process of its own.

    cards  key Mei, value -4 ──> greet  Hello, Mei      stateless: the record alone
                             ├─> large  (only from 5)   stateless
                             └─> count  3               stateful: all that came before

What it does are functions of a notebook's cell, `step(key, value, memory)`, whose compiled code is
given to the process (processes.py); `memory` is a dict for each function, lost with the process. A
result of None is not written.

Each record that it writes says in its headers what it comes from. Every `commit-every` records the
process makes sure that all is written, and only then commits: after a crash some records are
processed again, none is left out. The same if the group took it for dead and refuses the commit.

With --restore it first reads back what it has written itself, the changes of its table, and goes
on where they end: its target is its changelog. Then it is in no group, and commits nothing: a
coordinator refuses such a commit as long as the group has members.
"""

import argparse
import base64
import marshal
import signal
import sys
import time
from types import CodeType, FunctionType
from typing import Any

from engine import Consumer, Producer, TopicPartition
from engine.client.values import KafkaError, KafkaException
from streams.stand import WRITER, TextRecord, poll, rest

LOST = {  # others have its partitions now, and what was processed since the last commit
    KafkaError.ILLEGAL_GENERATION,
    KafkaError.REBALANCE_IN_PROGRESS,
    KafkaError.UNKNOWN_MEMBER_ID,
}
NAMES = {"time": time}  # what a step may use without an import


def packed(step: Any) -> str:
    """A function as a word of a command line."""
    return base64.b64encode(marshal.dumps(step.__code__)).decode()


def unpacked(word: str) -> FunctionType:
    code = marshal.loads(base64.b64decode(word))
    assert isinstance(code, CodeType)
    return FunctionType(code, {"__builtins__": __builtins__, **NAMES})


class ProcessingLoop:
    def __init__(self, facts: argparse.Namespace) -> None:
        self.facts, self.ended = facts, False
        self.steps = {step.__name__: step for step in map(unpacked, facts.step)}
        self.memory: dict[str, dict[str, Any]] = {name: {} for name in self.steps}
        common = {"bootstrap.servers": facts.bootstrap, "client.id": facts.name}
        self.producer = Producer({**common, **WRITER})
        self.consumer = Consumer(
            {
                **common,
                "group.id": facts.group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": "false",
                "session.timeout.ms": "6000",  # a busy machine is not a dead one
                "heartbeat.interval.ms": "300",
                "partition.assignment.strategy": "roundrobin",
            }
        )

    def run(self) -> None:
        if self.facts.restore:
            self.restore()
        else:
            self.consumer.subscribe(self.facts.source.split(","))
        since = 0  # the last commit
        while not self.ended:
            found = poll(self.consumer, min(self.facts.commit_every - since, 500))
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

    def process(self, record: TextRecord) -> None:
        for name, step in self.steps.items():
            result = step(record.key, record.value, self.memory[name])
            if result is not None:
                origin = {"step": name, "from": str(record.offset), "by": self.facts.name}
                self.producer.produce(
                    self.facts.target, str(result), record.key, headers=list(origin.items())
                )

    def commit(self) -> None:
        left = self.producer.flush()
        assert left == 0, f"not written, of the records: {left}"
        if self.facts.restore:
            return  # its changelog says how far it came
        try:
            self.consumer.commit(asynchronous=False)
        except KafkaException as error:
            if error.args[0].code() not in LOST:
                raise
            print(f"not committed: {error.args[0].str()}", flush=True)

    def restore(self) -> None:
        """The table is the last value of each key; the newest of them says how far it came."""
        (table,) = self.memory.values()
        done = -1
        self.consumer.assign([TopicPartition(self.facts.target, 0, 0)])
        changes = rest(self.consumer, self.facts.target)
        for record in changes:
            table[record.key] = int(record.value or 0)
            done = max(done, int(record.headers["from"]))
        changed = f"{len(changes)} record{'' if len(changes) == 1 else 's'}"
        print(f"restored from {changed}", flush=True)
        self.consumer.assign([TopicPartition(self.facts.source, 0, done + 1)])

    def end(self, *_: Any) -> None:
        self.ended = True


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="streams.loop")
    for name in ("bootstrap", "source", "target", "group", "name"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--step", action="append", required=True)
    parser.add_argument("--commit-every", type=int, default=100)
    parser.add_argument("--restore", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    loop = ProcessingLoop(arguments())
    signal.signal(signal.SIGTERM, loop.end)
    loop.run()
    sys.exit(0)
