"""Handing out: the application's side of what was fetched.

    fetched:  | orders-0 | orders-2 | orders-0 | ...      by the network's thread, at the right
              unpack, some hundred records at a time
    run:      m m m m m m m ->                            by the application's, from the left

What is wrong with a partition comes first, as a message with an error. Unpacking is the one long
thing that a consumer does, and the only one it does without the lock.
"""

from collections.abc import Callable

from engine.client.consuming.fetching import Fetching
from engine.client.consuming.place import Place, Position
from engine.client.consuming.positions import Positions
from engine.client.consuming.unpacking import Fetched, Run
from engine.client.network import Network
from engine.client.values import KafkaError, Message
from engine.config.consumer import ConsumerConfig
from engine.errors import KafkaError as Failure
from engine.model import TopicPartition

_NOTHING = Run(Place(TopicPartition("", 0)), 0, [], Position(0))


class Handing:
    def __init__(
        self, config: ConsumerConfig, positions: Positions, fetching: Fetching, network: Network
    ) -> None:
        self._positions = positions
        self._fetched = fetching.fetched
        self._network = network
        self._run = _NOTHING
        self._at_once = config.max_poll_records
        self._committed = config.isolation_level == "read_committed"
        self._checks = config.check_crcs
        self.one: Callable[[], Message | None] = self._run.one  # the next, if it is at hand

    @property
    def has_news(self) -> bool:
        return bool(self._fetched or self._positions.troubles)

    def take(self, limit: int) -> list[Message]:
        """Up to so many messages, of one partition; none if nothing was fetched."""
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
            except Failure as error:
                self._stop(fetched, error)
                continue
            with self._network.lock:
                self._run, self.one = run, run.one
                if fetched.is_exhausted:
                    self._drop(fetched)
                if fetched.is_end and run.is_valid:
                    return [fetched.end()]

    def _first(self) -> Fetched | None:
        """The first of what was fetched that still counts."""
        while self._fetched and not self._fetched[0].is_valid:
            self._fetched.popleft()
        return self._fetched[0] if self._fetched else None

    def _drop(self, fetched: Fetched) -> None:
        """There is room for more."""
        self._fetched.popleft()
        if fetched.is_valid:
            fetched.place.ready -= 1
            self._network.wake()

    def _stop(self, fetched: Fetched, error: Failure) -> None:
        """What came cannot be read: the application has to decide how to go on."""
        with self._network.lock:
            if fetched.is_valid:
                self._positions.stop(fetched.place, KafkaError._BAD_MSG, error.message)

    def _trouble(self) -> Message:
        (topic, number), offset, code, text = self._positions.troubles.popleft()
        return Message(topic, number, offset, error=KafkaError(code, text))
