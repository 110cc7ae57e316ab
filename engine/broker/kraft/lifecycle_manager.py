"""The life of a broker in its cluster, as the controller sees it (BrokerLifecycleManager).

    BrokerRegistration ──> an epoch: the offset of the record that registers this process
    BrokerHeartbeat    ──> every broker.heartbeat.interval.ms: how far it has read the metadata
                       <── caught up? fenced? may it stop?

While it starts, a broker wants to be fenced: it leads nothing, and clients do not see it. When it
has read the metadata up to its own registration, it applies them to its replicas, and asks to be
unfenced. Without heartbeats for broker.session.timeout.ms the controller fences it, and elects
others. A fenced broker that runs goes on: it learns from the metadata log that others lead now, and
the controller unfences it after a heartbeat. Until it has read that, it serves reads, and appends
with acks=1, as Kafka's broker does: the records may be lost, and none is committed.

Registration is refused while another process with this id has a session; it is tried again until
initial.broker.registration.timeout.ms are over.

A registration may come late: its process is dead, the next one has registered, and is not unfenced
yet. Then the epoch of the living process is stale, and no heartbeat can unfence it. Kafka's broker
goes on with the stale epoch until it is restarted. This one registers again, unless another process
with its id has a session, or an administrator has removed the registration: then it stays away.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from kio.schema.broker_heartbeat.v0.request import BrokerHeartbeatRequest
from kio.schema.broker_registration.v0.request import BrokerRegistrationRequest

from engine.broker.kraft.controller_channel import ControllerChannel
from engine.config.kraft import KRaftBrokerConfig
from engine.errors import ApiException, ErrorCode
from engine.metadata.broker_states import BROKER_STEPS, BrokerRunState, BrokerStep
from engine.wire.controller_apis import ControllerApi

REFUSED_WAIT_S = 0.2  # after a registration that was refused, until the next one
LEAVING_S = 300  # at most, until a broker stops, whoever still follows it, as in Kafka
LEAVING_WAIT_S = 0.1  # between two heartbeats of a broker that hands over its leaderships

log = logging.getLogger(__name__)


class BrokerLifecycleManager:
    def __init__(
        self,
        config: KRaftBrokerConfig,
        channel: ControllerChannel,
        applied_offset: Callable[[], int],  # of the metadata that this broker has applied
        is_known: Callable[[], bool],  # whether the metadata has a registration of this id
        report: Callable[..., None],
    ) -> None:
        self.state = BrokerRunState.STARTING
        self.epoch = -1  # of the registration
        self.is_ready = False  # its replicas have the roles of the metadata
        self.is_fenced = True  # as of the last heartbeat
        self._config, self._channel = config, channel
        self._applied_offset, self._report = applied_offset, report
        self._is_known = is_known
        self._is_replaced = False  # by another process, which has a session
        self._is_due = asyncio.Event()  # a heartbeat, at once
        self._changed = asyncio.Event()  # the state
        self._registration: BrokerRegistrationRequest
        self._registered: Callable[[int], None]
        self._heard_at = 0.0  # when the controller answered last, in the loop's time

    def take(self, step: BrokerStep) -> None:
        """A step that is not in the table changes nothing."""
        before, self.state = self.state, BROKER_STEPS.get((self.state, step), self.state)
        if self.state is not before:
            self._report("broker.state", was=before.value, state=self.state.value)
            self._changed.set()
            self._is_due.set()

    async def register(
        self, request: BrokerRegistrationRequest, registered: Callable[[int], None]
    ) -> None:
        """Ask until the controller agrees; an ApiException if it does not in time. `registered` is
        told the epoch of the broker, now and whenever it registers again."""
        self._registration, self._registered = request, registered
        limit_ms, refused = self._config.initial_broker_registration_timeout_ms, "no answer"
        try:
            async with asyncio.timeout(limit_ms / 1000):
                while True:
                    error = await self._register_once()
                    if error is ErrorCode.none:
                        return
                    if refused != error.name:
                        refused = error.name
                        log.warning("the controller refuses to register this broker: %s", refused)
                    await asyncio.sleep(REFUSED_WAIT_S)
        except TimeoutError:
            raise ApiException(
                ErrorCode.broker_not_available,
                "Shutting down because we were unable to register with the controller quorum "
                f"within {limit_ms} ms ({refused})",
            ) from None

    async def _register_once(self) -> ErrorCode:
        answer = await self._channel.ask(ControllerApi.BROKER_REGISTRATION, self._registration)
        error: ErrorCode = answer.error_code
        if error is ErrorCode.none:
            self.epoch = answer.broker_epoch
            self._registered(self.epoch)
        return error

    async def run(self) -> None:
        """Heartbeats, until the broker may stop."""
        session_s = self._config.broker_session_timeout_ms / 1000
        while self.state is not BrokerRunState.SHUTTING_DOWN:
            self._is_due.clear()
            try:
                async with asyncio.timeout(session_s):
                    api = ControllerApi.BROKER_HEARTBEAT
                    answer = await self._channel.ask(api, self._heartbeat())
                    await self._heard(answer)
            except TimeoutError:
                log.warning("no controller has answered a heartbeat for %s s", session_s)
                continue
            await self._rest()

    def _heartbeat(self) -> BrokerHeartbeatRequest:
        return BrokerHeartbeatRequest(
            broker_id=self._config.node_id,
            broker_epoch=self.epoch,
            current_metadata_offset=self._applied_offset(),
            want_fence=not self.is_ready,
            want_shut_down=self._is_leaving,
        )

    async def _heard(self, answer: Any) -> None:
        if answer.error_code is not ErrorCode.none:
            log.error(
                "the controller refuses the heartbeat of epoch %s: %s",
                self.epoch,
                answer.error_code.name,
            )
            if answer.error_code is ErrorCode.stale_broker_epoch and self._may_register_again:
                await self._register_again()
            return
        self._heard_at = asyncio.get_running_loop().time()
        if answer.is_fenced is not self.is_fenced:
            self.is_fenced = answer.is_fenced
            kind = "registration.fenced" if self.is_fenced else "registration.unfenced"
            self._report(kind, epoch=self.epoch)
        if answer.is_caught_up:
            self.take(BrokerStep.CAUGHT_UP)
        if self.is_ready and not answer.is_fenced:
            self.take(BrokerStep.UNFENCED)
        if answer.should_shut_down:
            self.take(BrokerStep.MAY_STOP)

    @property
    def _may_register_again(self) -> bool:
        return self._is_known() and not self._is_replaced and not self._is_leaving

    async def _register_again(self) -> None:
        error = await self._register_once()
        if error is ErrorCode.none:
            self._is_due.set()
        else:
            log.error("the controller refuses another registration: %s", error.name)
        if error is ErrorCode.duplicate_broker_registration:
            self._is_replaced = True

    @property
    def _is_leaving(self) -> bool:
        return self.state is BrokerRunState.PENDING_CONTROLLED_SHUTDOWN

    async def _rest(self) -> None:
        interval_s = self._config.broker_heartbeat_interval_ms / 1000
        wait_s = min(interval_s, LEAVING_WAIT_S) if self._is_leaving else interval_s
        try:
            async with asyncio.timeout(wait_s):
                await self._is_due.wait()
        except TimeoutError:
            return

    def metadata_changed(self) -> None:
        """While it starts, the controller waits for news of how far this broker has read."""
        if self.state in (BrokerRunState.STARTING, BrokerRunState.RECOVERY):
            self._is_due.set()

    def ready(self) -> None:
        """Its replicas have their roles: it wants to be unfenced."""
        self.is_ready = True
        self._is_due.set()

    async def until(self, state: BrokerRunState) -> None:
        while self.state is not state:
            self._changed.clear()
            await self._changed.wait()

    async def leave(self) -> None:
        """Hand over the leaderships. A broker that hears from no controller for as long as its
        session lasts is fenced by then: it does not wait any longer. Nor does one that controllers
        do not let go for five minutes."""
        self.take(BrokerStep.LEAVE)
        session_s = self._config.broker_session_timeout_ms / 1000
        loop = asyncio.get_running_loop()
        began = loop.time()
        while self.state is BrokerRunState.PENDING_CONTROLLED_SHUTDOWN:
            limit = min(max(self._heard_at, began) + session_s, began + LEAVING_S)
            if loop.time() >= limit:
                log.warning("stopping without a new leader: no controller answers, or lets us go")
                return
            try:
                async with asyncio.timeout_at(limit):
                    await self.until(BrokerRunState.SHUTTING_DOWN)
            except TimeoutError:
                continue
