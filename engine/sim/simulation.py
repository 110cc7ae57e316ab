"""A cluster in simulated time: the code of the brokers on a virtual clock, network and ZooKeeper.

    sim = Simulation(brokers=3)
    sim.topic("orders", replicas=[1, 2, 3])
    sim.slow(1, [2, 3], ms=250)
    sent = sim.send("orders", "two teas", acks="all")
    steps = sim.watch("orders", seconds=3)      LEO and HW of each replica, a row for each change
    sent.answered_ms                            how long the producer has waited for its answer
    sim.messages()                              who has sent what to whom, and when

Time passes only in `run`, `wait`, `watch` and in what says that it waits. A message takes one
millisecond until `slow` says otherwise; a minute takes a moment. The same steps with the same seed
give the same run, on every machine and every time.

It is a shorter form of engine.sim.World; `sim.world` has the rest. Left out: consumer groups.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import Any, NamedTuple

from engine.broker.metadata import PartitionInfo
from engine.broker.rules import KAFKAS, Rules
from engine.cluster.request_faults import api_of
from engine.cluster.topics import dotted
from engine.errors import invalid_request
from engine.metadata.replica_assignment import ReplicaAssignment
from engine.model import TopicPartition
from engine.replication.partition import Partition
from engine.sim.client import Client, Delivery, Row, rows_of
from engine.sim.message_text import message_text
from engine.sim.transactional_producer import SteppedProducer
from engine.sim.world import World
from engine.table import Table
from engine.wire.apis import Api
from engine.zookeeper import znodes
from engine.zookeeper.requests import Ask, Multi, Set

SETTLED = 100  # ms until new brokers have found each other, and a topic its leaders
SIMULATED_WAIT_S = 200  # of simulated time until `wait` gives up
ACKS = {"0": 0, "1": 1, "-1": -1, "all": -1}

Ids = int | Sequence[int]


class NetworkMessage(NamedTuple):
    ms: int  # since the simulation began
    source: str  # "1", "2", ..., "client" or "zookeeper"
    target: str
    text: str
    routine: bool  # sent all the time, with nothing new in it
    what: Any


class Messages(Table):
    """Who has sent what to whom. `notes` has the messages themselves."""

    def __init__(self, notes: Iterable[NetworkMessage], began: int) -> None:
        self.notes = list(notes)
        super().__init__(
            "ms, who, what",
            ((it.ms - began, f"{it.source} > {it.target}", it.text) for it in self.notes),
        )


class Simulation:
    def __init__(
        self,
        brokers: Ids = 3,
        *,
        seed: int = 0,
        delay: tuple[int, int] = (1, 1),
        rules: Rules = KAFKAS,
        **config: object,
    ) -> None:
        """`config`: of every broker, with _ for each dot: replica_lag_time_max_ms=3000.

        `delay`: the shortest and the longest time that a message takes, in milliseconds.
        `rules`: what decides in the brokers, instead of Kafka's own.
        """
        self.world = World(seed, brokers, delay=delay, config=dotted(config), rules=rules)
        self.sent: list[Delivery] = []
        self._producers: dict[str, Client] = {}
        self._processes = count(1)  # of transactional producers
        self._noted: list[NetworkMessage] = []
        self.world.network.carried.append(self._note)
        self.world.run(SETTLED)

    def _note(self, source: str, target: str, what: Any, arrives: int) -> None:
        found = message_text(what)
        if found:
            text, routine = found
            one, other = (each.removeprefix("broker-") for each in (source, target))
            self._noted.append(NetworkMessage(self.now, one, other, text, routine, what))

    # -- topics and records ----------------------------------------------------------------

    def topic(
        self, name: str, replicas: Sequence[int] | Sequence[Sequence[int]], **config: object
    ) -> None:
        """One partition on these brokers, the first leads; or a list of brokers for each."""
        lists = [[each] if isinstance(each, int) else list(each) for each in replicas]
        if all(isinstance(each, int) for each in replicas):
            lists = [[broker for each in lists for broker in each]]
        self.world.create(name, lists, **dotted(config))
        self.run(ms=SETTLED)

    def add_partitions(self, topic: str, replicas: Sequence[Sequence[int]]) -> None:
        """More partitions for a topic: a list of brokers for each."""
        path = znodes.topic_path(topic)
        node = znodes.Topic.decode(self.world.zookeeper.get(path) or b"")
        partitions = dict(node.partitions)
        for brokers in replicas:
            partitions[len(partitions)] = ReplicaAssignment(tuple(brokers))
        self.world.zookeeper.ask(Set(path, node._replace(partitions=partitions).encode()))

    def delete(self, topic: str) -> None:
        self.world.delete(topic)

    def send(
        self,
        topic: str,
        value: str,
        *,
        acks: int | str = "all",
        partition: int = 0,
        timeout_ms: int = 120_000,
        to: int | None = None,
        producer: str = "",
    ) -> Delivery:
        """Hand a record to the producer. It goes to the leader, or to broker `to`.

        A producer sends one record of a partition at a time: the next one waits for its answer.
        Each name in `producer` is a producer of its own.
        """
        if str(acks) not in ACKS:
            raise invalid_request(f"acks is 0, 1 or 'all', not {acks!r}")
        sent = self._producer(producer).send(
            TopicPartition(topic, partition),
            value,
            acks=ACKS[str(acks)],
            patience=timeout_ms,
            to=to,
        )
        self.sent.append(sent)
        return sent

    def _producer(self, name: str) -> Client:
        if name and name not in self._producers:
            self._producers[name] = self.world.add_client(name)
        return self._producers[name] if name else self.world.client

    def transactional(self, id: str) -> SteppedProducer:
        """A producer with this transactional id, in a process of its own; see its class."""
        name = f"{id}-{next(self._processes)}"
        return SteppedProducer(self.world.add_client(name), id, self.wait)

    def store(self, topic: str, values: Iterable[str], **how: Any) -> list[Delivery]:
        """Send records, and wait until each is answered or given up."""
        sent = [self.send(topic, value, **how) for value in values]
        self.wait(lambda: all(each.done for each in sent))
        return sent

    def read(
        self,
        topic: str,
        *,
        broker: int | None = None,
        partition: int = 0,
        committed: bool = False,
    ) -> list[str]:
        """What a consumer gets: from the leader, or from `broker`, which may be a follower.

        `committed`: with isolation.level=read_committed.
        """
        asked = self.leader(topic, partition) if broker is None else broker
        anywhere = broker is not None
        place = TopicPartition(topic, partition)
        seen = self.world.consume(place, 0, asked, anywhere=anywhere, committed=committed)
        return [row.value for row in seen.rows] if seen else []

    # -- time ------------------------------------------------------------------------------

    @property
    def now(self) -> int:
        """Milliseconds since the simulation began."""
        return self.world.now

    def run(self, seconds: float = 0, *, ms: float = 0) -> None:
        self.world.run(round(seconds * 1000 + ms))

    def wait(self, condition: Callable[[], object], seconds: float = SIMULATED_WAIT_S) -> None:
        """Let time pass until a condition is true."""
        if not self.world.until(lambda: bool(condition()), round(seconds * 1000)):
            raise TimeoutError(f"not within {seconds:g} seconds of simulated time")

    # -- faults ----------------------------------------------------------------------------

    def kill(self, broker: int) -> None:
        """SIGKILL: what was written is on the disk."""
        self.world.kill(broker)

    def power_cut(self, broker: int) -> None:
        """Like kill, and what was not flushed is lost."""
        self.world.power_cut(broker)

    def stop(self, broker: int) -> None:
        """SIGTERM: the broker hands over what it leads, and stops."""
        self.world.stop(broker)

    def start(self, broker: int) -> None:
        """Start a broker that is down."""
        self.world.start(broker)

    def add(self, broker: int) -> None:
        """Start one more broker, with an empty disk."""
        self.world.add(broker)

    def pause(self, broker: int) -> None:
        """SIGSTOP: the broker does nothing, its connections stay open."""
        self.world.pause(broker)

    def resume(self, broker: int) -> None:
        self.world.resume(broker)

    def expire(self, broker: int) -> None:
        """ZooKeeper ends the session of a broker."""
        self.world.zookeeper.expire(broker)

    def slow(self, one: int | str, others: Ids | str, ms: int) -> None:
        """Each message between one end and the others takes so long, in both directions."""
        for other in _ends(others):
            self.world.slow(one, other, ms)

    def cut(self, one: int | str, others: Ids | str, *, both: bool = True) -> None:
        """No message passes; with both=False, none from one end to the others."""
        for other in _ends(others):
            self.world.cut(one, other, both=both)

    def repeat_request(self, api: Api | str, ms: int | None = None) -> None:
        """The next request of this API comes a second time, as if the network had delivered it
        twice: `ms` after it, or when `deliver_repeats` is called. "EndTxn", "WriteTxnMarkers"."""
        self.world.repeats.repeat(api_of(api, Api.WRITE_TXN_MARKERS), ms)

    def deliver_repeats(self) -> Table:
        """The copies of requests come now; returns what each was, and how it was answered."""
        copies = self.world.repeats.deliver()
        self.wait(lambda: all(each.answers for each in copies))
        return Table("request, answered", [(each.api.name, *each.answers) for each in copies])

    def heal(self) -> None:
        """No link is cut or slow any more."""
        self.world.heal()

    # -- what is there ---------------------------------------------------------------------

    def is_up(self, broker: int) -> bool:
        """Whether its process runs, paused or not."""
        return self.world[broker].is_up

    @property
    def controller(self) -> int | None:
        return self.world.controller

    def leader(self, topic: str, partition: int = 0) -> int:
        """By ZooKeeper; -1: there is none."""
        return self.world.leader(TopicPartition(topic, partition))

    def isr(self, topic: str, partition: int = 0) -> tuple[int, ...]:
        """As ZooKeeper has it."""
        return self.world.isr(TopicPartition(topic, partition))

    def epoch(self, topic: str, partition: int = 0) -> int:
        """The leader epoch, as ZooKeeper has it; -1: the partition has none."""
        state = self.world.state(TopicPartition(topic, partition))
        return state.leader_epoch if state else -1

    def log_end(self, broker: int, topic: str, partition: int = 0) -> int:
        """LEO: the offset that the next record gets; -1: the broker has no log."""
        log = self.world[broker].log(TopicPartition(topic, partition))
        return log.end_offset if log else -1

    def known_end(self, broker: int, topic: str, partition: int = 0) -> int | None:
        """LEO of a broker, as the leader knows it; None: nobody leads."""
        leader = self.leader(topic, partition)
        led = self._partition(leader, topic, partition) if leader > 0 else None
        if led is None or broker == leader:
            return led.end if led else None
        return led.followers[broker].end

    def high_watermark(self, broker: int, topic: str, partition: int = 0) -> int | None:
        """HW, as the broker knows it; None: it is down, or it knows none yet."""
        known = self._partition(broker, topic, partition)
        return known.high_watermark if known else None

    def _partition(self, broker: int, topic: str, partition: int) -> Partition | None:
        """What a broker knows of a partition; None: it is down, or has no role in it."""
        up = self.world[broker].broker
        return up.replicas.partitions.get(TopicPartition(topic, partition)) if up else None

    def log(self, broker: int, topic: str, partition: int = 0) -> list[Row]:
        """All records in the log of a broker, committed or not."""
        log = self.world[broker].log(TopicPartition(topic, partition))
        return [row for each in (log.batches if log else ()) for row in rows_of(each.data)]

    def metadata(self, broker: int, topic: str, partition: int = 0) -> PartitionInfo | None:
        """What a broker tells its clients of a partition; None: it knows none, or is down."""
        up = self.world[broker].broker
        known = up.metadata.topics.get(topic) if up else None
        return known.partitions.get(partition) if known else None

    # -- what happens ----------------------------------------------------------------------

    def watch(
        self, topic: str, seconds: float, partition: int = 0, *, known: bool = False
    ) -> Table:
        """Let time pass; a row for each change of a LEO or a HW, `ms` from now on.

        `known`: also the LEO of each replica as the leader knows it.
        """
        replicas = self.world.replicas(TopicPartition(topic, partition))
        began, end = self.now, self.now + round(seconds * 1000)
        rows: list[tuple[Any, ...]] = []
        while True:
            row = tuple(self._marks(topic, partition, replicas))
            if known:
                row += tuple(self.known_end(each, topic, partition) for each in replicas)
            if not rows or rows[-1][1:] != row:
                rows.append((self.now - began, *row))
            if self.now >= end:
                break
            self.run(ms=1)
        names = [f"{mark} {each}" for each in replicas for mark in ("LEO", "HW")]
        names += [f"known {each}" for each in replicas] if known else []
        return Table(["ms", *names], rows)

    def _marks(self, topic: str, partition: int, replicas: Sequence[int]) -> Iterator[int | None]:
        for broker in replicas:
            yield self.log_end(broker, topic, partition)
            yield self.high_watermark(broker, topic, partition)

    def messages(self, *about: str, since: int = 0, routine: bool = False) -> Messages:
        """Who has sent what to whom, since a moment (`now`); `about`: only with one of these words.

        Routine is what is sent all the time with nothing new in it, like a Fetch without a record.
        """
        found = [
            each
            for each in self._noted
            if each.ms >= since
            and (routine or not each.routine)
            and (not about or any(word in each.text for word in about))
        ]
        return Messages(found, since)

    def zookeeper_requests(self, since: int = 0, broker: int | None = None) -> Table:
        """What brokers, or one of them, ask of ZooKeeper: a row for each read and each write."""
        rows = [
            (it.ms - since, int(it.source), type(ask).__name__, ask.path, _watches(ask))
            for it in self._noted
            if it.target == "zookeeper"
            and it.ms >= since
            and (broker is None or it.source == str(broker))
            for asked in getattr(it.what, "asks", ())
            for ask in (asked.writes if isinstance(asked, Multi) else [asked])
        ]
        return Table("ms, broker, request, path, watch", rows)

    def events(self, kind: str, since: int = 0) -> Table:
        """What the brokers report of themselves, like isr.changed: a row for each."""
        found = [it for it in self.world.events if it.event.kind == kind and it.at >= since]
        names = list(dict.fromkeys(name for each in found for name in each.event.data))
        rows = [
            (it.at - since, it.broker, *(it.event.data.get(name) for name in names)) for it in found
        ]
        return Table(["ms", "broker", *names], rows)


def _watches(ask: Ask) -> bool:
    return bool(getattr(ask, "watch", False))


def _ends(others: Ids | str) -> Sequence[int | str]:
    return [others] if isinstance(others, (int, str)) else others
