"""Stories of a cluster: what is done, and what is seen then.

Each page in cluster/ is a lesson that can be read from top to bottom. A line with ">" is a step,
what follows it is what happened meanwhile (with "*": seconds since the start, who tells it) and
what the step prints. `GOLDEN=write pytest tests/golden` writes the pages anew.

    brokers 1 2 3 [KEY=VALUE ...]         a new cluster of these; one message takes a millisecond
    topic NAME replicas=1,2,3 [KEY=VALUE ...]    one partition, NAME-0
    send NAME-0 a b c [acks=all] [to=N] [patience=MS]    a record each; what fails is tried again
                                          while there is patience: half a second by default
    begin NAME-0 a ..., outcome           the same without waiting; what became of it
    read NAME-0 [broker=N] [from=OFFSET]  what a consumer sees, of the leader or of another
    wait MS; kill, power-cut, start, stop, pause, resume N; cut N M, slow N M MS, heal
    configure NAME KEY=VALUE, delete NAME, reassign NAME-0 4,5, elect NAME-0 [unclean]
    till WHO init, till WHO begin, till WHO send NAME-0 a, till WHO commit or abort
                                          a transactional producer; read NAME-0 committed
    repeat API, deliver                   the network keeps a copy of the next request of this kind;
                                          that copy arrives
    replicas NAME-0                       each replica's role, log end, high watermark, records
    zookeeper PATH, remove PATH           what stands there; take it away

With acks=1 or acks=0 a producer is not idempotent. Of a replica's records, the number before them
is the leader epoch in which they were written.
"""

import os
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from engine.client.values import KafkaException
from engine.cluster.request_faults import api_of
from engine.errors import ErrorCode
from engine.model import TopicPartition
from engine.sim.client import Delivery, Row, rows_of
from engine.sim.transactional_producer import SteppedProducer
from engine.sim.world import Happened, World
from engine.zookeeper.requests import Children, Delete

PAGES = sorted((Path(__file__).parent / "cluster").glob("*.txt"))
TOLD = {
    "broker.down": ("broker",),
    "broker.refused": ("broker", "why"),
    "broker.up": ("broker",),
    "controller.elected": ("epoch",),
    "controller.refused": ("request", "controller", "controller_epoch", "error"),
    "controller.resigned": ("epoch", "reason"),
    "isr.changed": ("isr", "was"),
    "isr.refused": ("isr",),
    "leader.elected": ("leader", "leader_epoch", "isr", "reason", "clean"),
    "log.truncated": ("end_offset", "was"),
    "reassignment.began": ("replicas", "adding", "removing"),
    "reassignment.done": ("replicas",),
    "topic.deleted": ("topic",),
    "write.refused": ("who", "path", "reason"),
}
ACKS = {"all": -1, "0": 0, "1": 1}
Options = dict[str, str]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_story(page: Path) -> None:
    told, written, story = page.read_text(), [], Story()
    for line in told.splitlines():
        if line.startswith("> "):
            written += [line, *story.step(line[2:])]
        elif not line or line.startswith("#"):
            written.append(line)
    text = "\n".join(written) + "\n"
    if os.environ.get("GOLDEN") == "write":
        page.write_text(text)
    assert text == told


class Story:
    world: World

    def __init__(self) -> None:
        self.begun: list[Delivery] = []
        self.answers: list[Any] = []
        self.tills: dict[str, SteppedProducer] = {}
        self._told = 0

    def step(self, line: str) -> list[str]:
        """Do what a line says; what happened on the way, and what it prints."""
        name, *words = line.split()
        plain = [word for word in words if "=" not in word]
        options = dict(word.split("=", 1) for word in words if "=" in word)
        printed = getattr(self, name.replace("-", "_"))(plain, options) or []
        events = self.world.events[self._told :]
        self._told = len(self.world.events)
        told = [_event(each) for each in events if each.event.kind in TOLD]
        return [*told, *(f"  {line}" for line in printed)]

    # -- the cluster ---------------------------------------------------------------------

    def brokers(self, plain: list[str], options: Options) -> None:
        self._told, self.begun = 0, []
        self.world = World(brokers=[int(each) for each in plain], config=options)
        self.world.run(100)

    def wait(self, plain: list[str], options: Options) -> None:
        self.world.run(int(plain[0]))

    def kill(self, plain: list[str], options: Options) -> None:
        for each in plain:
            self.world.kill(int(each))

    def power_cut(self, plain: list[str], options: Options) -> None:
        for each in plain:
            self.world.power_cut(int(each))

    def start(self, plain: list[str], options: Options) -> None:
        for each in plain:
            self.world.start(int(each))
        self.world.run(100)

    def stop(self, plain: list[str], options: Options) -> list[str]:
        node, began = self.world[int(plain[0])], self.world.now
        node.running.stop()
        assert self.world.until(lambda: not node.is_up)
        return [f"broker {node.id} has stopped, after {_seconds(self.world.now - began)}"]

    def pause(self, plain: list[str], options: Options) -> None:
        self.world.pause(int(plain[0]))

    def resume(self, plain: list[str], options: Options) -> None:
        self.world.resume(int(plain[0]))
        self.world.run(0)

    def cut(self, plain: list[str], options: Options) -> None:
        self.world.cut(*map(_end, plain))

    def slow(self, plain: list[str], options: Options) -> None:
        self.world.slow(_end(plain[0]), _end(plain[1]), int(plain[2]))

    def heal(self, plain: list[str], options: Options) -> None:
        self.world.heal()

    # -- topics --------------------------------------------------------------------------

    def topic(self, plain: list[str], options: Options) -> None:
        replicas = [int(each) for each in options.pop("replicas").split(",")]
        self.world.create(plain[0], [replicas], **options)
        self.world.run(100)

    def configure(self, plain: list[str], options: Options) -> None:
        self.world.configure(plain[0], **options)
        self.world.run(100)

    def delete(self, plain: list[str], options: Options) -> None:
        self.world.delete(plain[0])
        self.world.run(100)

    def reassign(self, plain: list[str], options: Options) -> list[str]:
        partition = _partition(plain[0])
        to = tuple(int(each) for each in plain[1].split(","))
        self.world.reassign({partition: to}, self.answers.append)
        return self._answer(partition)

    def elect(self, plain: list[str], options: Options) -> list[str]:
        partition = _partition(plain[0])
        self.world.elect(partition, self.answers.append, unclean="unclean" in plain)
        return self._answer(partition)

    def _answer(self, partition: TopicPartition) -> list[str]:
        assert self.world.until(lambda: bool(self.answers))
        error = self.answers.pop()[partition]
        return [_code(error.code)] if error else []

    # -- clients -------------------------------------------------------------------------

    def send(self, plain: list[str], options: Options) -> list[str]:
        sent = self._send(plain, options)
        assert self.world.until(lambda: all(each.done for each in sent), 200_000)
        return [self._outcome(each) for each in sent]

    def begin(self, plain: list[str], options: Options) -> None:
        self.begun += self._send(plain, options)
        self.world.run(10)

    def outcome(self, plain: list[str], options: Options) -> list[str]:
        return [self._outcome(each) for each in self.begun]

    def _send(self, plain: list[str], options: Options) -> list[Delivery]:
        return [
            self.world.client.send(
                _partition(plain[0]),
                value,
                acks=ACKS[options.get("acks", "all")],
                patience=int(options.get("patience", "500")),
                to=int(options["to"]) if "to" in options else None,
            )
            for value in plain[1:]
        ]

    def _outcome(self, sent: Delivery) -> str:
        if sent.done_at is None:
            return f"{sent.value}: no answer yet"
        took = sent.done_at - sent.sent_at
        after = f", after {_seconds(took)}" if took >= 1000 else ""
        if sent.code != ErrorCode.none:
            return f"{sent.value}: {_code(sent.code)}{after}"
        return f"{sent.value}: " + (f"offset {sent.offset}" if sent.acks else "sent") + after

    def read(self, plain: list[str], options: Options) -> list[str]:
        partition = _partition(plain[0])
        broker = int(options.get("broker", self.world.leader(partition)))
        offset = int(options.get("from", 0))
        how = {"anywhere": "broker" in options, "committed": "committed" in plain}
        seen = self.world.consume(partition, offset, broker, **how)
        if seen.code != ErrorCode.none:
            return [_code(seen.code)]
        return [" ".join(f"{row.offset}:{row.value}" for row in seen.rows) or "nothing"]

    # -- transactions --------------------------------------------------------------------

    def till(self, plain: list[str], options: Options) -> list[str]:
        name, what, *words = plain
        try:
            if what == "init":
                client = self.world.add_client(f"{name}-{self.world.now}")
                self.tills[name] = SteppedProducer(client, name, self._wait_for)
            elif what == "send":
                topic, number = _partition(words[0])
                for value in words[1:]:
                    self.tills[name].send(topic, value, number)
            else:
                getattr(self.tills[name], what)()
        except KafkaException as error:
            return [f"{name} hears: {error.args[0].name()}"]
        return []

    def repeat(self, plain: list[str], options: Options) -> None:
        self.world.repeats.repeat(api_of(plain[0]), None)

    def deliver(self, plain: list[str], options: Options) -> list[str]:
        copies = self.world.repeats.deliver()
        self._wait_for(lambda: all(each.answers for each in copies))
        return [f"{each.request.transactional_id}: {each.answers[0]}" for each in copies]

    def _wait_for(self, condition: Callable[[], object]) -> None:
        assert self.world.until(lambda: bool(condition()), 200_000)

    # -- looking -------------------------------------------------------------------------

    def replicas(self, plain: list[str], options: Options) -> list[str]:
        return list(self._replicas(_partition(plain[0]))) or ["there are none"]

    def _replicas(self, topic_partition: TopicPartition) -> Iterator[str]:
        for node in self.world.nodes.values():
            log = node.log(topic_partition)
            if log is None:
                continue
            partition = (
                node.broker.replicas.partitions.get(topic_partition) if node.broker else None
            )
            what = partition.role.value if partition else "" if node.is_up else "down"
            high = f"HW {partition.high_watermark}" if partition else "    "
            records = _records([row for each in log.batches for row in rows_of(each.data)])
            yield f"{node.id} {what:8}  LEO {log.end_offset}  {high}  {records}".rstrip()

    def zookeeper(self, plain: list[str], options: Options) -> list[str]:
        data = self.world.zookeeper.get(plain[0])
        if data is None:
            return ["there is no such node"]
        names = self.world.zookeeper.ask(Children(plain[0]))
        return [data.decode() or ", ".join(names) or "empty"]

    def remove(self, plain: list[str], options: Options) -> None:
        assert self.world.zookeeper.ask(Delete(plain[0])) is True


def _event(happened: Happened) -> str:
    at, broker, (kind, _, data) = happened
    who = f"broker {broker}" if broker else "zookeeper"
    about = f" {data['topic']}-{data['partition']}" if "partition" in data else ""
    facts = "".join(f" {key}={_fact(data[key])}" for key in TOLD[kind])
    return f"  * {at / 1000:.1f} {who}: {kind}{about}{facts}"


def _fact(value: object) -> str:
    if isinstance(value, list | tuple):
        return ",".join(map(str, value)) or "none"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _records(rows: list[Row]) -> str:
    epochs = groupby(rows, key=lambda row: row.leader_epoch)
    return "  ".join(f"{epoch}: {' '.join(row.value for row in found)}" for epoch, found in epochs)


def _code(code: ErrorCode) -> str:
    return f"{code.name.upper()} ({int(code)})"


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.1f} s"


def _partition(text: str) -> TopicPartition:
    topic, _, number = text.rpartition("-")
    return TopicPartition(topic, int(number))


def _end(text: str) -> int | str:
    return int(text) if text.isdigit() else text
