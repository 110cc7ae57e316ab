"""What a lab does to the answers of this broker to its clients.

    request ──> fail?  yes: an error, and nothing is done
                no:    handler ──> answer ──> slow?  the answer of a coordinator waits
                                              drop?  the connection is closed in its place

A request that fails has its error where Kafka puts it: in each row, for the whole request, or both.
An answer that is slow or dropped is one to a request that was carried out. A connection is served
in order, so what it sends behind a slow request waits too; other connections do not.

The faults end with the process of the broker. Requests of other brokers have none of them.

Invariant: without a fault nothing waits here.
"""

from collections.abc import Callable
from typing import Any

from engine.errors import ErrorCode, KafkaError
from engine.wire.apis import APIS, Api

COORDINATED = frozenset(  # what a coordinator of groups or of transactions answers
    {
        Api.OFFSET_COMMIT, Api.OFFSET_FETCH, Api.JOIN_GROUP, Api.HEARTBEAT, Api.LEAVE_GROUP,
        Api.SYNC_GROUP, Api.DESCRIBE_GROUPS, Api.DELETE_GROUPS, Api.OFFSET_DELETE,
        Api.INIT_PRODUCER_ID, Api.ADD_PARTITIONS_TO_TXN, Api.ADD_OFFSETS_TO_TXN, Api.END_TXN,
        Api.TXN_OFFSET_COMMIT,
    }
)  # fmt: skip


class RequestFaults:
    def __init__(self, report: Callable[..., None] = lambda kind, **facts: None) -> None:
        self._report = report
        self._failing: dict[Api, tuple[ErrorCode, int]] = {}  # the error, and how often
        self._drops = 0  # answers to be dropped
        self._dropped: Api | None = None  # only answers to these; None: to any
        self._delay = 0.0  # seconds that an answer of a coordinator waits

    def fail(self, api: Api, error: ErrorCode, times: int) -> None:
        """The next so many requests of this API; 0: no more."""
        self._failing.pop(api, None)
        if times:
            self._failing[api] = error, times

    def drop(self, answers: int, api: Api | None = None) -> None:
        self._drops, self._dropped = answers, api

    def slow_coordinator(self, seconds: float) -> None:
        self._delay = seconds

    def heal(self) -> bool:
        """Remove all of them; False: there was none."""
        had_some = bool(self.rows())
        self._failing.clear()
        self._drops, self._delay = 0, 0.0
        return had_some

    def rows(self) -> list[dict[str, Any]]:
        """The faults, as a cluster's state has them."""
        rows: list[dict[str, Any]] = [
            {"fault": "fail", "api": api.name, "error": error.name.upper(), "times": times}
            for api, (error, times) in self._failing.items()
        ]
        if self._drops:
            api = self._dropped.name if self._dropped is not None else None
            rows.append({"fault": "drop", "api": api, "times": self._drops})
        if self._delay:
            rows.append({"fault": "slow coordinator", "ms": round(self._delay * 1000)})
        return rows

    # -- while requests are served -----------------------------------------------------------

    def refuses(self, api: Api, client: str | None) -> KafkaError | None:
        """The error of a request that has just come from a client; None: it is served."""
        if api not in self._failing:
            return None
        error, times = self._failing[api]
        self.fail(api, error, times - 1)
        self._report("request.failed", api=api.name, error=error.name.upper(), client=client)
        return KafkaError(error, f"a lab asked for this error: {error.name.upper()}")

    def drops(self, key: int, client: str | None) -> bool:
        """Whether the answer that is now ready for a client is to be dropped."""
        if not self._drops or self._dropped not in (None, key):
            return False
        self._drops -= 1
        self._report("answer.dropped", api=APIS[key].name, client=client)
        return True

    def delay(self, api: Api, request: Any) -> float:
        """Seconds for which the answer to a client waits. Any broker, not just a coordinator,
        gives a producer without a transactional id its number."""
        if not self._delay or api not in COORDINATED:
            return 0.0
        numbered = api is Api.INIT_PRODUCER_ID and request.transactional_id is None
        return 0.0 if numbered else self._delay
