"""What broker/controlling.py and broker/channels.py are, on the virtual clock.

    events ──> queue ──> Controller.handle ──> questions ──> Keeper
                 ^             │    ^              │            │
                 │          outbox  └── answers ───│────────────┤
                 │             v                   │            │
                 └───────── channels ──> brokers   └── watches ─┘

One event is carried out to its end before the next is begun. A question that has no answer is
asked again when ZooKeeper is back; when the session is over, all that was begun is given up.
A request that could not be delivered is sent again for as long as the life of the broker lasts
that it was meant for.

Invariant: a broker gets the requests of one controller in the order in which they were decided.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from engine.controller.controller import Controller, Request
from engine.controller.events import Answered, Began, Event
from engine.errors import ErrorCode, KafkaError
from engine.sim.keeper import Keeper
from engine.sim.process import Line, Process
from engine.wire.messages.update_metadata import UpdateMetadataRequest

TIMEOUT = 30_000  # ms for an answer, Kafka's controller.socket.timeout.ms
PAUSE = 100  # ms until a request that was not delivered is sent again

Result = Callable[[Any], object]


def nobody(result: object) -> None:
    """Nobody waits for it."""


class Controlling:
    def __init__(
        self,
        process: Process,
        controller: Controller,
        keeper: Keeper,
        machine: Callable[[int], str],  # the name of a broker's
    ) -> None:
        self.controller = controller
        self._process = process
        self._keeper = keeper
        self._machine = machine
        self._events: deque[tuple[Event, Result]] = deque()
        self._work: Any = None  # what is being carried out
        self._result: Result = nobody
        self._unanswered: Sequence[Any] = ()  # to be asked again when ZooKeeper is back
        self._channels: dict[tuple[int, int], Channel] = {}  # by broker and its epoch

    def note(self, event: Event) -> None:
        """To be handled after what was noted before."""
        self._events.append((event, nobody))
        self._next()

    def ask(self, event: Event, result: Result) -> None:
        """Have an event handled; `result` gets what comes of it. Only the controller does that."""
        if not self.controller.active:
            result(_not_controller(f"the controller is broker {self.controller.leader_id}"))
            return
        self._events.append((event, result))
        self._next()

    # -- the session with ZooKeeper ------------------------------------------------------

    def began(self) -> None:
        self.note(Began())

    def connected(self) -> None:
        if self._unanswered:
            asks, self._unanswered = self._unanswered, ()
            self._put(asks)

    def expired(self) -> None:
        """Our session is over, and with it whatever we were."""
        self.controller.expired()
        self._hang_up()
        waiting = [result for _, result in self._events]
        self._events.clear()
        if self._work is not None:
            self._work.close()
            waiting.insert(0, self._result)
        self._work, self._unanswered = None, ()
        for result in waiting:
            result(_not_controller("this broker has just lost its office"))

    # -- one event after the other -------------------------------------------------------

    def _next(self) -> None:
        while self._work is None and self._events:
            event, self._result = self._events.popleft()
            self._work = self.controller.handle(event)
            self._go_on(self._work, None)

    def _go_on(self, work: Any, answers: Sequence[Any] | None) -> None:
        try:
            asks = work.send(answers)
        except StopIteration as end:
            self._work = None
            self._post()
            self._result(end.value)
        else:
            self._post()
            self._put(asks)

    def _put(self, asks: Sequence[Any]) -> None:
        work = self._work
        self._keeper.ask(asks, lambda answers: self._answered(work, asks, answers), self.note)

    def _answered(self, work: Any, asks: Sequence[Any], answers: Any) -> None:
        if work is not self._work:
            return  # given up with its session
        if answers is None:
            self._unanswered = asks
        else:
            self._go_on(work, answers)
            self._next()

    # -- what the brokers are told -------------------------------------------------------

    def _post(self) -> None:
        if not self.controller.active:
            self._hang_up()
            return
        requests = [*self.controller.outbox]
        self.controller.outbox.clear()
        for request in requests:
            life = request.broker, request.broker_epoch
            if life not in self._channels:
                line = Line(self._process, self._machine(request.broker), TIMEOUT)
                self._channels[life] = Channel(self._process, line, self.note)
            self._channels[life].post(request)
        alive = {(number, each.epoch) for number, each in self.controller.brokers.items()}
        for life in [each for each in self._channels if each not in alive]:
            self._channels.pop(life).close()

    def _hang_up(self) -> None:
        """This broker is the controller no longer: what it has not said yet stays unsaid."""
        for channel in self._channels.values():
            channel.close()
        self._channels.clear()


class Channel:
    """To one broker in one of its lives: one request on the way, the rest behind it."""

    def __init__(self, process: Process, line: Line, told: Callable[[Answered], None]) -> None:
        self._process = process
        self._line = line
        self._told = told
        self._requests: deque[Request] = deque()
        self._open = True

    def post(self, request: Request) -> None:
        self._requests.append(request)
        if len(self._requests) == 1:
            self._send()

    def close(self) -> None:
        self._open = False
        self._line.close()

    def _send(self) -> None:
        if self._open and self._requests:
            self._line.ask(self._requests[0].message, self._heard)

    def _heard(self, response: Any) -> None:
        if response is None:
            self._process.after(PAUSE, self._send)
            return
        broker, epoch, message = self._requests.popleft()
        self._send()
        if not isinstance(message, UpdateMetadataRequest):
            self._told(Answered(broker, epoch, message, response))


def _not_controller(why: str) -> KafkaError:
    return KafkaError(ErrorCode.not_controller, why)
