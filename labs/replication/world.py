"""A simulated cluster for a lab: every message noted, every step of a partition in a row.

    sim = Sim(brokers=3)
    sim.topic("orders", [1, 2, 3])
    sim.send("a")                      a Delivery; time goes on only when it is told to
    sim.until(lambda: ...), sim.run(1000)
    sim.messages()                     who said what to whom, and when
    sim.watch(2000)                    LEO and HW of every replica, a row for each change

It is `engine.sim.World`: the brokers' own code under a virtual clock and network. A message takes
one millisecond, and the same steps give the same run, on every machine and every time.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from table import Table

from engine.model import TopicPartition
from engine.sim import diagram
from engine.sim.client import Delivery, Row, rows_of
from engine.sim.world import World

ORDERS = TopicPartition("orders", 0)
START = 100  # ms until the brokers have found each other


class Message(NamedTuple):
    at: int  # ms since the world began
    source: str  # "1", "2", ..., "client" or "zookeeper"
    target: str
    text: str
    routine: bool  # it comes all the time and brings nothing
    what: Any

    def says(self, word: str) -> bool:
        return self.text.startswith(word)


class Sim:
    def __init__(self, brokers: int | Sequence[int] = 3, seed: int = 0, **config: str) -> None:
        named = {name.replace("_", "."): value for name, value in config.items()}
        self.world = World(seed, brokers, config=named)
        self.sent: list[Delivery] = []
        self._carried: list[Message] = []
        self.world.network.carried.append(self._note)
        self.world.run(START)

    def _note(self, source: str, target: str, what: Any, arrives: int) -> None:
        told = diagram.words(what)
        if told:
            text, routine = told
            one, other = (each.removeprefix("broker-") for each in (source, target))
            self._carried.append(Message(self.world.now, one, other, text, routine, what))

    # -- what is done ----------------------------------------------------------------------

    def topic(self, name: str, *replicas: Sequence[int], **config: str) -> None:
        """One partition for each list of replicas."""
        self.world.create(name, replicas, **config)
        self.run(START)

    def send(self, value: str, acks: int = -1, patience: int = 120_000, **to: Any) -> Delivery:
        self.sent.append(self.world.client.send(ORDERS, value, acks=acks, patience=patience, **to))
        return self.sent[-1]

    @property
    def acknowledged(self) -> list[str]:
        return [it.value for it in self.sent if it.done and not it.code]

    def store(self, values: Iterable[str], acks: int = -1) -> list[Delivery]:
        """Records, and all of them answered."""
        sent = [self.send(each, acks) for each in values]
        self.settle(sent)
        return sent

    def settle(self, sent: Sequence[Delivery]) -> None:
        """Until it is known what became of each."""
        self.until(lambda: all(it.done for it in sent))

    def shrink(self, size: int) -> None:
        """Until the ISR has so many members."""
        self.until(lambda: len(self.isr) == size)

    def run(self, milliseconds: int) -> None:
        self.world.run(milliseconds)

    def until(self, condition: Callable[[], bool], limit: int = 200_000) -> None:
        assert self.world.until(condition, limit), f"not within {limit / 1000:.0f} s"

    # -- what is seen ----------------------------------------------------------------------

    @property
    def now(self) -> int:
        return self.world.now

    def messages(self, since: int = 0, *, routine: bool = False) -> list[Message]:
        return [
            each for each in self._carried if each.at >= since and (routine or not each.routine)
        ]

    def told(self, kind: str, since: int = 0) -> list[Any]:
        """What brokers told of themselves, as (at, broker, facts)."""
        events = self.world.events
        return [
            (at, broker, each.data)
            for at, broker, each in events
            if each.kind == kind and at >= since
        ]

    def end(self, broker: int) -> int:
        """Where a broker's log ends; -1: it has none."""
        log = self.world[broker].log(ORDERS)
        return log.end_offset if log else -1

    def mark(self, broker: int) -> int | None:
        """A broker's high watermark; None: it is down."""
        life = self.world[broker].life
        role = life.replicas.partitions.get(ORDERS) if life else None
        return role.high_watermark if role else None

    def records(self, broker: int) -> list[Row]:
        """All that a broker has in its log, committed or not."""
        log = self.world[broker].log(ORDERS)
        return [row for each in (log.batches if log else ()) for row in rows_of(each.data)]

    def values(self, broker: int) -> list[str]:
        return [row.value for row in self.records(broker)]

    def seen(self, broker: int, offset: int = 0, **how: Any) -> list[str]:
        """What a consumer gets from one broker."""
        seen = self.world.consume(ORDERS, offset, broker, **how)
        return [row.value for row in seen.rows] if seen else []

    @property
    def leader(self) -> int:
        return self.world.leader(ORDERS)

    @property
    def isr(self) -> tuple[int, ...]:
        return self.world.isr(ORDERS)

    def marks(self) -> tuple[Any, ...]:
        """LEO and HW of each replica, in the order of the assignment."""
        replicas = self.world.replicas(ORDERS)
        return tuple(it for each in replicas for it in (self.end(each), self.mark(each)))

    def watch(self, milliseconds: int) -> Table:
        """Every change of a LEO or a HW, until the time is over."""
        began, rows = self.now, list[tuple[Any, ...]]()
        while self.now < began + milliseconds:
            row = self.marks()
            if not rows or rows[-1][1:] != row:
                rows.append((self.now - began, *row))
            self.run(1)
        names = ", ".join(f"LEO {each}, HW {each}" for each in self.world.replicas(ORDERS))
        return Table(f"ms, {names}", rows)


def talk(messages: Iterable[Message], began: int = 0) -> Table:
    """Who said what to whom."""
    rows = [(each.at - began, f"{each.source} > {each.target}", each.text) for each in messages]
    return Table("ms, who, what", rows)
