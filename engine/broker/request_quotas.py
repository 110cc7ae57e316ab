"""A request whose client may have a quota: it is served, counted, and the client is throttled.

    request ──> handler ──> response, its size ──> record ──> time to wait
                                                                │
    throttle_time_ms = 1200 in the response, sent at once <─────┤
    nothing is read from the connection for 1200 ms       <─────┘     (KIP-219)

    Produce    the size of the request         it counts when the response is ready
    Fetch      the size of the response        if it is too much, an empty one is sent in its place,
                                               and its records are not counted; followers are free
    all        the time spent on it            not the time that it waits for replicas or records
    CreateTopics, CreatePartitions, DeleteTopics    the partitions: their handler takes the tokens;
                                       without ZooKeeper the controller does, and its answer says
                                       how long the client waits

If a client is over several quotas, the longest time counts. Requests between brokers are free.

A broker here has one thread, its event loop, so all clients together can use 100 % of the time. In
Kafka it is 100 % for each of `num.io.threads` and `num.network.threads`.

Left out: topics that are created by themselves, by Metadata or FindCoordinator, do not count.
"""

from collections.abc import Awaitable, Callable, Generator
from dataclasses import replace
from datetime import timedelta
from time import perf_counter_ns
from typing import Any, cast

from engine.broker.fetch_sessions import FetchSessions
from engine.broker.layers import IncomingRequest, Serve, ServedResponse, encoded
from engine.quotas.client_quota_manager import STRICT_SINCE, ControllerMutationQuota, QuotaKind
from engine.quotas.quota_managers import QuotaManagers
from engine.wire.apis import Api
from engine.wire.fetch import FetchAnswer
from engine.wire.frame import SIZE

MILLISECOND = timedelta(milliseconds=1)
PERCENT_OF_A_SECOND = 100 / 1e9  # of a nanosecond


async def with_quotas(
    quotas: QuotaManagers,
    sessions: FetchSessions,
    clock: Callable[[], int],
    serve: Serve,
    incoming: IncomingRequest,
) -> ServedResponse:
    """A layer (layers.py). The connection is told for how long it reads nothing."""
    connection, frame, call, request = incoming
    api = call.api
    client = call.principal.name, call.header.client_id or ""
    follows = api == Api.FETCH and request.replica_id >= 0
    if api in STRICT_SINCE:
        strict = call.version >= STRICT_SINCE[api]
        mutations = ControllerMutationQuota(quotas.mutation, *client, strict=strict)
        call = call._replace(mutations=mutations)
    if api == Api.FETCH and not follows:
        request = limited(request, quotas.fetch.most(*client))
    work = TimedWork(serve(IncomingRequest(connection, frame, call, request)))
    served: ServedResponse = await work
    response, answer = served
    if follows or api.between_brokers:
        return served

    now, waits = clock(), dict[QuotaKind, int]()
    if answer is not None:  # Produce with acks=0 has none, and its time does not count
        used = work.spent * PERCENT_OF_A_SECOND
        waits[QuotaKind.REQUEST] = quotas.request.record(*client, used, now)
    if api is Api.PRODUCE:
        waits[QuotaKind.PRODUCE] = quotas.produce.record(*client, len(frame), now)
    if call.mutations is not None:
        own = call.mutations.throttle_ms(now)
        waits[QuotaKind.CONTROLLER_MUTATION] = max(own, response.throttle_time // MILLISECOND)
    size = 0
    if api == Api.FETCH:
        assert answer is not None
        (size,) = SIZE.unpack_from(cast(bytes, answer[0]))
        waits[QuotaKind.FETCH] = quotas.fetch.record(*client, size, now)
    kind = max(waits, key=lambda each: waits[each], default=QuotaKind.REQUEST)
    wait = waits.get(kind, 0)
    if wait <= 0:
        return served

    quotas.note(kind, *client, wait, now)
    connection.throttle_ms = wait
    if isinstance(response, FetchAnswer):
        quotas.fetch.unrecord(*client, size, now)
        response = sessions.withhold(response)
    if response is not None and hasattr(response, "throttle_time"):
        response = replace(response, throttle_time=wait)
        return encoded(call, response)
    return ServedResponse(response, answer)


def limited(request: Any, most: float | None) -> Any:
    """A consumer gets no more at once than its quota allows after a pause, or it would never get
    anything."""
    if most is None or most >= request.max_bytes:
        return request
    limit = max(0, int(most)) if most == most else 0  # not a number: nothing
    return replace(request, max_bytes=limit, min_bytes=min(request.min_bytes, limit))


class TimedWork:
    """Something to await that counts the time in which it runs, in nanoseconds."""

    def __init__(self, work: Awaitable[Any]) -> None:
        self._work = work
        self.spent = 0

    def __await__(self) -> Generator[Any, Any, Any]:
        steps = self._work.__await__()
        failure: BaseException | None = None
        while True:
            began = perf_counter_ns()
            try:
                waits_for = next(steps) if failure is None else steps.throw(failure)
            except StopIteration as end:
                return end.value
            finally:
                self.spent += perf_counter_ns() - began
            failure = None
            try:
                yield waits_for
            except BaseException as error:  # the event loop's, as for a cancelled task
                failure = error
