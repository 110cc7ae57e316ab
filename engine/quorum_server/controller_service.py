"""The quorum controller of one node, between the Raft and those who ask.

    write(decide) ──> QuorumController ──> BatchAccumulator ──> Raft ──> committed ──> the response
                              ^                                              │
    tick, at its deadline ────┘                   MetadataLoader <───────────┘──> a snapshot

A node has a QuorumController while it leads and has read all that the log had when its epoch began.
Each waiting request has an offset: its response is given when the mark is beyond it, also if the
request wrote nothing itself, since it may have seen what is not committed. If the leadership is
lost before that, the answer is NOT_CONTROLLER, and the asker looks for the new one.

Invariant: no response tells of a record that is not committed.
Invariant: an error in here ends the process, and another node takes the lead.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

from engine.broker.kraft.raft_manager import RaftManager
from engine.broker.kraft.snapshot_generator import SnapshotGenerator
from engine.config.quorum import ControllerConfig
from engine.controller.election import Elect, elect
from engine.errors import ApiException, ErrorCode
from engine.metadata.image import ImageChanges, MetadataImage
from engine.metadata.records.framing import encode_record
from engine.model import Callbacks
from engine.quorum_controller.quorum_controller import QuorumController, QuorumControllerConfig
from engine.quorum_controller.result import ControllerResult
from engine.quorum_server.batch_accumulator import BatchAccumulator
from engine.raft.metadata_loader import MetadataLoader

T = TypeVar("T")
Decide = Callable[[QuorumController, int], ControllerResult[T]]  # with the time
Report = Callable[..., None]  # an event: its kind, then the facts by name

log = logging.getLogger(__name__)


class WaitingWrite(NamedTuple):
    offset: int  # of the last record that has to be committed
    done: "asyncio.Future[None]"


class QuorumControllerService:
    def __init__(
        self,
        raft: RaftManager,
        loader: MetadataLoader,
        config: ControllerConfig,
        bootstrap: Callable[[], Iterable[Any]],  # the records of bootstrap.checkpoint
        report: Report,
        elect: Elect = elect,
    ) -> None:
        self.raft, self.loader, self._config = raft, loader, config
        self.active: QuorumController | None = None
        self.image_changed = Callbacks[[MetadataImage, ImageChanges]]()  # the committed one
        self._bootstrap, self._report, self._elect = bootstrap, report, elect
        self._epoch = -1  # in which this node is active
        self._waiting: deque[WaitingWrite] = deque()
        self._accumulator = BatchAccumulator(self._append_batch, raft.now)
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._is_scheduled = False
        self._snapshots = SnapshotGenerator(config, raft, loader)
        raft.leader_changed.append(self._leader_changed)

    @property
    def is_active(self) -> bool:
        return self.active is not None

    @property
    def controller_id(self) -> int:
        """The node that leads the quorum, as far as it is known here; -1: none."""
        leader = self.raft.client.leader
        return -1 if leader is None else leader

    def close(self) -> None:
        self._deactivate()

    # -- requests --------------------------------------------------------------------------

    async def write(self, decide: Decide[T]) -> T:
        """Decide, append the records, and wait until they are committed."""
        controller = self.leading()
        result = decide(controller, self.raft.now())
        self._append(controller, result.records)
        offset = controller.image.offset
        if self.loader.image.offset < offset:
            if self.active is not controller:
                raise self._not_controller()
            waiting = WaitingWrite(offset, self._loop.create_future())
            self._waiting.append(waiting)
            await waiting.done
        return result.response

    def leading(self) -> QuorumController:
        """The controller, or NOT_CONTROLLER. A node that has resigned leads no more."""
        if self.active is not None and not self.raft.client.is_leader:
            self._deactivate()
        if self.active is None:
            raise self._not_controller()
        return self.active

    def _not_controller(self) -> ApiException:
        leader = self.controller_id
        active = f"The active controller is node {leader}." if leader >= 0 else "There is none."
        return ApiException(ErrorCode.not_controller, active)

    def _append(self, controller: QuorumController, new: Sequence[Any]) -> None:
        if not new:
            return
        values = [encode_record(record) for record in new]
        self._accumulator.add(controller.next_offset, values)
        try:
            controller.replay(new, self.raft.now())
        except Exception as error:
            self._deactivate()
            self.raft.fail(error)
            raise
        self._schedule()

    def _append_batch(self, base: int, batch: bytes) -> None:
        try:
            offset = self.raft.append(batch)
            assert offset == base, f"the batch is at offset {offset}, not {base}"
        except Exception as error:
            self._deactivate()  # what it has decided is not in the log
            if not (isinstance(error, ApiException) and error.code is ErrorCode.not_controller):
                self.raft.fail(error)
                raise

    # -- what the Raft tells ---------------------------------------------------------------

    def committed(self, offset: int) -> None:
        """Everything before this offset is committed."""
        self.loader.committed(offset)
        self._publish()
        self._snapshots.generate(self.raft.now())
        while self._waiting and self._waiting[0].offset < offset:
            done = self._waiting.popleft().done
            if not done.done():
                done.set_result(None)
        if self.active is None:
            self._schedule()

    def _publish(self) -> None:
        """Those who read the image also read whether this node is the controller."""
        self.image_changed(self.loader.image, self.loader.image.take_changes())

    def _leader_changed(self) -> None:
        client = self.raft.client
        if self.active is not None and not (client.is_leader and client.epoch == self._epoch):
            self._deactivate()
        self._schedule()

    def _deactivate(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._accumulator.clear()
        if self.active is not None:
            self._report("controller.resigned", epoch=self._epoch)
            self.active = None
            self._publish()
        waiting, self._waiting = self._waiting, deque()
        for _, done in waiting:
            if not done.done():
                done.set_exception(self._not_controller())

    # -- time ------------------------------------------------------------------------------

    def _schedule(self) -> None:
        """Step soon: not inside the Raft, which is carrying out effects."""
        if not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._step)

    def _step(self) -> None:
        self._is_scheduled = False
        try:
            if self.active is None and self._may_activate():
                self._activate()
            while (controller := self.active) is not None and self.raft.client.is_leader:
                result = controller.tick(self.raft.now())
                if result is None:
                    self._set_timer(controller)
                    return
                self._append(controller, result.records)
        except Exception as error:
            self.raft.fail(error)
            raise

    def _may_activate(self) -> bool:
        """It leads, and has read all that was in its log: its own LeaderChange is committed."""
        client = self.raft.client
        return client.is_leader and self.loader.image.offset + 1 == client.log.end.offset

    def _activate(self) -> None:
        client, now = self.raft.client, self.raft.now()
        self._epoch = client.epoch
        controller = QuorumController(
            *(client.identity.node_id, client.identity.cluster_id, self.loader.image.copy()),
            *(controller_config(self._config), now, self._elect),
        )
        self.active = controller
        self._report("controller.elected", broker=controller.node, epoch=self._epoch)
        self._publish()
        self._append(controller, controller.activation(self._bootstrap()).records)

    def _set_timer(self, controller: QuorumController) -> None:
        if self._timer is not None:
            self._timer.cancel()
        deadline = controller.deadline()
        if deadline is not None:
            seconds = max(0, deadline - self.raft.now()) / 1000
            self._timer = self._loop.call_later(seconds, self._schedule)


def controller_config(config: ControllerConfig) -> QuorumControllerConfig:
    return QuorumControllerConfig(
        broker_session_timeout_ms=config.broker_session_timeout_ms,
        metadata_max_idle_interval_ms=config.metadata_max_idle_interval_ms,
        auto_leader_rebalance_enable=config.auto_leader_rebalance_enable,
        leader_imbalance_check_interval_ms=config.leader_imbalance_check_interval_seconds * 1000,
        unclean_leader_election_enable=config.unclean_leader_election_enable,
        unclean_leader_election_interval_ms=config.unclean_leader_election_interval_ms,
    )
