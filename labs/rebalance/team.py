"""A team: the consumers of one group. Each is an `engine.Consumer`, in a thread or in a process.

    team = Team(cluster, topic)
    team.add("a", "b")           threads of this kernel, each polls and notes what it reads
    team.start("c", program)     a process of its own, to be killed or frozen
    team.settle()                {"a": [0, 1], "b": [2], "c": [3]}   every partition has an owner
    team.leave("a")              closes the consumer: LeaveGroup
    team.generations()           what each rebalance agreed on, as the coordinator reported it

A `with` statement ends all of them; what they have read can still be asked for. Settings are
Kafka's keys with _ for each dot.
"""

import re
import threading
import time
from collections.abc import Callable, Mapping
from math import inf
from typing import Any, NamedTuple, Self

from lab import dotted, state_now, until

from engine import Cluster, Consumer
from engine.cluster.state import GroupState
from engine.wire.apis import Api
from rebalance.processes import ProgramProcess
from rebalance.stand import fresh, last_event
from rebalance.traced import Traced
from widgets.group.history import IDENTITY, name_of, place_of
from widgets.log.fields import count

SETTINGS = {
    "auto.offset.reset": "earliest",
    "session.timeout.ms": "20000",  # a busy machine is not a dead one
    "heartbeat.interval.ms": "100",  # after this time a member learns of a rebalance
    "metadata.max.age.ms": "500",  # after this time it sees new partitions
    "enable.auto.commit": "false",
}
POLL = 0.05
FEW, MANY = 10, 500  # records that are taken at a time
PATIENCE = 10.0  # seconds for a rebalance to begin

Shares = dict[str, list[int]]


class RecordRead(NamedTuple):
    """A record has arrived."""

    at: float
    partition: int
    offset: int


class Generation(NamedTuple):
    """What the members of a group have agreed on."""

    number: int
    protocol: str
    leader: str
    owners: dict[str, list[str]]  # by partition: "orders-0" ...


class TeamReader(threading.Thread):
    """A consumer that polls in a thread of this kernel."""

    def __init__(self, name: str, consumer: Consumer, topics: list[str], work: float) -> None:
        super().__init__(name=name, daemon=True)
        self.consumer = consumer
        self.topics = topics
        self.read: list[RecordRead] = []
        self.done = 0.0  # when it had worked off what it read last
        self.given_up: list[tuple[float, int]] = []  # when, and how many partitions
        self.hangs = threading.Event()
        self.goes = threading.Event()
        self.holds = threading.Event()  # while that is set it gives nothing up
        self._work = work

    def run(self) -> None:
        subscribed: list[str] = []
        while not self.goes.is_set():
            if self.hangs.is_set():
                self.goes.wait(POLL)
                continue
            if self.topics is not subscribed:
                subscribed = self.topics
                self.consumer.subscribe(subscribed, on_revoke=self._give_up)
            found = self.consumer.consume(FEW if self._work else MANY, POLL)
            messages = [it for it in found if it.error() is None]
            now = time.monotonic()
            self.read += [RecordRead(now, it.partition() or 0, it.offset() or 0) for it in messages]
            if messages:
                self.goes.wait(self._work * len(messages))
                self.done = time.monotonic()
        self.consumer.close()

    def _give_up(self, consumer: Consumer, partitions: list[Any]) -> None:
        self.given_up.append((time.monotonic(), len(partitions)))
        while self.holds.is_set() and not self.goes.is_set():
            self.goes.wait(POLL)


class Team:
    def __init__(self, cluster: Cluster, *topics: str, group: str = "", **settings: object) -> None:
        self.cluster = cluster
        self.topics = list(topics)  # one that begins with ^ is a pattern
        self.group = group or fresh("group")
        self.readers: dict[str, TeamReader] = {}
        self.processes: dict[str, ProgramProcess] = {}
        self._settings = SETTINGS | dotted(settings)
        self._after = last_event(cluster)
        self._replaced: set[str] = set()  # members whose names somebody else has been given

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes.values():
            process.close()
        for reader in self.readers.values():
            reader.goes.set()
        for reader in self.readers.values():
            reader.join()

    # -- who comes and goes ----------------------------------------------------------------

    def add(self, *names: str, work: float = 0, static: bool = False, **settings: Any) -> None:
        """`work`: seconds that a record takes."""
        for name in names:
            config = self._config(name, settings)
            if static:
                config["group.instance.id"] = name
            consumer = self.cluster.consumer(config)
            self.readers[name] = TeamReader(name, consumer, self.topics, work)
            self.readers[name].start()

    def hold(self, name: str) -> None:
        """From now on this reader gives nothing up, until `let_go`."""
        self.readers[name].holds.set()

    def let_go(self) -> Shares:
        """Nobody holds on any more; the shares, once every partition is read again."""
        for reader in self.readers.values():
            reader.holds.clear()
        shares, now = self.settle(), time.monotonic()
        self.await_all_read_since(now, partitions=sum(map(len, shares.values())))
        return shares

    def start(self, name: str, program: str, **settings: Any) -> ProgramProcess:
        """A process that runs a program with a `consumer`; see processes.py."""
        config = {"bootstrap.servers": self.cluster.bootstrap} | self._config(name, settings)
        self.processes[name] = ProgramProcess(config, self.topics, program)
        return self.processes[name]

    def _config(self, name: str, settings: dict[str, Any]) -> dict[str, str]:
        group = self.state
        self._replaced |= {it for it in (group.members if group else ()) if name_of(it) == name}
        return self._settings | dotted(settings) | {"group.id": self.group, "client.id": name}

    def leave(self, name: str) -> TeamReader:
        reader = self.readers.pop(name)
        reader.goes.set()
        reader.join()
        return reader

    def kill(self, name: str) -> None:
        self.processes.pop(name).close()

    def freeze(self, name: str) -> None:
        self.processes[name].child.pause()

    def thaw(self, name: str) -> None:
        self.processes[name].child.resume()

    def subscribe(self, name: str, *topics: str) -> None:
        """Another subscription for one of the readers."""
        self.topics = sorted({*self.topics, *topics})
        self.readers[name].topics = list(topics)

    # -- what the group says ---------------------------------------------------------------

    @property
    def state(self) -> GroupState | None:
        return self.cluster.state().groups.get(self.group)

    @property
    def offsets(self) -> Mapping[str, int]:
        """What the group has committed up to now, by partition."""
        return state_now(self.cluster).groups[self.group].offsets

    def is_led_by_another(self, broker: int) -> bool:
        """Whether another broker coordinates the group by now, and the group is stable."""
        state = self.state
        return state is not None and state.coordinator != broker and state.state == "Stable"

    def settle(self, *names: str) -> Shares:
        """Wait until the group is these members, or all, and every partition has one owner."""
        wanted = set(names) or {*self.readers, *self.processes}
        return until(
            f"{self.group} to be shared by {sorted(wanted)}", lambda: self._settled(wanted)
        )

    def _settled(self, names: set[str]) -> Shares:
        state = self.cluster.state()
        group = state.groups.get(self.group)
        if group is None or group.state != "Stable" or self._replaced & group.members.keys():
            return {}
        shares = {name_of(member): list(it.share or ()) for member, it in group.members.items()}
        owned = sorted(each for share in shares.values() for each in share)
        wanted = sorted(str(it) for it in state.partitions if self._reads(it.topic))
        waits = any(it.waits or it.share is None for it in group.members.values())
        if shares.keys() != names or owned != wanted or waits:
            return {}
        return {name: sorted(place_of(it)[1] for it in shares[name]) for name in sorted(shares)}

    def _reads(self, topic: str) -> bool:
        return any(re.match(it, topic) if it.startswith("^") else it == topic for it in self.topics)

    def identity(self, name: str) -> tuple[str, int]:
        """A member's id, and the generation that it knows."""
        group = until("the group", lambda: self.state)
        assert group is not None, "until returns what it has found"
        return next(it for it in group.members if name_of(it) == name), group.generation

    def generations(self) -> list[Generation]:
        found = []
        for each in self._told("assignment"):
            owners: dict[str, list[str]] = {}
            for member, share in each["shares"].items():
                for partition in share or ():
                    owners.setdefault(partition, []).append(name_of(member))
            leader = name_of(each["leader"])
            found.append(Generation(each["generation"], each["protocol"], leader, owners))
        return found

    def moves(self, first: int) -> int:
        """Partitions that changed hands since that generation, the last of `first`.

        One that nobody has for a generation (cooperative) is still on its way.
        """
        owners = [{it: who[0] for it, who in each.owners.items()} for each in self.generations()][
            first - 1 :
        ]
        last, count = dict(owners[0]), 0
        for now in owners[1:]:
            count += sum(last[it] != who for it, who in now.items())
            last |= now
        return count

    def _told(self, kind: str) -> list[Mapping[str, Any]]:
        return [
            each.data | {"at": each.at}
            for each in self.cluster.events(self._after)
            if each.kind == f"group.{kind}" and each.data["group"] == self.group
        ]

    def states(self) -> list[str]:
        """The states that the group has come to, in order."""
        return [it["now"] for it in self._told("state")]

    def reasons(self) -> list[str]:
        """Why each rebalance began, as the coordinator reported it."""
        told = (it for it in self._told("state") if it["now"] == "PreparingRebalance")
        return [IDENTITY.sub("", it["reason"]) for it in told]

    def rebalance(self, deed: Callable[[], object]) -> str:
        """Do something: why a rebalance began then; "" if none does for ten seconds."""
        before = len(self.reasons())
        deed()
        deadline = time.monotonic() + PATIENCE
        while len(self.reasons()) == before:
            if time.monotonic() > deadline:
                return ""
            time.sleep(POLL)
        self.settle()
        return self.reasons()[before]

    def notes(self, name: str) -> list[str]:
        """What the coordinator has noted of a member: "joined", "left", "expired" ..."""
        told = self._told("member")
        return [it["what"] for it in told if name_of(it["member"]) == name]

    def missed(self, name: str, deed: Callable[[], object]) -> tuple[float, str]:
        """Do something: seconds until the coordinator noted anything of a member, and what."""
        before, began = len(self.notes(name)), time.time()
        deed()
        until(f"{name} to be missed", lambda: len(self.notes(name)) > before)
        told = [it for it in self._told("member") if name_of(it["member"]) == name][before]
        return told["at"] / 1000 - began, told["what"]

    def await_heartbeat(self, name: str) -> None:
        with Traced(self.cluster, frames=False) as traced:
            traced.wait(f"a heartbeat of {name}", lambda it: it.of(Api.HEARTBEAT, client=name))

    # -- what it reads ---------------------------------------------------------------------

    @property
    def read(self) -> set[tuple[int, int]]:
        """Each record once, by partition and offset."""
        return {place for name in list(self.readers) for place in self.read_by(name)}

    def read_by(self, name: str) -> set[tuple[int, int]]:
        return places(self.readers[name])

    def await_read(self, number: int) -> None:
        """So many records, by all readers together."""
        until(f"{count(number, 'record')} to be read", lambda: len(self.read) >= number)

    def work_off(self, count: int) -> float:
        """Seconds from the first record to the last, when all are worked off."""
        self.await_read(count)
        readers = [it for it in self.readers.values() if it.read]
        until("all to be worked off", lambda: all(it.done > it.read[-1].at for it in readers))
        return max(it.done for it in readers) - min(it.read[0].at for it in readers)

    def first_offset(self, name: str) -> int:
        """Of the first record that a reader is given."""
        reader = self.readers[name]
        until(f"a record for {name}", lambda: reader.read)
        return reader.read[0].offset

    def given_up(self, name: str = "", since: float = 0, to: float = inf) -> int:
        """How many partitions a reader, or all of them, have given up in that time."""
        readers = [self.readers[name]] if name else self.readers.values()
        return sum(count for it in readers for at, count in it.given_up if since <= at <= to)

    def times(self) -> dict[int, list[float]]:
        """By partition: when records of it were read."""
        found: dict[int, set[float]] = {}
        for reader in self.readers.values():
            for it in list(reader.read):
                found.setdefault(it.partition, set()).add(it.at)
        return {number: sorted(found[number]) for number in sorted(found)}

    def await_all_read_since(self, moment: float, partitions: int) -> None:
        """Something of each partition, after that moment."""

        def seen() -> bool:
            times = self.times()
            return len(times) == partitions and all(it[-1] > moment for it in times.values())

        until(f"{self.group} to read every partition", seen)

    def newer(self, offsets: Mapping[int, int], name: str = "") -> set[tuple[int, int]]:
        """The records from these offsets on, by partition, that a reader has read, or all have."""
        read = self.read_by(name) if name else self.read
        return {(number, it) for number, it in read if it >= offsets[number]}

    def commit(self) -> None:
        """Each reader the positions that it has come to."""
        for reader in self.readers.values():
            positions = reader.consumer.position(reader.consumer.assignment())
            if known := [it for it in positions if it.offset >= 0]:
                reader.consumer.commit(offsets=known, asynchronous=False)


def places(reader: TeamReader) -> set[tuple[int, int]]:
    """The records that it read, by partition and offset."""
    return {(it.partition, it.offset) for it in list(reader.read)}
