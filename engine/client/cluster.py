"""A view of the cluster: from "somebody at this address" to the broker that can do it.

    bootstrap address -> any broker -> Metadata -> leader of a partition, controller
                             ^                        |
                             +-- ask again if it says "not me" or is gone

Leaders move, brokers come and go. Whoever wants something done hands in an attempt: it looks up
whom to ask, asks, and raises what went wrong. If that is the kind of thing that passes, the
metadata is asked for again and the attempt is made again, until there is no more patience.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any, Self, TypeVar

from kio.schema.metadata.v11.request import MetadataRequest, MetadataRequestTopic

from engine.client.connection import REQUEST_TIMEOUT, Address, Connection
from engine.client.metadata import NO_BROKER, Metadata, Topic
from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition
from engine.wire.apis import Api

T = TypeVar("T")

PATIENCE = 30.0  # seconds for something that passes to pass
BACKOFF = 0.1  # seconds between two attempts: retry.backoff.ms
NEWS_TAKES = 1.0  # seconds until every broker has heard of a new topic
SHORTEST = 0.001  # seconds that a request is given when there is no time left

UNREACHABLE = frozenset(
    {ErrorCode.broker_not_available, ErrorCode.network_exception, ErrorCode.request_timed_out}
)
# What passes: elections, brokers that come back, replicas that catch up, groups that are loaded.
PASSING = UNREACHABLE | {
    ErrorCode.unknown_topic_or_partition,
    ErrorCode.leader_not_available,
    ErrorCode.not_leader_or_follower,
    ErrorCode.replica_not_available,
    ErrorCode.not_enough_replicas,
    ErrorCode.not_enough_replicas_after_append,
    ErrorCode.not_controller,
    ErrorCode.kafka_storage_error,
    ErrorCode.listener_not_found,
    ErrorCode.fenced_leader_epoch,
    ErrorCode.unknown_leader_epoch,
    ErrorCode.offset_not_available,
    ErrorCode.coordinator_not_available,
    ErrorCode.coordinator_load_in_progress,
    ErrorCode.not_coordinator,
    ErrorCode.unstable_offset_commit,
}


def check(code: ErrorCode, message: str | None = None, what: str = "") -> None:
    """Raise the error that an answer carries, if it does, in the broker's words if it has some."""
    if code != ErrorCode.none:
        text = message or code.name.replace("_", " ")
        raise KafkaError(code, f"{what}: {text}" if what else text)


def unknown_topic(name: str, there_are: Iterable[str]) -> KafkaError:
    """The error that tells the nearest name there is."""
    names = list(there_are)
    near = get_close_matches(name, names, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are {len(names)} others"
    return KafkaError(
        ErrorCode.unknown_topic_or_partition, f"there is no topic {name} in this cluster; {hint}"
    )


class ClusterView:
    """Opened at once: if no bootstrap address leads to a broker, that is an error right away."""

    def __init__(
        self,
        bootstrap: Sequence[Address],
        client_id: str = "brokerlab",
        timeout: float = REQUEST_TIMEOUT,
        patience: float = PATIENCE,
        waiting: Callable[[KafkaError, float], None] = lambda error, seconds: None,
        within: float = math.inf,
    ) -> None:
        """`timeout` is for one request, `patience` for what passes, `within` for the opening."""
        self._bootstrap = bootstrap
        self._client_id = client_id
        self._timeout = timeout
        self._patience = patience
        self._waiting = waiting  # told before each new attempt: what failed, for how long already
        self._until = math.inf  # when all that is done now has to be done
        self._connections: dict[Address, Connection] = {}
        self._wanted: dict[str, bool] = {}  # topics in use, and whether they may be created
        self.metadata = Metadata(None, NO_BROKER, {}, {})
        with self.within(within):
            self.refresh()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        while self._connections:
            self._connections.popitem()[1].close()

    # -- whom to ask ---------------------------------------------------------------------

    def node(self, broker: int) -> Connection:
        """The connection to a broker, for one question at a time."""
        return self._connect(self._address(broker))

    def open(self, broker: int) -> Connection:
        """One more connection to a broker, for whoever has several requests on the way."""
        return Connection(self._address(broker), self._client_id, self._timeout)

    def controller(self) -> Connection:
        if self.metadata.controller == NO_BROKER:
            raise KafkaError(ErrorCode.not_controller, "the cluster has no controller")
        return self.node(self.metadata.controller)

    def leader(self, partition: TopicPartition) -> int:
        """The broker that leads a partition; nobody may, for a moment."""
        leader = self.metadata.leader(partition)
        if leader == NO_BROKER:
            raise KafkaError(ErrorCode.leader_not_available, f"{partition} has no leader")
        return leader

    def topic(self, name: str, create: bool = False) -> Topic:
        """A topic with its partitions. One that is not there, and is not created either, is an
        error that tells the nearest name there is."""
        if not self._wanted.get(name):
            self._wanted[name] = create
        try:
            return self.retry(lambda: self._topic(name))
        except KafkaError as error:
            del self._wanted[name]
            if error.code != ErrorCode.unknown_topic_or_partition:
                raise
            raise unknown_topic(name, self.describe(None).topics) from error

    def _topic(self, name: str) -> Topic:
        if name not in self.metadata.topics:
            self.refresh()
        topic = self.metadata.topics[name]
        check(topic.error, what=f"topic {name}")
        return topic

    def _address(self, broker: int) -> Address:
        if broker not in self.metadata.brokers:
            raise KafkaError(ErrorCode.broker_not_available, f"broker {broker} is not alive")
        return self.metadata.brokers[broker]

    def _connect(self, address: Address) -> Connection:
        if address not in self._connections or self._connections[address].fileno() < 0:
            self._connections[address] = Connection(address, self._client_id, self._left())
        connection = self._connections[address]
        connection.timeout = self._left()
        return connection

    # -- time ----------------------------------------------------------------------------

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """All that is done in there has so long together, whatever it has to wait for."""
        self._until = time.monotonic() + seconds
        try:
            yield
        finally:
            self._until = math.inf

    def _left(self) -> float:
        """For one request."""
        return min(self._timeout, max(self._until - time.monotonic(), SHORTEST))

    # -- metadata ------------------------------------------------------------------------

    def refresh(self) -> None:
        """Ask again about the brokers and the topics in use."""
        self.metadata = self.describe(self._wanted, create=any(self._wanted.values()))

    def describe(
        self, topics: Iterable[str] | None, create: bool = False, broker: int | None = None
    ) -> Metadata:
        """What one broker knows, or any that answers; of all topics, for None."""
        wanted = tuple(MetadataRequestTopic(topic_id=None, name=name) for name in topics or ())
        request = MetadataRequest(
            topics=None if topics is None else wanted,
            allow_auto_topic_creation=create,
            include_topic_authorized_operations=False,
        )
        if broker is None:
            return Metadata.of(self.ask_any(Api.METADATA, request))
        return Metadata.of(self.node(broker).ask(Api.METADATA, request))

    def ask_any(self, api: Api, request: Any) -> Any:
        """Of whoever answers first."""
        known = [*self._connections, *self.metadata.brokers.values(), *self._bootstrap]
        errors = []
        for address in dict.fromkeys(known):
            try:
                return self._connect(address).ask(api, request)
            except KafkaError as error:
                if error.code not in UNREACHABLE:
                    raise
                self._connections.pop(address, None)
                errors.append(error)
        raise KafkaError(
            ErrorCode.broker_not_available, "; ".join(error.message for error in errors)
        )

    # -- attempts ------------------------------------------------------------------------

    def retry(self, attempt: Callable[[], T], stale: bool = False) -> T:
        """Do it, again and again while what is in the way is of the kind that passes.

        `stale`: something failed before, so what we know is out of date already.
        """
        began = time.monotonic()
        while True:
            try:
                if stale:
                    self.refresh()
                return attempt()
            except KafkaError as error:
                is_unknown = error.code == ErrorCode.unknown_topic_or_partition
                patience = min(self._patience, NEWS_TAKES) if is_unknown else self._patience
                now = time.monotonic()
                waited, end = now - began, min(began + patience, self._until)
                if error.code not in PASSING or now + BACKOFF > end:
                    raise
                self._waiting(error, waited)
            stale = True
            time.sleep(BACKOFF)
