"""An operation of the admin client: which broker gets its request, and when it is sent again."""

from collections.abc import Callable
from types import SimpleNamespace as Message
from typing import Any

import pytest

from engine.client.admin.operation import (
    TO_ANY,
    Route,
    done,
    only_outcome,
    operation,
    outcomes,
    to_broker,
    to_controller,
    to_coordinator,
    to_leader,
)
from engine.client.cluster import PASSING, ClusterClient
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.wire.apis import Api

ORDERS, BILLS = TopicPartition("orders", 0), TopicPartition("bills", 0)


class Asked(ClusterClient):
    """A cluster that notes who is asked, and answers with these codes, the last one for ever."""

    def __init__(self, *codes: ErrorCode) -> None:
        self.codes, self.asked = list(codes), list[tuple[Any, Any]]()

    def controller(self) -> int:
        return 1

    def leader(self, partition: TopicPartition) -> int:
        return {ORDERS: 2}[partition]

    def coordinator(self, group: str) -> int:
        return {"billing": 3}[group]

    def ask(self, broker: Any, api: Api, request: Any) -> Any:
        self.asked.append((broker, request))
        code = self.codes.pop(0) if len(self.codes) > 1 else self.codes[0]
        return Message(results=[Message(error_code=code, error_message="why")])

    def ask_any(self, api: Api, request: Any) -> Any:
        return self.ask("any", api, request)

    def retry(self, attempt: Callable[[], Any]) -> Any:
        try:
            return attempt()
        except ApiException as error:
            if error.code not in PASSING:
                raise
            return attempt()


def asks(route: Route | None) -> Any:
    @operation(Api.DELETE_TOPICS, route, done("results"))
    def ask(about: Any, more: int = 0) -> tuple[Any, int]:
        return about, more

    return ask


@pytest.mark.parametrize(
    ("route", "about", "broker"),
    [
        (to_controller, "orders", 1),
        (to_broker, 7, 7),
        (to_leader, ORDERS, 2),
        (to_coordinator, "billing", 3),
        (TO_ANY, "orders", "any"),
    ],
)
def test_the_route_finds_the_broker_by_the_first_argument(
    route: Route | None, about: Any, broker: int | str
) -> None:
    cluster = Asked(ErrorCode.none)
    assert asks(route)(cluster, about, more=5) is None
    assert cluster.asked == [(broker, (about, 5))]


def test_an_error_that_may_pass_is_asked_about_again() -> None:
    cluster = Asked(ErrorCode.not_controller, ErrorCode.none)
    asks(to_controller)(cluster, "orders")
    assert len(cluster.asked) == 2


@pytest.mark.parametrize(
    ("route", "code"),
    [(to_controller, ErrorCode.topic_authorization_failed), (TO_ANY, ErrorCode.not_controller)],
)
def test_any_other_error_is_raised_and_any_broker_is_asked_once(
    route: Route | None, code: ErrorCode
) -> None:
    cluster = Asked(code)
    with pytest.raises(ApiException, match="why") as failure:
        asks(route)(cluster, "orders")
    assert failure.value.code == code
    assert len(cluster.asked) == 1


def test_each_partition_has_its_own_outcome_but_an_error_of_the_request_is_raised() -> None:
    def check(code: ErrorCode) -> None:
        if code != ErrorCode.none:
            raise ApiException(code, "why")

    rows = [(ORDERS, ErrorCode.none), (BILLS, ErrorCode.no_reassignment_in_progress)]
    found = outcomes(rows, check, [ErrorCode.not_controller])
    assert found[ORDERS] is None and found[BILLS] is not None
    with pytest.raises(ApiException) as failure:
        outcomes([(ORDERS, ErrorCode.not_controller)], check, [ErrorCode.not_controller])
    assert failure.value.code == ErrorCode.not_controller
    only_outcome({ORDERS: None})
    with pytest.raises(ApiException):
        only_outcome({BILLS: found[BILLS]})
