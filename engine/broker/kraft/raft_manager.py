"""The Raft of one node between its clock, its sockets and its disk (KafkaRaftManager).

    request of another node ──> ask ──┐                    ┌──> NetworkChannel, to another voter
    response                ──────────┼──> RaftClient ──> effects
    time                    ──────────┘                    └──> answer to a request that waits

RaftClient decides, this class carries out. It sets one timer, to the time at which the client has
something to do. Its time begins as that of day, and then goes on as a clock that nobody sets: a
correction of the machine's clock begins no election, and delays none.

The node is a controller, which votes, or a broker, which observes.

Invariant: an error in here ends the process. A node that has not done what it said is no voter.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from engine.broker.kraft.network_channel import NetworkChannel
from engine.broker.kraft.replica_progress import QuorumProgress
from engine.broker.kraft.wire_messages import APIS_OF_RAFT
from engine.broker.peer import Connect
from engine.config.quorum import QuorumKeys, VoterAddress
from engine.errors import ApiException, ErrorCode
from engine.model import NO_BROKER, Callbacks
from engine.raft.log import QuorumStateStore, RaftLog
from engine.raft.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchSnapshotRequest,
    HighWatermarkChange,
    LeaderChange,
    RaftEffect,
    RaftFetchRequest,
    RaftMessage,
    RaftRequest,
    RaftResponse,
    VoteRequest,
    VoteResponse,
)
from engine.raft.model import ElectionState, OffsetAndEpoch, QuorumConfig, QuorumIdentity
from engine.raft.raft_client import RaftClient
from engine.raft.resigned import RaftResigned
from engine.raft.role import RandRange
from engine.raft.states import RaftState

Committed = Callable[[int], None]  # everything before this offset is committed
Report = Callable[..., None]  # its kind, and facts by name

log = logging.getLogger(__name__)


class RaftEnvironment(NamedTuple):
    """What a node's Raft uses of the world."""

    now: Callable[[], int]  # the time of day, in ms
    randrange: RandRange
    connect: Connect  # to the listener of a controller
    report: Report  # an event


class RaftManager:
    def __init__(
        self,
        identity: QuorumIdentity,
        voters: Mapping[int, VoterAddress],
        config: QuorumKeys,
        metadata_log: RaftLog,
        store: QuorumStateStore,
        committed: Committed,
        environment: RaftEnvironment,
    ) -> None:
        times = quorum_config(config)
        self.progress = QuorumProgress()
        self.leader_changed = Callbacks[[]]()  # called at each step, as it is taken
        self._committed, self._report = committed, environment.report
        self._waiting: dict[int, asyncio.Future[RaftResponse]] = {}
        self._last_id = 0
        self._loop = asyncio.get_running_loop()
        self.failure: asyncio.Future[None] = self._loop.create_future()
        self._wall_offset_ms = environment.now() - round(self._loop.time() * 1000)
        self._timer: asyncio.TimerHandle | None = None
        self._moved = asyncio.Event()  # set by each step, for who waits for a state
        self._unreachable: set[int] = set()
        self._asked: tuple[int, set[int]] = 0, set()  # in this epoch, for their vote
        self._channel = NetworkChannel(
            *(identity.node_id, voters, environment.connect, times.request_timeout_ms),
            *(self._answered, self._failed),
        )
        self.client = RaftClient(
            identity, times, metadata_log, store, environment.randrange, self.now()
        )

    def now(self) -> int:
        return self._wall_offset_ms + round(self._loop.time() * 1000)

    def start(self) -> None:
        self._do(self.client.tick)

    async def ask(self, sender: int, request: RaftRequest) -> RaftResponse:
        """The response to a request of another node; a Fetch waits for records."""
        self._last_id += 1
        id = self._last_id
        self._waiting[id] = self._loop.create_future()
        try:
            self._do(lambda now: self.client.step(RaftMessage(sender, id, request), now))
            if isinstance(request, RaftFetchRequest):
                self._note_fetch(request)
            return await self._waiting[id]
        finally:
            del self._waiting[id]

    def append(self, batch: bytes) -> int:
        """As leader. Returns the batch's offset: it is committed when the mark is beyond it."""
        if not self.client.is_leader:
            text = f"node {self.client.identity.node_id} does not lead the quorum"
            raise ApiException(ErrorCode.not_controller, text)
        offsets: list[int] = []

        def appended(now: int) -> Iterable[RaftEffect]:
            offset, effects = self.client.append(batch, now)
            offsets.append(offset)
            return effects

        self._do(appended)
        return offsets[0]

    def snapshot(self, snapshot: OffsetAndEpoch, data: bytes) -> None:
        """Store the application's state, and delete the records that it replaces."""
        self.client.snapshot(snapshot, data, self.now())

    async def resign(self, limit_s: float) -> None:
        """Before an orderly stop: if this node leads, it tells the others, for as long as that."""
        self._do(self.client.resign)
        try:
            async with asyncio.timeout(limit_s):
                while self._is_telling:
                    self._moved.clear()
                    await self._moved.wait()
        except TimeoutError:
            log.info("not every voter has acknowledged that this node resigned")

    @property
    def _is_telling(self) -> bool:
        role = self.client.quorum.role
        return isinstance(role, RaftResigned) and bool(role.unacknowledged)

    async def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        for waiting in self._waiting.values():
            waiting.cancel()
        await self._channel.close()

    # -- input -----------------------------------------------------------------------------

    def _answered(self, message: RaftMessage) -> None:
        if why := self._unusable(message.body):
            if message.peer not in self._unreachable:
                self._unreachable.add(message.peer)
                log.error("voter %s %s", message.peer, why)
        elif getattr(message.body, "error", ErrorCode.none) is ErrorCode.none:
            self._unreachable.discard(message.peer)
        self._do(lambda now: self.client.step(message, now))

    def _unusable(self, response: object) -> str:
        """What a voter's response shows to be wrong in the settings of this node, or of the voter:
        its cluster, or a leader that the settings do not name. Empty if it shows nothing."""
        if getattr(response, "error", None) is ErrorCode.inconsistent_cluster_id:
            return "is of another cluster (INCONSISTENT_CLUSTER_ID)"
        leader = getattr(response, "leader", None)
        if leader is not None and leader not in self.client.identity.voters:
            return f"says that node {leader} leads, which controller.quorum.voters does not name"
        return ""

    def _failed(self, message: RaftMessage, error: OSError) -> None:
        if message.peer not in self._unreachable:  # once, not again and again
            self._unreachable.add(message.peer)
            log.warning("voter %s: %s", message.peer, error)
        self._do(lambda now: self.client.request_failed(message.peer, message.id, now))

    def _do(self, step: Callable[[int], Iterable[RaftEffect]]) -> None:
        try:
            now, before = self.now(), self._election
            for effect in step(now):
                self._carry_out(effect)
            if self._election != before:
                self._report_election()
            self._set_timer(now)
        except Exception as error:
            self.fail(error)
            raise
        self._moved.set()

    def fail(self, error: Exception) -> None:
        """End the process: this node, or its application, is not as it should be."""
        if not self.failure.done():
            self.failure.set_exception(error)

    def _set_timer(self, now: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        seconds = (self.client.deadline(now) - now) / 1000
        self._timer = self._loop.call_later(seconds, self._do, self.client.tick)

    def _note_fetch(self, request: RaftFetchRequest) -> None:
        client = self.client
        if client.is_leader and request.epoch == client.epoch:
            end = client.log.end.offset
            self.progress.fetched(client.epoch, request.replica, request.offset, end, self.now())

    # -- for those who watch ---------------------------------------------------------------

    @property
    def _election(self) -> tuple[RaftState, ElectionState]:
        return self.client.state, self.client.quorum.election

    def _report_election(self) -> None:
        state, (epoch, leader, voted) = self._election
        facts = {"leader": leader, "voted": voted}
        told = {name: NO_BROKER if it is None else it for name, it in facts.items()}
        self._report("quorum.state", state=state.value, epoch=epoch, **told)

    def _report_vote(self, peer: int, body: RaftRequest | RaftResponse) -> None:
        """A vote is asked for again and again while nobody answers: it is told once."""
        match body:
            case VoteRequest(epoch=epoch, log_end=(offset, last_epoch)):
                if epoch != self._asked[0]:
                    self._asked = epoch, set()
                if peer not in self._asked[1]:
                    self._asked[1].add(peer)
                    end = {"end": offset, "last_epoch": last_epoch}
                    self._report("vote.asked", voter=peer, epoch=epoch, **end)
            case VoteResponse(epoch=epoch, granted=granted):
                self._report("vote.answered", candidate=peer, epoch=epoch, granted=granted)

    # -- effects ---------------------------------------------------------------------------

    def _carry_out(self, effect: RaftEffect) -> None:
        match effect:
            case RaftMessage(peer=peer, body=request) if type(request) in APIS_OF_RAFT:
                self._report_vote(peer, request)
                self._channel.send(effect)
            case RaftMessage(peer=peer, id=id, body=response):
                self._report_vote(peer, response)
                waiting = self._waiting.get(id)
                if waiting is not None and not waiting.done():
                    waiting.set_result(response)  # type: ignore[arg-type]
            case LeaderChange(epoch, leader):
                known = NO_BROKER if leader is None else leader
                self._report("quorum.leader", epoch=epoch, leader=known)
                self.leader_changed()
            case HighWatermarkChange(offset):
                self._committed(offset)


def quorum_config(config: QuorumKeys) -> QuorumConfig:
    return QuorumConfig(
        election_timeout_ms=config.controller_quorum_election_timeout_ms,
        fetch_timeout_ms=config.controller_quorum_fetch_timeout_ms,
        election_backoff_max_ms=config.controller_quorum_election_backoff_max_ms,
        request_timeout_ms=config.controller_quorum_request_timeout_ms,
        retry_backoff_ms=config.controller_quorum_retry_backoff_ms,
        prompt_mark=True,
    )


def sender_of(request: RaftRequest) -> int:
    """The node id that a request names as its sender."""
    match request:
        case VoteRequest():
            return request.candidate
        case BeginQuorumEpochRequest() | EndQuorumEpochRequest():
            return request.leader
        case RaftFetchRequest() | FetchSnapshotRequest():
            return request.replica
