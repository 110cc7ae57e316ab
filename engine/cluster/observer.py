"""What the cluster's processes tell of themselves, collected through their control doors.

`state` and `events` ask all brokers at once, and never wait for one that is not there. They may be
called from several threads: a recorder's beside the notebook's.
"""

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from engine.cluster.door import Door, Take, converse
from engine.cluster.state import ClusterState, LinkState, Status
from engine.cluster.stream import Happened, Stream
from engine.cluster.view import Member, View
from engine.errors import ErrorCode, KafkaError

PATIENCE = 0.25  # seconds to wait for a broker that answered the last time
OBEDIENCE = 5.0  # seconds within which a broker does what it is told
AT_ONCE = 2000  # events asked for at a time,
ROUNDS = 10  # so many times in a row
PAUSE = 0.01  # seconds between two looks


class Observer:
    def __init__(
        self, directory: Callable[[int], Path], members: Callable[[], Mapping[int, Member]]
    ) -> None:
        self._directory = directory
        self._members = members
        self._doors: dict[int, Door] = {}
        self._view = View()
        self._stream = Stream()
        self._full: set[int] = set()  # brokers that have more events than fit in an answer
        self._lock = threading.RLock()

    def state(self, links: Iterable[LinkState]) -> ClusterState:
        with self._lock:
            members = self._members()
            doors = [self._door(broker) for broker in _up(members)]
            for door in doors:
                if not door.waits and door.open():
                    door.ask({"ask": "state"}, self._see(door))
            converse(doors, PATIENCE)
            return self._view.snapshot(_now(), members, links)

    def events(self, after: int) -> list[Happened]:
        with self._lock:
            self.collect(_up(self._members()))
            return self._stream.after(after)

    def collect(self, brokers: Collection[int]) -> None:
        """Take over what has happened in these brokers; before one is killed, for instance."""
        with self._lock:
            doors = [self._door(broker) for broker in brokers]
            for _ in range(ROUNDS):
                for door in doors:
                    if not door.waits and door.open():
                        self._ask_for_events(door)
                converse(doors, PATIENCE)
                if not any(door.number in self._full for door in doors):
                    break
            self._stream.merge()

    def note(self, kind: str, **data: Any) -> None:
        """Something that we did to the cluster."""
        with self._lock:
            self._stream.note(Happened(kind, _now(), None, data))

    def tell(self, broker: int, request: dict[str, Any], *, wait: bool = True) -> dict[str, Any]:
        """Have a broker do something. A paused one will when it is resumed: don't wait for it."""
        answers: list[dict[str, Any]] = []
        deadline = time.monotonic() + OBEDIENCE
        with self._lock:
            door = self._door(broker)
            while not door.ask(request, answers.append) and time.monotonic() < deadline:
                time.sleep(PAUSE)  # it is just starting
            while wait and not answers and door.waits and time.monotonic() < deadline:
                door.late = False
                converse([door], deadline - time.monotonic())
        if wait and not answers:
            raise KafkaError(ErrorCode.request_timed_out, f"broker {broker} does not answer")
        if wait and "error" in answers[0]:
            raise KafkaError(ErrorCode.invalid_request, str(answers[0]["error"]))
        return answers[0] if answers else {}

    def close(self) -> None:
        with self._lock:
            for door in self._doors.values():
                door.close()

    def _door(self, broker: int) -> Door:
        if broker not in self._doors:
            self._doors[broker] = Door(broker, self._directory(broker))
        return self._doors[broker]

    def _see(self, door: Door) -> Take:
        conversation = door.conversations

        def take(answer: dict[str, Any]) -> None:
            if "error" not in answer:
                self._view.told(door.number, conversation, answer)

        return take

    def _ask_for_events(self, door: Door) -> None:
        """From where we stopped in this life of the broker."""
        broker, life = door.number, door.lives

        def take(answer: dict[str, Any]) -> None:
            if "error" not in answer:
                self._stream.told(broker, life, answer)
                (self._full.add if len(answer["events"]) == AT_ONCE else self._full.discard)(broker)

        after = self._stream.last_of(broker, life)
        self._full.discard(broker)
        door.ask({"ask": "events", "after": after, "most": AT_ONCE}, take)


def _up(members: Mapping[int, Member]) -> list[int]:
    return [broker for broker, member in members.items() if member.status is Status.UP]


def _now() -> int:
    return time.time_ns() // 1_000_000
