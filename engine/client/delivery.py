"""The application's side of fetched records: it unpacks them into messages.

    fetched:  | orders-0 | orders-2 | orders-0 | ...      by the network's thread, at the right
              unpack, some hundred records at a time
    run:      m m m m m m m ->                            by the application's, from the left

Errors of partitions come first, as messages with an error. Unpacking takes the most time of all
that a consumer does, so it is done without the lock.
"""

from collections.abc import Callable

from engine.client.consuming.assigned_partition import AssignedPartition, Position
from engine.client.consuming.completed_fetch import CompletedFetch, MessageRun
from engine.client.consuming.fetcher import ConsumerFetcher
from engine.client.consuming.positions import Positions
from engine.client.network import NetworkClient
from engine.client.values import KafkaError, Message
from engine.config.consumer import ConsumerConfig
from engine.errors import ApiException
from engine.model import TopicPartition

_NOTHING = MessageRun(AssignedPartition(TopicPartition("", 0)), 0, [], Position(0))


class MessageDelivery:
    def __init__(
        self,
        config: ConsumerConfig,
        positions: Positions,
        fetching: ConsumerFetcher,
        network: NetworkClient,
    ) -> None:
        self._positions = positions
        self._fetched = fetching.fetched
        self._network = network
        self._run = _NOTHING
        self._at_once = config.max_poll_records
        self._committed = config.isolation_level == "read_committed"
        self._checks = config.check_crcs
        self.one: Callable[[], Message | None] = self._run.one  # the next, if it is unpacked

    @property
    def has_news(self) -> bool:
        return bool(self._fetched or self._positions.troubles)

    def take(self, limit: int) -> list[Message]:
        """Up to `limit` messages of one partition; none if nothing was fetched."""
        while True:
            with self._network.lock:
                if self._positions.troubles:
                    return [self._trouble()]
                if taken := self._run.take(limit):
                    return taken
                fetched = self._first()
            if fetched is None:
                return []
            try:
                run = fetched.unpack(self._at_once, self._committed, self._checks)
            except ApiException as error:
                self._stop(fetched, error)
                continue
            with self._network.lock:
                self._run, self.one = run, run.one
                if fetched.is_exhausted:
                    self._drop(fetched)
                if fetched.is_end and run.is_valid:
                    return [fetched.end()]

    def _first(self) -> CompletedFetch | None:
        """The first fetch that is still valid."""
        while self._fetched and not self._fetched[0].is_valid:
            self._fetched.popleft()
        return self._fetched[0] if self._fetched else None

    def _drop(self, fetched: CompletedFetch) -> None:
        """It is used up: the next fetch may be sent."""
        self._fetched.popleft()
        if fetched.is_valid:
            fetched.place.ready -= 1
            self._network.wake()

    def _stop(self, fetched: CompletedFetch, error: ApiException) -> None:
        """The records can't be read: the application has to seek."""
        with self._network.lock:
            if fetched.is_valid:
                self._positions.stop(fetched.place, KafkaError._BAD_MSG, error.message)

    def _trouble(self) -> Message:
        (topic, number), offset, code, text = self._positions.troubles.popleft()
        return Message(topic, number, offset, error=KafkaError(code, text))
