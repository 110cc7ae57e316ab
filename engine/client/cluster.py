"""Blocking requests to the broker that can serve them: a leader, the controller, a coordinator.

    bootstrap address -> any broker -> Metadata -> leader of a partition, controller
                             ^                        |
                             +-- ask again after NOT_LEADER, or if it is gone

The command line, the admin client and Spark's source and sink send one request after the other, and
wait for each. They use the network of producer and consumer (network.py), without its thread. An
attempt is a function that makes requests and raises an error; `retry` repeats it, with new
metadata, while the error is one that may pass, up to a time-out.
"""

import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any, Self, TypeVar

from kio.schema.find_coordinator.v3.request import FindCoordinatorRequest

from engine.client.address import Address
from engine.client.coordinator_lookup import CoordinatorType
from engine.client.core import ANY, Ask
from engine.client.metadata import (
    MetadataSnapshot,
    MetadataView,
    TopicSnapshot,
    metadata_request,
)
from engine.client.network import NetworkClient, Submitted
from engine.config.client import ClientConfig
from engine.errors import ApiException, ErrorCode
from engine.model import NO_BROKER, TopicPartition
from engine.wire.apis import Api

T = TypeVar("T")

REQUEST_TIMEOUT_S = 30.0  # for an answer: request.timeout.ms
RETRY_LIMIT_S = 30.0  # of retries after errors that may pass
RETRY_BACKOFF_S = 0.1  # between two attempts: retry.backoff.ms
NEWS_TAKES = 1.0  # seconds until every broker knows a new topic
SHORTEST = 0.001  # seconds for a request when there is no time left

NO_SECURITY: Mapping[str, str] = {}
UNREACHABLE = frozenset(
    {ErrorCode.broker_not_available, ErrorCode.network_exception, ErrorCode.request_timed_out}
)
# Errors that may pass: elections, restarts, replicas that catch up, groups that are being loaded.
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
    """Raise the error of an answer, if it has one, with the broker's message if there is one."""
    if code != ErrorCode.none:
        text = message or code.name.replace("_", " ")
        raise ApiException(code, f"{what}: {text}" if what else text)


def unknown_topic(name: str, there_are: Iterable[str]) -> ApiException:
    """The error, with the most similar name that exists."""
    names = list(there_are)
    near = get_close_matches(name, names, n=1)
    others = "there is one other" if len(names) == 1 else f"there are {len(names)} others"
    hint = f"did you mean {near[0]}?" if near else others
    return ApiException(
        ErrorCode.unknown_topic_or_partition, f"there is no topic {name} in this cluster; {hint}"
    )


class ClusterClient:
    """Its constructor fetches metadata: an error if no bootstrap address leads to a broker."""

    def __init__(
        self,
        bootstrap: Sequence[Address],
        client_id: str = "brokerlab",
        timeout: float = REQUEST_TIMEOUT_S,
        patience: float = RETRY_LIMIT_S,
        waiting: Callable[[ApiException, float], None] = lambda error, seconds: None,
        within: float = math.inf,
        waits: bool = False,
        security: Mapping[str, str] = NO_SECURITY,
    ) -> None:
        """`timeout` is for one request, `patience` for retries, `within` for the constructor.

        `waits`: while no broker answers, the constructor retries, too. `security`: the keys of
        TLS and SASL (config/client_security.py).
        """
        self._bootstrap = bootstrap
        self._timeout = timeout
        self._patience = patience
        self._waiting = waiting  # called before each new attempt: the error, the time since `retry`
        self._until = math.inf  # the deadline of `within`
        self._wanted: dict[str, bool] = {}  # topics in use, and whether they may be created
        self._answered: int | Address = bootstrap[0]  # the last broker that answered `ask_any`
        settings = ClientConfig.parse(
            {
                **security,
                "bootstrap.servers": ",".join(map(str, bootstrap)),
                "client.id": client_id,
                "reconnect.backoff.max.ms": str(round(RETRY_BACKOFF_S * 1000)),
            }
        )
        self._view = MetadataView(settings, automatic=False)
        self._network = NetworkClient(settings, self._view, has_thread=False)
        try:
            with self.within(within):
                if waits:
                    self.retry(self.refresh)
                else:
                    self.refresh()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        self._network.close()

    # -- requests ------------------------------------------------------------------------

    def ask(self, broker: int, api: Api, request: Any) -> Any:
        """The response of this broker, or an ApiException."""
        return self.result(self.submit(broker, api, request))

    def submit(self, broker: int, api: Api, request: Any) -> Submitted:
        """Send a request, and do something else until its `result` is needed."""
        if broker not in self.metadata.brokers:
            raise ApiException(ErrorCode.broker_not_available, f"broker {broker} is not alive")
        return self._network.submit(Ask(broker, api, request, timeout=self._left()))

    def result(self, submitted: Submitted) -> Any:
        return self._network.result(submitted)

    def ask_leader(self, partition: TopicPartition, api: Api, request: Any) -> Any:
        return self.ask(self.leader(partition), api, request)

    def ask_controller(self, api: Api, request: Any) -> Any:
        return self.ask(self.controller(), api, request)

    def ask_any(self, api: Api, request: Any) -> Any:
        """The response of the first broker that answers."""
        errors = []
        for broker in dict.fromkeys([self._answered, *self.metadata.brokers, *self._bootstrap]):
            to, at = (ANY, broker) if isinstance(broker, Address) else (broker, None)
            try:
                response = self._network.ask(Ask(to, api, request, at=at, timeout=self._left()))
            except ApiException as error:
                if error.code not in UNREACHABLE:
                    raise
                errors.append(error)
            else:
                self._answered = broker
                return response
        raise ApiException(
            ErrorCode.broker_not_available,
            "; ".join(dict.fromkeys(error.message for error in errors)),
        )

    def controller(self) -> int:
        """The broker that is the controller; an error if there is none now."""
        if self.metadata.controller == NO_BROKER:
            raise ApiException(ErrorCode.not_controller, "the cluster has no controller")
        return self.metadata.controller

    def coordinator(self, group: str) -> int:
        """The broker that is the group's coordinator now."""
        request = FindCoordinatorRequest(key=group, key_type=CoordinatorType.GROUP)
        response = self.ask_any(Api.FIND_COORDINATOR, request)
        check(response.error_code, response.error_message, f"group {group}")
        return int(response.node_id)

    def _left(self) -> float:
        """The seconds for one request."""
        return min(self._timeout, max(self._until - time.monotonic(), SHORTEST))

    # -- metadata ------------------------------------------------------------------------

    @property
    def metadata(self) -> MetadataSnapshot:
        return self._view.metadata

    def refresh(self) -> None:
        """Fetch the metadata of the brokers and the topics in use."""
        self._view.metadata = self.describe(self._wanted, create=any(self._wanted.values()))

    def describe(
        self, topics: Collection[str] | None, create: bool = False, broker: int | None = None
    ) -> MetadataSnapshot:
        """The metadata by one broker, or by any that answers; of all topics, for None."""
        request = metadata_request(topics, create)
        if broker is None:
            return MetadataSnapshot.of(self.ask_any(Api.METADATA, request))
        return MetadataSnapshot.of(self.ask(broker, Api.METADATA, request))

    def leader(self, partition: TopicPartition) -> int:
        """The broker that leads a partition; an error if there is none now."""
        leader = self.metadata.leader(partition)
        if leader == NO_BROKER:
            raise ApiException(ErrorCode.leader_not_available, f"{partition} has no leader")
        return leader

    def topic(self, name: str, create: bool = False) -> TopicSnapshot:
        """A topic with its partitions. If it does not exist, and is not created either, the error
        has the most similar name that exists."""
        if not self._wanted.get(name):
            self._wanted[name] = create
        try:
            return self.retry(lambda: self._topic(name))
        except ApiException as error:
            del self._wanted[name]
            if error.code != ErrorCode.unknown_topic_or_partition:
                raise
            raise unknown_topic(name, self.describe(None).topics) from error

    def _topic(self, name: str) -> TopicSnapshot:
        if name not in self.metadata.topics:
            self.refresh()
        topic = self.metadata.topics[name]
        check(topic.error, what=f"topic {name}")
        return topic

    # -- attempts, and their time --------------------------------------------------------

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """A time-out for everything inside the `with` block together."""
        self._until = time.monotonic() + seconds
        try:
            yield
        finally:
            self._until = math.inf

    def retry(self, attempt: Callable[[], T]) -> T:
        """Make an attempt. Repeat it, with new metadata, while its error is one that may pass."""
        began = time.monotonic()
        stale = False
        while True:
            try:
                if stale:
                    self.refresh()
                return attempt()
            except ApiException as error:
                is_unknown = error.code == ErrorCode.unknown_topic_or_partition
                patience = min(self._patience, NEWS_TAKES) if is_unknown else self._patience
                now = time.monotonic()
                waited, end = now - began, min(began + patience, self._until)
                if error.code not in PASSING or now + RETRY_BACKOFF_S > end:
                    raise
                self._waiting(error, waited)
            stale = True
            time.sleep(RETRY_BACKOFF_S)
