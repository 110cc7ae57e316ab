"""How a broker becomes the controller, and stops being it. Every broker has a `Controller`.

    ┌───── /controller is gone, and our transaction was the first ──────┐
    │          Multi(Create /controller, Set /controller_epoch)         v
    WAITING, watching /controller                                     ACTIVE
    ^                                                                   │
    └─ session over; a write refused; /controller is not ours any more ─┘

One transaction creates /controller and increments /controller_epoch. So no two controllers have the
same epoch, and from then on every write of an earlier one is refused (metadata_store.py).

    work = controller.handle(event)      a generator of requests to ZooKeeper (zookeeper/requests)
    controller.outbox                    requests to brokers, to be taken after each step of it

Invariant: at most one event is being handled. Nothing is kept from one epoch to the next.
"""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from engine.config import BrokerConfig
from engine.controller.active_controller import ActiveController
from engine.controller.context import Context, LiveBroker
from engine.controller.election import Elect, elect
from engine.controller.events import Began, ControllerEvent
from engine.controller.metadata_store import ControllerMoved, MetadataStore
from engine.controller.requests import ControllerRequestBatch, Request
from engine.errors import ApiException, ErrorCode
from engine.model import NO_BROKER, Event
from engine.zookeeper import znodes
from engine.zookeeper.decoder import Decoder
from engine.zookeeper.requests import (
    Changed,
    Create,
    Delete,
    Exists,
    Get,
    Multi,
    Refused,
    Set,
    Work,
    ZnodeData,
)

__all__ = ["Controller", "Request"]

FIRST = 0  # before there was a controller; the first one's epoch is 1


class Controller:
    def __init__(
        self,
        broker_id: int,
        config: BrokerConfig,
        now: Callable[[], int],
        emit: Callable[[Event], None],
        new_uuid: Callable[[], UUID],  # for the topics that have no id
        elect: Elect = elect,
    ) -> None:
        self.broker_id = broker_id
        self.leader_id = NO_BROKER  # the controller's id, from ZooKeeper
        self.outbox: list[Request] = []
        self.listener, self._config = config.inter_broker_listener, config
        self._now = now
        self._emit = emit
        self._new_uuid, self._choose = new_uuid, elect
        self._active: ActiveController | None = None
        self._newest = FIRST  # the highest epoch of a controller that was seen
        self._elected = False  # in this session: a /controller with our id is ours
        self._decoder = Decoder(self._report)

    @property
    def active(self) -> bool:
        return self._active is not None

    @property
    def epoch(self) -> int:
        return self._active.epoch if self._active else NO_BROKER

    @property
    def brokers(self) -> Mapping[int, LiveBroker]:
        """The live brokers, in the active controller's context."""
        return self._active.context.brokers if self._active else {}

    def is_deleting(self, topic: str) -> bool:
        """Whether a topic is being deleted, and the deletion does not wait for a broker."""
        return self._active is not None and self._active.deletion.is_under_way(topic)

    def configure(self, config: BrokerConfig) -> None:
        """The broker's configuration has changed."""
        self._config = config

    def handle(self, event: ControllerEvent) -> Work[Any]:
        """One event, from beginning to end. Returns its result."""
        about_us = isinstance(event, Began) or event == Changed(znodes.CONTROLLER)
        work = self._active.handle(event) if self._active and not about_us else self._elect()
        while True:
            try:
                return (yield from work)
            except ControllerMoved:
                self._resign("superseded")
                work = self._elect()

    def expired(self) -> None:
        """The session with ZooKeeper is over, and its /controller is gone."""
        self._resign("session expired")
        self._elected = False
        self.leader_id = NO_BROKER

    def _resign(self, reason: str) -> None:
        if self._active:
            self._report("controller.resigned", epoch=self.epoch, reason=reason)
        self._active = None
        self.outbox.clear()

    # -- the election of the controller --------------------------------------------------

    def _elect(self) -> Work[ApiException]:
        """Read /controller. If there is none, try to become the controller.

        Returns the error for a request that needs the controller.
        """
        _, there, was = yield [
            Exists(znodes.CONTROLLER, watch=True),
            Get(znodes.CONTROLLER),
            Get(znodes.CONTROLLER_EPOCH),
        ]
        holder = self._holder(there)
        if there is not None and holder == NO_BROKER and self._active:
            return _refused(self.leader_id)  # unreadable: our epoch lasts until a write is refused
        self.leader_id = holder
        if self._active and self.leader_id != self.broker_id:
            self._resign("superseded")
        ours = self._elected and self.leader_id == self.broker_id
        if there is None or (ours and not self._active):
            if was is None:
                yield [Create(znodes.CONTROLLER_EPOCH, znodes.encode_epoch(FIRST))]
                (was,) = yield [Get(znodes.CONTROLLER_EPOCH)]
            if self._epoch(was) is None:
                (was,) = yield [Get(znodes.CONTROLLER_EPOCH, watch=True)]
            if (epoch := self._epoch(was)) is not None:
                yield from self._run_for_controller(epoch + 1, was.stat.version, there)
        return _refused(self.leader_id)

    def _holder(self, node: ZnodeData | None) -> int:
        harm = "no other broker becomes controller"
        data = node and node.data
        found = self._decoder.read(znodes.ControllerInfo.decode, znodes.CONTROLLER, data, harm)
        return found.broker_id if found else NO_BROKER

    def _epoch(self, node: ZnodeData | None) -> int | None:
        """The epoch in the znode, or a higher one that was seen before: another program may have
        written a lower one."""
        harm, data = "no broker becomes controller", node and node.data
        epoch = self._decoder.read(znodes.decode_epoch, znodes.CONTROLLER_EPOCH, data, harm)
        if epoch is not None:
            self._newest = epoch = max(epoch, self._newest)
        return epoch

    def _run_for_controller(self, epoch: int, version: int, there: ZnodeData | None) -> Work[None]:
        """Create /controller and set its epoch, in one transaction.

        `there`: our own /controller from before our epoch ended, to be replaced.
        """
        node = znodes.ControllerInfo(self.broker_id, self._now())
        (answer,) = yield [
            Multi(
                (
                    *([Delete(znodes.CONTROLLER, there.stat.version)] if there else ()),
                    Create(znodes.CONTROLLER, node.encode(), ephemeral=True),
                    Set(znodes.CONTROLLER_EPOCH, znodes.encode_epoch(epoch), version),
                )
            )
        ]
        if isinstance(answer, Refused):
            yield from self._check_outcome(epoch)
        else:
            yield from self._take_over(epoch, answer[-1])

    def _check_outcome(self, epoch: int) -> Work[None]:
        """Our write was refused: another broker was faster, or it was done and its answer lost."""
        there, now = yield [Get(znodes.CONTROLLER), Get(znodes.CONTROLLER_EPOCH)]
        self.leader_id = self._holder(there)
        if self.leader_id == self.broker_id and now and self._epoch(now) == epoch:
            yield from self._take_over(epoch, now.stat.version)

    def _take_over(self, epoch: int, version: int) -> Work[None]:
        self.leader_id = self.broker_id
        self._newest, self._elected = epoch, True
        context = Context()
        store = MetadataStore(context, self._decoder, epoch, version)
        batch = ControllerRequestBatch(context, self.broker_id, epoch, self.outbox, self.listener)
        self._active = ActiveController(
            context, store, batch, lambda: self._config, self._report, self._new_uuid, self._choose
        )
        self._report("controller.elected", broker=self.broker_id, epoch=epoch)
        yield from self._active.take_over()

    def _report(self, kind: str, **data: Any) -> None:
        self._emit(Event(kind, self._now(), data))

    def snapshot(self) -> dict[str, Any]:
        """The state of the controller, in values that JSON has."""
        state: dict[str, Any] = {
            "controller": self.leader_id,
            "active": self.active,
            "epoch": self.epoch,
        }
        return state | (self._active.snapshot() if self._active else {})


def _refused(controller: int) -> ApiException:
    return ApiException(ErrorCode.not_controller, f"the controller is broker {controller}")
