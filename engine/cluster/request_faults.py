"""What a lab asks a broker to do to its answers to clients: checked here, done by the broker.

    cluster.fail_requests(1, "Produce", "NOT_ENOUGH_REPLICAS", times=3)
    cluster.drop_next_answer(1, "Produce")
    cluster.slow_coordinator(1, 500)

The broker keeps them (engine.broker.request_faults) until they are used up, healed, or its process
ends.
"""

from collections.abc import Mapping
from typing import Any

from engine.cluster.broker_process import BrokerProcess
from engine.cluster.observer import Observer
from engine.cluster.state import Status
from engine.errors import ErrorCode, KafkaError
from engine.wire.apis import Api

ErrorName = ErrorCode | str  # "NOT_ENOUGH_REPLICAS", or the code
MOST_MS = 3_600_000


class RequestFaultSender:
    def __init__(self, observer: Observer, nodes: Mapping[int, BrokerProcess]) -> None:
        self._observer, self._nodes = observer, nodes
        self._asked: set[int] = set()  # brokers that were asked for a fault, and not healed since

    def fail(self, node: BrokerProcess, api: Api | str, error: ErrorName, times: int) -> None:
        found, code = api_of(api), _error(error)
        _check("times", times, 2**31 - 1)
        request = {"ask": "fail", "api": int(found), "error": int(code), "times": times}
        self._send(node, request)
        facts = {"api": found.name, "error": code.name.upper(), "times": times}
        self._observer.note("requests.failing", broker=node.number, **facts)

    def drop(self, node: BrokerProcess, api: Api | str | None) -> None:
        found = None if api is None else api_of(api)
        key = None if found is None else int(found)
        self._send(node, {"ask": "drop", "answers": 1, "api": key})
        name = None if found is None else found.name
        self._observer.note("answer.dropping", broker=node.number, api=name)

    def slow_coordinator(self, node: BrokerProcess, ms: int) -> None:
        _check("ms", ms, MOST_MS)
        self._send(node, {"ask": "slow_coordinator", "ms": ms})
        self._observer.note("coordinator.slowed", broker=node.number, ms=ms)

    def heal(self, *brokers: int) -> None:
        """Take all of them back, or those of some brokers. A paused one does so when resumed."""
        asked = sorted(self._asked & {*(brokers or self._nodes)})
        self._asked -= {*asked}
        for node in map(self._nodes.__getitem__, asked):
            if self._observer.request_running(node, {"ask": "heal_requests"}).get("healed"):
                self._observer.note("requests.healed", broker=node.number)

    def _send(self, node: BrokerProcess, request: dict[str, Any]) -> None:
        if node.status is not Status.UP and not node.is_kafka:
            remedy = "restart" if node.status is Status.DOWN else "resume"
            raise KafkaError(
                ErrorCode.broker_not_available,
                f"broker {node.number} is {node.status.value}: first call "
                f"cluster.{remedy}({node.number})",
            )
        self._observer.request(node.number, request)
        self._asked.add(node.number)


def api_of(name: Api | str) -> Api:
    """Of clients: "Produce", "PRODUCE", Api.PRODUCE; "InitProducerId" ..."""
    wanted = (name.name if isinstance(name, Api) else str(name)).replace("_", "").upper()
    for api in Api:
        if api.name.replace("_", "") == wanted and not api.between_brokers:
            return api
    raise KafkaError(
        ErrorCode.invalid_request,
        f"there is no API {name!r} for clients: write its name as Kafka does, "
        '"Produce" or "InitProducerId"',
    )


def _error(name: ErrorName) -> ErrorCode:
    wanted = name.name if isinstance(name, ErrorCode) else str(name).lower()
    found = ErrorCode.__members__.get(wanted)
    if found in (None, ErrorCode.none):
        raise KafkaError(
            ErrorCode.invalid_request,
            f"{name!r} is no error of Kafka's: write its name, as in NOT_ENOUGH_REPLICAS",
        )
    assert found is not None
    return found


def _check(what: str, number: int, most: int) -> None:
    if not isinstance(number, int) or not 0 <= number <= most:
        raise KafkaError(
            ErrorCode.invalid_request,
            f"{what} is a number from 0, which takes the fault back, to {most}, not {number!r}",
        )
