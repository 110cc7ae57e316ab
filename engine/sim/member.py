"""A member of a group in the simulated cluster: the real cores, and an application that reads.

    application   poll: carries out orders, reads what is owned, commits how far it has come
                    │
    cores         View, Membership, Committing, Coordinating ──> questions ──> brokers

Whatever it commits is signed: in the metadata of the offset stand its generation, its id, and a
number. So whoever reads the log of __consumer_offsets knows whose word a record was, and when.

Left out: lanes. Each question goes by a connection of its own, and waits for no other.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import ceil
from typing import Any, NamedTuple

from engine.client.asking import ANY, Ask, Core
from engine.client.consuming.committing import Committing
from engine.client.consuming.coordinating import Coordinating
from engine.client.consuming.membership import Membership
from engine.client.consuming.orders import Assign, Order, Revoke
from engine.client.view import View
from engine.config.consumer import ConsumerConfig
from engine.errors import ErrorCode, KafkaError
from engine.model import Event, TopicPartition
from engine.sim.client import Client
from engine.sim.clock import Timer
from engine.sim.workload import Reader
from engine.wire.apis import Api

GROUP = "readers"
SETTINGS = {  # all in ms
    "session_timeout_ms": 3000,
    "heartbeat_interval_ms": 1000,
    "max_poll_interval_ms": 8000,  # so long others wait for a member that hangs
    "request_timeout_ms": 3000,
    "default_api_timeout_ms": 4000,
    "metadata_max_age_ms": 5000,
}


class Taken(NamedTuple):
    """What a member was told to be its own."""

    generation: int
    partitions: frozenset[TopicPartition]


class Member:
    def __init__(
        self, client: Client, topic: str, strategy: str, emit: Callable[[Event], None]
    ) -> None:
        self.process = client.process
        self.is_polling = True  # or its application hangs
        self.readers: dict[TopicPartition, Reader] = {}  # of what it owns
        self.taken: list[Taken] = []
        self.acknowledged: list[str] = []  # the signatures of commits that were answered well
        config = ConsumerConfig(
            group_id=GROUP,
            bootstrap_servers=("sim:1",),
            partition_assignment_strategy=(strategy,),
            **SETTINGS,  # type: ignore[arg-type]  # names of numbers only
        )
        self._client = client
        self._timeout = config.request_timeout_ms
        self._coordinating = Coordinating(config)
        self.membership = Membership(config, self._coordinating, emit)
        self._committing = Committing(config, self._coordinating, self.membership)
        self._view = View(config)
        self._cores: list[Core] = [
            *(self._view, self.membership),
            *(self._committing, self._coordinating),
        ]
        self._busy = False  # an order is being carried out
        self._sought: set[TopicPartition] = set()  # where to begin there is being asked
        self._asking = False
        self._committed: dict[TopicPartition, int] = {}  # as far as we have said so
        self._turn = self._signatures = 0
        self._alarm: Timer | None = None
        self.membership.subscribe((topic,), None, self._now)
        self._act()

    @property
    def _now(self) -> float:
        return self.process.clock.now / 1000

    # -- the application -------------------------------------------------------------------

    def poll(self) -> None:
        if not self.is_polling:
            return
        self.membership.polled(self._now)
        self.membership.take_error()  # whatever it was, the next poll tries again
        while self.membership.orders and not self._busy:
            self._carry_out(self.membership.orders.popleft())
        self._seek()
        for reader in self.readers.values():
            reader.poll()
        self._act()

    def commit(self, *, again: bool = False) -> None:
        """How far we have come, if that is further than we have said; or once more."""
        offsets = {each: reader.position for each, reader in self.readers.items()}
        new = {each: at for each, at in offsets.items() if at != self._committed.get(each)}
        self._commit(offsets if again else new)
        self._act()

    def leave(self) -> None:
        self.membership.close(self._now)
        self._act()

    def _carry_out(self, order: Order) -> None:
        if isinstance(order, Assign):
            self.membership.done(order, self._now)
            generation, owned = self.membership.identity.generation, self.membership.owned
            self.taken.append(Taken(generation, owned))
            return
        given_up = {each: self.readers.pop(each, None) for each in order.partitions}
        self._sought -= given_up.keys()
        offsets = {each: reader.position for each, reader in given_up.items() if reader}
        if isinstance(order, Revoke) and offsets:
            self._busy = True
            self._commit(offsets, partial(self._given_up, order))
        else:
            self.membership.done(order, self._now)

    def _given_up(self, order: Order) -> None:
        """It has been committed, or could not be."""
        self._busy = False
        self.membership.done(order, self._now)

    def _commit(
        self, offsets: dict[TopicPartition, int], then: Callable[[], None] = lambda: None
    ) -> None:
        def told(codes: dict[TopicPartition, ErrorCode] | KafkaError) -> None:
            if not isinstance(codes, KafkaError):
                good = [each for each, code in codes.items() if code == ErrorCode.none]
                self._committed |= {each: offsets[each] for each in good}
            then()

        if offsets:
            rows = {each: (offset, -1, "") for each, offset in offsets.items()}
            self._committing.commit(rows, told, self._now)  # type: ignore[arg-type]

    def _seek(self) -> None:
        """Where did the one before us stop?"""
        missing = self.membership.owned - self.readers.keys()
        if missing and not (self._asking or self._busy):
            self._asking, self._sought = True, set(missing)
            self._committing.fetch(missing, self._found, self._now)

    def _found(self, found: Any) -> None:
        self._asking = False
        for each in sorted(self._sought & self.membership.owned):
            row = found if isinstance(found, KafkaError) else found[each]
            if not isinstance(row, KafkaError):
                self.readers[each] = Reader(self._client, each, max(row.offset, 0))
                self._committed[each] = row.offset

    # -- the cores -------------------------------------------------------------------------

    def _act(self) -> None:
        for core in self._cores:
            for ask in core.step(self._now, self._view):
                self._send(core, ask)
        dues = [due for core in self._cores if (due := core.due()) is not None]
        if self._alarm is not None:
            self._alarm.cancel()
        if dues:
            left = max(1, ceil((min(dues) - self._now) * 1000))
            self._alarm = self.process.after(left, self._act)

    def _send(self, core: Core, ask: Ask) -> None:
        if ask.api is Api.OFFSET_COMMIT:
            ask = ask._replace(request=self._signed(ask.request))
        broker = self._anybody() if ask.to == ANY else ask.to
        timeout = round(ask.timeout * 1000) if ask.timeout else self._timeout
        self._client.ask(broker, ask.request, partial(self._heard, core, ask), timeout)

    def _anybody(self) -> int:
        """Those that would answer, in turn; and if there are none, one that won't."""
        self._turn += 1
        brokers = self._client.brokers() or [1]
        return brokers[self._turn % len(brokers)]

    def _signed(self, request: Any) -> Any:
        """No signature is a part of another one."""
        self._signatures += 1
        who = f"{request.generation_id_or_member_epoch} {request.member_id} {self._signatures:05}"
        topics = tuple(
            replace(
                topic,
                partitions=tuple(replace(row, committed_metadata=who) for row in topic.partitions),
            )
            for topic in request.topics
        )
        return replace(request, topics=topics)

    def _heard(self, core: Core, ask: Ask, response: Any) -> None:
        if response is None:
            error = KafkaError(ErrorCode.network_exception, "the connection broke")
            core.failed(ask, error, self._now)
        else:
            if ask.api is Api.OFFSET_COMMIT and _is_well(response):
                self.acknowledged.append(ask.request.topics[0].partitions[0].committed_metadata)
            core.answered(ask, response, self._now)
        self._act()


def _is_well(response: Any) -> bool:
    rows = [row for topic in response.topics for row in topic.partitions]
    return all(row.error_code == ErrorCode.none for row in rows)
