"""Becoming the controller, and ceasing to be it. Every broker has one of these.

    ┌─────────── /controller is gone, and ours was the first ───────────┐
    │          Multi(Create /controller, Set /controller_epoch)         v
    WAITING, watching /controller                                   IN OFFICE
    ^                                                                   │
    └─ session over; a write refused; /controller is not ours any more ─┘

Whoever creates /controller also raises /controller_epoch, in one transaction: so no two have the
same epoch, and every write of an earlier one is refused from that moment on (term.py).

    work = controller.handle(event)      a generator of questions to ZooKeeper (asks.py)
    controller.outbox                    requests to brokers, to be taken after each step of it

Invariant: at most one event is being handled. Nothing of a term is left when it is over.
"""

from collections.abc import Callable, Mapping
from typing import Any

from engine.config import BrokerConfig
from engine.controller import znodes
from engine.controller.asks import Changed, Create, Exists, Get, Multi, Refused, Set, Work
from engine.controller.context import LiveBroker
from engine.controller.election import NOBODY
from engine.controller.events import Began, Event
from engine.controller.office import Office
from engine.controller.requests import Request
from engine.controller.term import Superseded, Term
from engine.errors import ErrorCode, KafkaError
from engine.model import Event as Happening

__all__ = ["Controller", "Request"]

FIRST = 0  # before there was a controller; the first one's epoch is 1


class Controller:
    def __init__(
        self,
        broker_id: int,
        config: BrokerConfig,
        now: Callable[[], int],
        emit: Callable[[Happening], None],
    ) -> None:
        self.broker_id = broker_id
        self.leader_id = NOBODY  # who is controller now, as ZooKeeper says
        self.outbox: list[Request] = []
        self._config = config
        self._now = now
        self._emit = emit
        self._office: Office | None = None

    @property
    def active(self) -> bool:
        return self._office is not None

    @property
    def epoch(self) -> int:
        return self._office.term.epoch if self._office else NOBODY

    @property
    def brokers(self) -> Mapping[int, LiveBroker]:
        """Who is alive, as far as a controller in office knows."""
        return self._office.term.context.brokers if self._office else {}

    def is_deleting(self, topic: str) -> bool:
        """Whether a topic is on its way out, and nothing it has to wait for keeps it here."""
        return self._office is not None and self._office.deletion.is_under_way(topic)

    def configure(self, config: BrokerConfig) -> None:
        """The broker's configuration was changed while it runs."""
        self._config = config
        if self._office:
            self._office.term.config = config

    def handle(self, event: Event) -> Work[Any]:
        """One event, from beginning to end. Returns the answer for whoever asked."""
        about_us = isinstance(event, Began) or event == Changed(znodes.CONTROLLER)
        work = self._office.handle(event) if self._office and not about_us else self._look()
        while True:
            try:
                return (yield from work)
            except Superseded:
                self._resign("superseded")
                work = self._look()

    def expired(self) -> None:
        """Our session with ZooKeeper is over, and with it our /controller."""
        self._resign("session expired")
        self.leader_id = NOBODY

    def _resign(self, reason: str) -> None:
        if self._office:
            self._tell("controller.resigned", epoch=self.epoch, reason=reason)
        self._office = None
        self.outbox.clear()

    # -- the campaign --------------------------------------------------------------------

    def _look(self) -> Work[KafkaError]:
        """Who is it? If nobody is, we are, unless somebody else is faster.

        Returns what to say to whoever took us for it.
        """
        _, there, was = yield [
            Exists(znodes.CONTROLLER, watch=True),
            Get(znodes.CONTROLLER),
            Get(znodes.CONTROLLER_EPOCH),
        ]
        self.leader_id = znodes.Controller.decode(there.data).broker_id if there else NOBODY
        if self._office and self.leader_id != self.broker_id:
            self._resign("superseded")
        if self.leader_id == NOBODY:
            if was is None:
                yield [Create(znodes.CONTROLLER_EPOCH, znodes.encode_epoch(FIRST))]
                (was,) = yield [Get(znodes.CONTROLLER_EPOCH)]
            yield from self._campaign(znodes.decode_epoch(was.data) + 1, was.stat.version)
        return KafkaError(ErrorCode.not_controller, f"the controller is broker {self.leader_id}")

    def _campaign(self, epoch: int, version: int) -> Work[None]:
        node = znodes.Controller(self.broker_id, self._now())
        (answer,) = yield [
            Multi(
                (
                    Create(znodes.CONTROLLER, node.encode(), ephemeral=True),
                    Set(znodes.CONTROLLER_EPOCH, znodes.encode_epoch(epoch), version),
                )
            )
        ]
        if isinstance(answer, Refused):
            yield from self._who_won(epoch)
        else:
            yield from self._take_office(epoch, answer[1])

    def _who_won(self, epoch: int) -> Work[None]:
        """Somebody was faster; or it was us, and the answer was lost on its way."""
        there, now = yield [Get(znodes.CONTROLLER), Get(znodes.CONTROLLER_EPOCH)]
        self.leader_id = znodes.Controller.decode(there.data).broker_id if there else NOBODY
        if self.leader_id == self.broker_id and znodes.decode_epoch(now.data) == epoch:
            yield from self._take_office(epoch, now.stat.version)

    def _take_office(self, epoch: int, version: int) -> Work[None]:
        self.leader_id = self.broker_id
        term = Term(self.broker_id, epoch, version, self._config, self.outbox, self._tell)
        self._office = Office(term)
        self._tell("controller.elected", broker=self.broker_id, epoch=epoch)
        yield from self._office.take_over()

    def _tell(self, kind: str, **data: Any) -> None:
        self._emit(Happening(kind, self._now(), data))

    # -- for those who look on -----------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """What it believes; JSON-ready."""
        believed: dict[str, Any] = {
            "controller": self.leader_id,
            "active": self.active,
            "epoch": self.epoch,
        }
        return believed | (self._office.snapshot() if self._office else {})
