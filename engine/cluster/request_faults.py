"""`cluster.requests`: faults of clients' requests and of their answers, at one broker.

    requests.fail(1, "Produce", "NOT_ENOUGH_REPLICAS", times=3)
    requests.drop_next_answer(1, "Produce")
    requests.slow_coordinator(1, 500)
    requests.repeat(1, "EndTxn"); requests.deliver_repeats(1)

The broker keeps them (engine.broker.request_faults) until they are used up, healed, or its process
ends.
"""

import time
from difflib import get_close_matches
from typing import Any

from engine.cluster.broker_processes import BrokerProcesses
from engine.cluster.observer import Observer
from engine.cluster.state import Status
from engine.errors import ApiException, ErrorCode, invalid_request
from engine.table import Table
from engine.wire.apis import Api

ErrorName = ErrorCode | str  # "NOT_ENOUGH_REPLICAS", or the code
ApiName = Api | str  # "Produce", "PRODUCE" or Api.PRODUCE
MOST_MS = 3_600_000
HANDLED_S = 60.0  # in which a request that came again is handled, replication included
CHECK_S = 0.02  # between two looks


class RequestFaultSender:
    def __init__(self, observer: Observer, processes: BrokerProcesses) -> None:
        self._observer, self._processes = observer, processes
        self._asked: set[int] = set()  # brokers that were asked for a fault, and not healed since

    def fail(self, broker: int, api: ApiName, error: ErrorName, times: int = 1) -> None:
        """Answer the next requests of clients of this API with an error, and do nothing else.

        fail(1, "Produce", "NOT_ENOUGH_REPLICAS"); `times=0` takes it back.
        """
        found, code = api_of(api), _error(error)
        _check("times", times, 2**31 - 1)
        self._send(broker, "fail", api=int(found), error=int(code), times=times)
        facts = {"api": found.name, "error": code.name.upper(), "times": times}
        self._observer.note("requests.failing", broker=broker, **facts)

    def drop_next_answer(self, broker: int, api: ApiName | None = None) -> None:
        """Lose the next answer to a client: the request is done (its records are stored), then the
        connection breaks, and the client can't know which of both has failed.

        With `api`: the next answer to a request of that kind.
        """
        found = None if api is None else api_of(api)
        self._send(broker, "drop", answers=1, api=None if found is None else int(found))
        name = None if found is None else found.name
        self._observer.note("answer.dropping", broker=broker, api=name)

    def slow_coordinator(self, broker: int, ms: int) -> None:
        """Delay what this broker answers as a coordinator of groups or transactions; 0: no longer.

        JoinGroup, Heartbeat, OffsetCommit, EndTxn ...: each is done at once, and answered later.
        """
        _check("ms", ms, MOST_MS)
        self._send(broker, "slow_coordinator", ms=ms)
        self._observer.note("coordinator.slowed", broker=broker, ms=ms)

    def repeat(self, broker: int, api: ApiName, ms: int | None = None, times: int = 1) -> None:
        """The next request of this API comes a second time, as if the network had delivered it
        twice: it is done and answered as always, and a copy comes `ms` later.

        Without `ms`: when `deliver_repeats` is called. WriteTxnMarkers of brokers may be repeated.
        `times`: the next so many requests; 0 takes it back.
        """
        found = api_of(api, Api.WRITE_TXN_MARKERS)
        if ms is not None:
            _check("ms", ms, MOST_MS)
        _check("times", times, 2**31 - 1)
        self._send(broker, "repeat", api=int(found), ms=ms, times=times)
        facts = {"ms": ms, "times": times}
        self._observer.note("request.repeating", broker=broker, api=found.name, **facts)

    def deliver_repeats(self, broker: int) -> Table:
        """The copies of requests come now; returns what each was, and how it was answered."""
        known = [*self._observer.events(0)][-1].number
        copies = self._send(broker, "deliver")["copies"]
        deadline = time.monotonic() + HANDLED_S
        while len(rows := self._repeated(broker, known)) < copies:
            if time.monotonic() > deadline:
                raise ApiException(
                    ErrorCode.request_timed_out, "a repeated request is not done yet"
                )
            time.sleep(CHECK_S)
        return Table("request, answered", rows)

    def _repeated(self, broker: int, after: int) -> list[tuple[str, str]]:
        return [
            (event.data["api"], event.data["error"])
            for event in self._observer.events(after)
            if event.kind == "request.repeated" and event.broker == broker
        ]

    def heal(self, broker: int | None = None) -> None:
        """Take back all of these, on one broker or on all. A paused one does so when resumed."""
        brokers = self._processes.numbers if broker is None else [self._processes[broker].number]
        for number in sorted(self._asked & {*brokers}):
            self._asked.remove(number)
            node = self._processes[number]
            if self._observer.request_running(node, {"ask": "heal_requests"}).get("healed"):
                self._observer.note("requests.healed", broker=number)

    def _send(self, broker: int, ask: str, **details: Any) -> dict[str, Any]:
        node = self._processes[broker]
        if node.status is not Status.UP and not node.is_kafka:
            remedy = "restart" if node.status is Status.DOWN else "resume"
            raise ApiException(
                ErrorCode.broker_not_available,
                f"broker {broker} is {node.status.value}: first call cluster.{remedy}({broker})",
            )
        self._asked.add(broker)
        return self._observer.request(broker, {"ask": ask, **details})


def api_of(name: ApiName, *others: Api) -> Api:
    """Of clients, or one of the others: "Produce", "PRODUCE", Api.PRODUCE; "InitProducerId" ..."""
    wanted = (name.name if isinstance(name, Api) else str(name)).replace("_", "").upper()
    known = {
        api.name.title().replace("_", ""): api
        for api in Api
        if api in others or not api.between_brokers
    }
    for title, api in known.items():
        if title.upper() == wanted:
            return api
    near = get_close_matches(str(name), known, n=1)
    hint = f'; did you mean "{near[0]}"?' if near else ""
    raise invalid_request(
        f"there is no API {name!r} for clients: write its name as Kafka does, "
        f'"Produce" or "InitProducerId"{hint}'
    )


def _error(name: ErrorName) -> ErrorCode:
    wanted = name.name if isinstance(name, ErrorCode) else str(name).lower()
    found = ErrorCode.__members__.get(wanted)
    if found in (None, ErrorCode.none):
        raise invalid_request(
            f"{name!r} is no error of Kafka's: write its name, as in NOT_ENOUGH_REPLICAS"
        )
    assert found is not None
    return found


def _check(what: str, number: int, most: int) -> None:
    if not isinstance(number, int) or not 0 <= number <= most:
        raise invalid_request(
            f"{what} is a number from 0, which takes the fault back, to {most}, not {number!r}"
        )
