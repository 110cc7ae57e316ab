"""A team: the consumers of one group, each in a thread of this kernel.

    team = Team(cluster, topic)
    team.add("a"); team.add("b")
    team.settle()                {"a": [0, 1], "b": [2, 3]}      every partition has an owner
    team.leave("a")              it says good-bye, and is gone
    team.generations()           what the coordinator has told of each rebalance

A reader notes what it reads and what it has to give up. It can be told to hang: then it polls no
more, while its heartbeats go on. To be killed or frozen a consumer needs a process of its own; that
is what widgets/group/crew.py is for.
"""

import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, Self

from lab import until

from engine import Cluster, Consumer
from engine.cluster.state import GroupState
from rebalance.stand import fill, fresh, last_event, topic
from widgets.group.history import IDENTITY, name_of, place_of

SETTINGS = {
    "auto.offset.reset": "earliest",
    "session.timeout.ms": "20000",  # a busy machine is no dead one
    "heartbeat.interval.ms": "100",  # so soon a member hears of a rebalance
    "metadata.max.age.ms": "500",  # so soon it sees new partitions
    "enable.auto.commit": "false",
}
POLL = 0.05
FEW, MANY = 10, 500  # records that are taken at a time


class Read(NamedTuple):
    """A record has arrived."""

    at: float
    partition: int
    offset: int


class Generation(NamedTuple):
    """What the members of a group have agreed on."""

    number: int
    protocol: str
    leader: str
    shares: dict[str, list[str]]  # by member: "orders-0" ...

    @property
    def owners(self) -> dict[str, list[str]]:
        """By partition."""
        found: dict[str, list[str]] = {}
        for member, share in self.shares.items():
            for partition in share:
                found.setdefault(partition, []).append(member)
        return found


class Reader(threading.Thread):
    def __init__(
        self, name: str, consumer: Consumer, topics: list[str], work: float, slow: float
    ) -> None:
        super().__init__(name=name, daemon=True)
        self.consumer = consumer
        self.read: list[Read] = []
        self.done = 0.0  # when it had worked off what it read last
        self.given_up: list[int] = []  # how many partitions, each time
        self.work = work  # seconds that a record takes
        self.slow = slow  # seconds that it takes to give something up
        self.hangs = threading.Event()
        self._topics = topics
        self._going = threading.Event()

    def run(self) -> None:
        self.consumer.subscribe(self._topics, on_revoke=self._give_up)
        subscribed = self._topics
        while not self._going.is_set():
            if self.hangs.is_set():
                self._going.wait(POLL)
                continue
            if self._topics is not subscribed:
                subscribed = self._topics
                self.consumer.subscribe(subscribed, on_revoke=self._give_up)
            found = self.consumer.consume(FEW if self.work else MANY, POLL)
            messages = [it for it in found if it.error() is None]
            now = time.monotonic()
            self.read += [Read(now, it.partition() or 0, it.offset() or 0) for it in messages]
            if self.work and messages:
                self._going.wait(self.work * len(messages))
                self.done = time.monotonic()
        self.consumer.close()

    def subscribe(self, topics: list[str]) -> None:
        self._topics = topics

    def goes(self) -> None:
        """Soon."""
        self._going.set()

    def leave(self) -> None:
        self.goes()
        self.join()

    def _give_up(self, consumer: Consumer, partitions: list[Any]) -> None:
        self.given_up.append(len(partitions))
        if self.slow:
            self._going.wait(self.slow)


class Team:
    def __init__(
        self, cluster: Cluster, topics: str | Iterable[str], group: str = "", **settings: str
    ) -> None:
        self.cluster = cluster
        self.topics = [topics] if isinstance(topics, str) else list(topics)
        self.group = group or fresh("group")
        self.readers: dict[str, Reader] = {}
        self._settings = {**SETTINGS, **keys(settings)}
        self._after = last_event(cluster)
        self._replaced: set[str] = set()  # members whose names somebody else has been given

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for reader in self.readers.values():
            reader.goes()
        for name in list(self.readers):
            self.leave(name)

    def add(self, *names: str, work: float = 0, slow: float = 0, **settings: str) -> None:
        """Consumers with these names. A static member that left is still there until one comes."""
        group = self.state
        members = group.members if group else {}
        self._replaced |= {it for it in members if name_of(it) in names}
        for name in names:
            given = {**self._settings, **keys(settings), "group.id": self.group, "client.id": name}
            consumer = self.cluster.consumer(given)
            self.readers[name] = Reader(name, consumer, self.topics, work, slow)
            self.readers[name].start()

    def leave(self, name: str) -> Reader:
        reader = self.readers.pop(name)
        reader.leave()
        return reader

    # -- what the group says ---------------------------------------------------------------

    @property
    def state(self) -> GroupState | None:
        return self.cluster.state().groups.get(self.group)

    def settle(self, *others: str) -> dict[str, list[int]]:
        """Wait until the group is these readers, and every partition has one owner."""
        names = {*self.readers, *others}
        return until(f"{self.group} to be shared by {sorted(names)}", lambda: self._settled(names))

    def _settled(self, names: set[str]) -> dict[str, list[int]]:
        state = self.cluster.state()
        group = state.groups.get(self.group)
        if group is None or group.state != "Stable" or self._replaced & group.members.keys():
            return {}
        shares = {name_of(member): list(it.share or ()) for member, it in group.members.items()}
        owned = sorted(each for share in shares.values() for each in share)
        wanted = sorted(str(it) for it in state.partitions if it.topic in self.topics)
        waits = any(it.waits or it.share is None for it in group.members.values())
        if shares.keys() != names or owned != wanted or waits:
            return {}
        return {name: sorted(place_of(it)[1] for it in shares[name]) for name in sorted(shares)}

    def generations(self) -> list[Generation]:
        """All of them, of this group."""
        return [
            Generation(
                each.data["generation"],
                each.data["protocol"],
                name_of(each.data["leader"]),
                {name_of(it): share or [] for it, share in each.data["shares"].items()},
            )
            for each in self.cluster.events(self._after)
            if each.kind == "group.assignment" and each.data["group"] == self.group
        ]

    def told(self, kind: str) -> list[Mapping[str, Any]]:
        """What happened in this group: "state" or "member", in order."""
        return [
            each.data | {"at": each.at, "broker": each.broker}
            for each in self.cluster.events(self._after)
            if each.kind == f"group.{kind}" and each.data["group"] == self.group
        ]

    def reasons(self) -> list[str]:
        """Why each rebalance began."""
        told = (it for it in self.told("state") if it["now"] == "PreparingRebalance")
        return [IDENTITY.sub("", it["reason"]) for it in told]

    # -- what it reads ---------------------------------------------------------------------

    @property
    def read(self) -> set[tuple[int, int]]:
        """Each record once, by partition and offset."""
        return {(it.partition, it.offset) for each in self.readers.values() for it in each.read}

    def await_read(self, count: int) -> None:
        """So many records, by all together."""
        until(f"{count} records to be read", lambda: len(self.read) >= count)

    def commit(self) -> None:
        for reader in self.readers.values():
            reader.consumer.commit(asynchronous=False)


def keys(settings: Mapping[str, str]) -> dict[str, str]:
    """session_timeout_ms is session.timeout.ms."""
    return {name.replace("_", "."): value for name, value in settings.items()}


def moved(before: Mapping[str, list[int]], after: Mapping[str, list[int]]) -> list[int]:
    """The partitions that have another owner."""
    was = {each: name for name, share in before.items() for each in share}
    return sorted(it for name, share in after.items() for it in share if was.get(it, name) != name)


@contextmanager
def at_work(cluster: Cluster, each: int) -> Iterator[Team]:
    """Two consumers, a and b, of a new topic: both partitions have so many records, all read."""
    orders = topic(cluster, 2)
    with Team(cluster, orders) as team:
        team.add("a", "b")
        team.settle()
        fill(cluster, orders, 2, each)
        team.await_read(2 * each)
        yield team
