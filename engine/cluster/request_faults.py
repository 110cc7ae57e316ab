"""What a lab asks a broker to do to clients' requests and its answers: checked here, done there.

    cluster.fail_requests(1, "Produce", "NOT_ENOUGH_REPLICAS", times=3)
    cluster.drop_next_answer(1, "Produce")
    cluster.slow_coordinator(1, 500)
    cluster.repeat_request(1, "EndTxn"); cluster.deliver_repeats(1)

The broker keeps them (engine.broker.request_faults) until they are used up, healed, or its process
ends.
"""

import time
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from engine.cluster.broker_process import BrokerProcess
from engine.cluster.observer import Observer
from engine.cluster.state import Status
from engine.errors import ApiException, ErrorCode
from engine.table import Table
from engine.wire.apis import Api

ErrorName = ErrorCode | str  # "NOT_ENOUGH_REPLICAS", or the code
ApiName = Api | str  # "Produce", "PRODUCE" or Api.PRODUCE
MOST_MS = 3_600_000
HANDLED_S = 60.0  # in which a request that came again is handled, replication included
CHECK_S = 0.02  # between two looks


class RequestFaultSender:
    def __init__(self, observer: Observer, nodes: Mapping[int, BrokerProcess]) -> None:
        self._observer, self._nodes = observer, nodes
        self._asked: set[int] = set()  # brokers that were asked for a fault, and not healed since

    def fail(self, node: BrokerProcess, api: ApiName, error: ErrorName, times: int) -> None:
        found, code = api_of(api), _error(error)
        _check("times", times, 2**31 - 1)
        request = {"ask": "fail", "api": int(found), "error": int(code), "times": times}
        self._send(node, request)
        facts = {"api": found.name, "error": code.name.upper(), "times": times}
        self._observer.note("requests.failing", broker=node.number, **facts)

    def drop(self, node: BrokerProcess, api: ApiName | None) -> None:
        found = None if api is None else api_of(api)
        key = None if found is None else int(found)
        self._send(node, {"ask": "drop", "answers": 1, "api": key})
        name = None if found is None else found.name
        self._observer.note("answer.dropping", broker=node.number, api=name)

    def slow_coordinator(self, node: BrokerProcess, ms: int) -> None:
        _check("ms", ms, MOST_MS)
        self._send(node, {"ask": "slow_coordinator", "ms": ms})
        self._observer.note("coordinator.slowed", broker=node.number, ms=ms)

    def repeat(self, node: BrokerProcess, api: ApiName, ms: int | None, times: int) -> None:
        found = api_of(api, Api.WRITE_TXN_MARKERS)
        if ms is not None:
            _check("ms", ms, MOST_MS)
        _check("times", times, 2**31 - 1)
        facts = {"ms": ms, "times": times}
        self._send(node, {"ask": "repeat", "api": int(found), **facts})
        self._observer.note("request.repeating", broker=node.number, api=found.name, **facts)

    def deliver(self, node: BrokerProcess) -> Table:
        """A row for each copy that has come: its API, and the error that it was answered with."""
        known = [*self._observer.events(0)][-1].number
        copies = self._send(node, {"ask": "deliver"})["copies"]
        deadline = time.monotonic() + HANDLED_S
        while len(rows := self._repeated(node.number, known)) < copies:
            if time.monotonic() > deadline:
                raise ApiException(
                    ErrorCode.request_timed_out, "a repeated request is not done yet"
                )
            time.sleep(CHECK_S)
        return Table("request, answered", rows)

    def _repeated(self, broker: int, after: int) -> list[tuple[str, str]]:
        return [
            (each.data["api"], each.data["error"])
            for each in self._observer.events(after)
            if each.kind == "request.repeated" and each.broker == broker
        ]

    def heal(self, *brokers: int) -> None:
        """Take all of them back, or those of some brokers. A paused one does so when resumed."""
        asked = sorted(self._asked & {*(brokers or self._nodes)})
        self._asked -= {*asked}
        for node in map(self._nodes.__getitem__, asked):
            if self._observer.request_running(node, {"ask": "heal_requests"}).get("healed"):
                self._observer.note("requests.healed", broker=node.number)

    def _send(self, node: BrokerProcess, request: dict[str, Any]) -> dict[str, Any]:
        if node.status is not Status.UP and not node.is_kafka:
            remedy = "restart" if node.status is Status.DOWN else "resume"
            raise ApiException(
                ErrorCode.broker_not_available,
                f"broker {node.number} is {node.status.value}: first call "
                f"cluster.{remedy}({node.number})",
            )
        self._asked.add(node.number)
        return self._observer.request(node.number, request)


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
    raise ApiException(
        ErrorCode.invalid_request,
        f"there is no API {name!r} for clients: write its name as Kafka does, "
        f'"Produce" or "InitProducerId"{hint}',
    )


def _error(name: ErrorName) -> ErrorCode:
    wanted = name.name if isinstance(name, ErrorCode) else str(name).lower()
    found = ErrorCode.__members__.get(wanted)
    if found in (None, ErrorCode.none):
        raise ApiException(
            ErrorCode.invalid_request,
            f"{name!r} is no error of Kafka's: write its name, as in NOT_ENOUGH_REPLICAS",
        )
    assert found is not None
    return found


def _check(what: str, number: int, most: int) -> None:
    if not isinstance(number, int) or not 0 <= number <= most:
        raise ApiException(
            ErrorCode.invalid_request,
            f"{what} is a number from 0, which takes the fault back, to {most}, not {number!r}",
        )
