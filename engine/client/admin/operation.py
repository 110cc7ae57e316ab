"""An operation of the admin client: a request, the broker that serves it, what its answer means.

    @operation(Api.DELETE_TOPICS, to_controller, done("responses"))
    def delete_topic(name) -> DeleteTopicsRequest: ...

    delete_topic(cluster, "orders")     builds the request, sends it, reads the answer

The decorated function only builds the request. Its first argument is what the operation is about,
and the route finds the broker by it:

    to_controller   the controller, which changes the metadata of the cluster
    to_leader       the leader of the partition         to_coordinator   that of the group
    to_broker       the broker with this number         TO_ANY           the first that answers

A reader raises the error of an answer. While the error is one that may pass (an election, a broker
that starts), the broker is looked up again and the request is sent to it; TO_ANY sends it once.
"""

from collections.abc import Callable, Collection, Iterable
from typing import Any, Generic, ParamSpec, TypeVar

from engine.client.cluster import ClusterClient, check
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.wire.apis import Api

P = ParamSpec("P")
R = TypeVar("R")

Route = Callable[[ClusterClient, Any], int]  # to the broker that serves what an operation is about
Outcomes = dict[TopicPartition, ApiException | None]  # None: done, or begun


def to_controller(cluster: ClusterClient, _: object) -> int:
    return cluster.controller()


def to_broker(_: ClusterClient, broker: int) -> int:
    return broker


def to_leader(cluster: ClusterClient, partition: TopicPartition) -> int:
    return cluster.leader(partition)


def to_coordinator(cluster: ClusterClient, group: str) -> int:
    return cluster.coordinator(group)


TO_ANY: Route | None = None


class AdminOperation(Generic[P, R]):
    def __init__(
        self, api: Api, route: Route | None, request: Callable[P, Any], read: Callable[[Any], R]
    ) -> None:
        self._api, self._route, self._request, self._read = api, route, request, read
        self.__doc__ = request.__doc__

    def __call__(self, cluster: ClusterClient, *args: P.args, **kwargs: P.kwargs) -> R:
        if self._route is TO_ANY:
            return self._read(cluster.ask_any(self._api, self._request(*args, **kwargs)))
        return self.answer(cluster, *args, **kwargs)[1]

    def answer(self, cluster: ClusterClient, *args: P.args, **kwargs: P.kwargs) -> tuple[int, R]:
        """The broker that has answered, and the result."""
        assert self._route is not None
        route, request, about = self._route, self._request(*args, **kwargs), next(iter(args), None)

        def attempt() -> tuple[int, R]:
            broker = route(cluster, about)
            return broker, self._read(cluster.ask(broker, self._api, request))

        return cluster.retry(attempt)


def operation(
    api: Api, route: Route | None, read: Callable[[Any], R]
) -> Callable[[Callable[P, Any]], AdminOperation[P, R]]:
    return lambda request: AdminOperation(api, route, request, read)


# -- what an answer means ----------------------------------------------------------------------


def check_row(row: Any, what: str = "") -> None:
    check(row.error_code, row.error_message, what)


def check_rows(rows: Iterable[Any]) -> None:
    """Raise the first error."""
    for row in rows:
        check_row(row)


def done(rows: str) -> Callable[[Any], None]:
    """The answer has one row, which has an error or none."""
    return lambda response: check_row(getattr(response, rows)[0])


def outcomes(
    rows: Iterable[tuple[TopicPartition, Any]],
    check: Callable[[Any], None],
    of_the_request: Collection[ErrorCode],
) -> Outcomes:
    """Each partition's error. One that is `of_the_request` is raised, although a row has it: then
    the request is sent again, perhaps to another broker."""
    found: Outcomes = {}
    for partition, row in rows:
        found[partition] = None
        try:
            check(row)
        except ApiException as error:
            if error.code in of_the_request:
                raise
            found[partition] = error
    return found


def only_outcome(outcomes: Outcomes) -> None:
    """Raise the error of a request about one partition."""
    (error,) = outcomes.values()
    if error:
        raise error
