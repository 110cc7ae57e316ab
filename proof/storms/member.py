"""A member of a group in the simulated cluster: the client's cores, and an application that reads.

    application   poll: runs callbacks, reads the partitions it owns, commits its position
                    │
    cores         Membership, OffsetManager, ... ──> cores.py ──> requests ──> brokers

The member signs each commit: the metadata of the offset has its generation, its id, and a number.
So the log of __consumer_offsets shows which member of which generation made each commit.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from engine.client.consuming.membership import Membership
from engine.client.consuming.offset_commits import OffsetManager
from engine.client.consuming.rebalance_callbacks import OnAssign, OnRevoke, RebalanceCallback
from engine.client.coordinator_lookup import CoordinatorLookup, CoordinatorType
from engine.client.core import Ask
from engine.client.metadata import MetadataView
from engine.client.offset_and_metadata import OffsetAndMetadata
from engine.config.consumer import ConsumerConfig
from engine.errors import ApiException, ErrorCode
from engine.model import Event, TopicPartition
from engine.sim.client import Client
from engine.sim.cores import SimulatedCores
from engine.wire.apis import Api
from proof.storms.workload import Reader

GROUP = "readers"
SETTINGS = {  # all in ms
    "session_timeout_ms": 3000,
    "heartbeat_interval_ms": 1000,
    "max_poll_interval_ms": 8000,  # how long the others wait for a member that hangs
    "request_timeout_ms": 3000,
    "default_api_timeout_ms": 4000,
    "metadata_max_age_ms": 5000,
}


class Taken(NamedTuple):
    """An assignment that a member got."""

    generation: int
    partitions: frozenset[TopicPartition]
    member_id: str = ""  # as the coordinator knows it


class Member:
    def __init__(
        self, client: Client, topic: str, strategy: str, emit: Callable[[Event], None]
    ) -> None:
        self.process = client.process
        self.is_polling = True  # False: the application hangs
        self.readers: dict[TopicPartition, Reader] = {}  # of the partitions that it owns
        self.taken: list[Taken] = []
        self.acknowledged: list[str] = []  # the signatures of successful commits
        config = ConsumerConfig(
            group_id=GROUP,
            bootstrap_servers=("sim:1",),
            partition_assignment_strategy=(strategy,),
            **SETTINGS,  # type: ignore[arg-type]  # names of numbers only
        )
        self._client = client
        self._coordinator = CoordinatorLookup(
            CoordinatorType.GROUP, GROUP, config.retry_backoff_ms / 1000
        )
        self.membership = Membership(config, self._coordinator, emit)
        self._offsets = OffsetManager(config, self._coordinator, self.membership)
        self._cores = SimulatedCores(
            client,
            MetadataView(config),
            [self.membership, self._offsets, self._coordinator],
            config.request_timeout_ms,
            prepare=self._signed,
            seen=self._seen,
        )
        self._busy = False  # a callback is not done
        self._sought: set[TopicPartition] = set()  # whose committed offsets are being fetched
        self._asking = False
        self._committed: dict[TopicPartition, int] = {}  # by this member
        self._signatures = 0
        self.membership.subscribe((topic,), None, self._now)
        self._cores.act()

    @property
    def _now(self) -> float:
        return self._cores.now

    # -- the application -------------------------------------------------------------------

    def poll(self) -> None:
        if not self.is_polling:
            return
        self.membership.polled(self._now)
        self.membership.take_error()  # ignored: the next poll tries again
        while self.membership.callbacks.waiting and not self._busy:
            self._carry_out(self.membership.callbacks.take())
        self._seek()
        for reader in self.readers.values():
            reader.poll()
        self._cores.act()

    def commit(self, *, again: bool = False) -> None:
        """Commit the positions that have changed; with `again`, all of them."""
        offsets = {each: reader.position for each, reader in self.readers.items()}
        new = {each: at for each, at in offsets.items() if at != self._committed.get(each)}
        self._commit(offsets if again else new)
        self._cores.act()

    def leave(self) -> None:
        self.membership.unsubscribe(self._now)
        self._cores.act()

    def _carry_out(self, callback: RebalanceCallback) -> None:
        if isinstance(callback, OnAssign):
            self.membership.done(callback, self._now)
            identity, owned = self.membership.identity, self.membership.owned
            self.taken.append(Taken(identity.generation_id, owned, identity.member_id))
            return
        given_up = {each: self.readers.pop(each, None) for each in callback.partitions}
        self._sought -= given_up.keys()
        offsets = {each: reader.position for each, reader in given_up.items() if reader}
        if isinstance(callback, OnRevoke) and offsets:
            self._busy = True
            self._commit(offsets, partial(self._given_up, callback))
        else:
            self.membership.done(callback, self._now)

    def _given_up(self, callback: RebalanceCallback) -> None:
        """The commit has succeeded or failed."""
        self._busy = False
        self.membership.done(callback, self._now)

    def _commit(
        self, offsets: dict[TopicPartition, int], then: Callable[[], None] = lambda: None
    ) -> None:
        def done(codes: dict[TopicPartition, ErrorCode] | ApiException) -> None:
            if not isinstance(codes, ApiException):
                good = [each for each, code in codes.items() if code == ErrorCode.none]
                self._committed |= {each: offsets[each] for each in good}
            then()

        if offsets:
            rows = {each: OffsetAndMetadata(offset) for each, offset in offsets.items()}
            self._offsets.commit(rows, done, self._now)

    def _seek(self) -> None:
        """Fetch the committed offsets of new partitions, to start there."""
        missing = self.membership.owned - self.readers.keys()
        if missing and not (self._asking or self._busy):
            self._asking, self._sought = True, set(missing)
            self._offsets.fetch(missing, self._found, self._now)

    def _found(self, found: Any) -> None:
        self._asking = False
        for each in sorted(self._sought & self.membership.owned):
            row = found if isinstance(found, ApiException) else found[each]
            if not isinstance(row, ApiException):
                self.readers[each] = Reader(self._client, each, max(row.offset, 0))
                self._committed[each] = row.offset

    def _signed(self, ask: Ask) -> Ask:
        """A commit, signed. No signature is a part of another one."""
        if ask.api is not Api.OFFSET_COMMIT:
            return ask
        request = ask.request
        self._signatures += 1
        who = f"{request.generation_id} {request.member_id} {self._signatures:05}"
        topics = tuple(
            replace(
                topic,
                partitions=tuple(replace(row, committed_metadata=who) for row in topic.partitions),
            )
            for topic in request.topics
        )
        return ask._replace(request=replace(request, topics=topics))

    def _seen(self, ask: Ask, response: Any) -> None:
        if ask.api is Api.OFFSET_COMMIT and _has_no_error(response):
            self.acknowledged.append(ask.request.topics[0].partitions[0].committed_metadata)


def _has_no_error(response: Any) -> bool:
    rows = [row for topic in response.topics for row in topic.partitions]
    return all(row.error_code == ErrorCode.none for row in rows)
