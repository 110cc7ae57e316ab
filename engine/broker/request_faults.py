"""What a lab does to the requests of this broker's clients, and to its answers.

    request ──> fail?    yes: an error, and nothing is done
                repeat?  a copy is kept, and handled later, when the client has gone on
                no:      handler ──> answer ──> slow?  the answer of a coordinator waits
                                                drop?  the connection is closed in its place

A request that fails has its error where Kafka puts it: in each row, for the whole request, or both.
An answer that is slow or dropped is one to a request that was carried out. A connection is served
in order, so what it sends behind a slow request waits too; other connections do not.

A copy stands for a request that the network has delivered twice: the client sent it again on a new
connection, say, and the one that it had given up arrives after all. Nobody hears its answer.

The faults end with the process of the broker. Requests of other brokers have none of them, except
that the markers of transactions may be repeated.

Invariant: without a fault nothing waits here.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, NamedTuple

from engine.errors import ApiException, ErrorCode
from engine.wire.apis import Api
from engine.wire.errors import Malformed
from engine.wire.kraft_apis import EVERY_API

COORDINATED = frozenset(  # what a coordinator of groups or of transactions answers
    {
        Api.OFFSET_COMMIT, Api.OFFSET_FETCH, Api.JOIN_GROUP, Api.HEARTBEAT, Api.LEAVE_GROUP,
        Api.SYNC_GROUP, Api.DESCRIBE_GROUPS, Api.DELETE_GROUPS, Api.OFFSET_DELETE,
        Api.INIT_PRODUCER_ID, Api.ADD_PARTITIONS_TO_TXN, Api.ADD_OFFSETS_TO_TXN, Api.END_TXN,
        Api.TXN_OFFSET_COMMIT,
    }
)  # fmt: skip


class RequestCopy(NamedTuple):
    api: Api
    client: str | None
    handle: Callable[[], Awaitable[set[ErrorCode]]]  # decode it again, and do it


class RequestFaults:
    def __init__(
        self,
        report: Callable[..., None] = lambda kind, **facts: None,
        spawn: Callable[[Coroutine[Any, Any, None]], object] = asyncio.ensure_future,
    ) -> None:
        self._report, self._spawn = report, spawn
        self._failing: dict[Api, tuple[ErrorCode, int]] = {}  # the error, and how often
        self._drops = 0  # answers to be dropped
        self._dropped: Api | None = None  # only answers to these; None: to any
        self._delay = 0.0  # seconds that an answer of a coordinator waits
        # Of how many requests a copy is kept, and the ms after which it comes; None: when asked.
        self.repeats: dict[Api, tuple[int, int | None]] = {}
        self._copies: list[RequestCopy] = []  # that come when asked
        self._timed: list[RequestCopy] = []  # that come by themselves

    @property
    def fails(self) -> bool:
        return bool(self._failing)

    @property
    def is_slow(self) -> bool:
        return bool(self._delay)

    def fail(self, api: Api, error: ErrorCode, times: int) -> None:
        """The next so many requests of this API; 0: no more."""
        self._failing.pop(api, None)
        if times:
            self._failing[api] = error, times

    def drop(self, answers: int, api: Api | None = None) -> None:
        self._drops, self._dropped = answers, api

    def slow_coordinator(self, seconds: float) -> None:
        self._delay = seconds

    def repeat(self, api: Api, ms: int | None, times: int) -> None:
        """Keep copies of the next so many requests; each comes after some ms, or by `deliver`."""
        self.repeats.pop(api, None)
        if times:
            self.repeats[api] = times, ms

    def deliver(self) -> int:
        """The copies that were kept come now, in their order; returns how many these are."""
        copies, self._copies = self._copies, []

        async def each() -> None:
            for copy in copies:
                await self._come(copy)

        if copies:
            self._spawn(each())
        return len(copies)

    def heal(self) -> bool:
        """Remove all of them; False: there was none. A copy that was kept never comes."""
        had_some = bool(self.rows())
        self._failing.clear()
        self.repeats.clear()
        self._copies.clear()
        self._timed.clear()
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
        kept = Counter(copy.api for copy in self._copies)
        for repeated in sorted(self.repeats.keys() | kept.keys()):
            times, ms = self.repeats.get(repeated, (0, None))
            row = {"fault": "repeat", "api": repeated.name, "ms": ms, "times": times}
            rows.append(row | {"kept": kept[repeated]})
        return rows

    # -- while requests are served -----------------------------------------------------------

    def refuses(self, api: Api, client: str | None) -> ApiException | None:
        """The error of a request that has just come from a client; None: it is served."""
        if api not in self._failing:
            return None
        error, times = self._failing[api]
        self.fail(api, error, times - 1)
        self._report("request.failed", api=api.name, error=error.name.upper(), client=client)
        return ApiException(error, f"a lab asked for this error: {error.name.upper()}")

    def keep(self, copy: RequestCopy) -> None:
        """A request has come: if it is to be repeated, this is its copy."""
        if copy.api not in self.repeats:
            return
        times, ms = self.repeats[copy.api]
        self.repeat(copy.api, ms, times - 1)
        if ms is None:
            self._copies.append(copy)
            return

        async def later() -> None:
            await asyncio.sleep(ms / 1000)
            if copy in self._timed:  # not healed meanwhile
                self._timed.remove(copy)
                await self._come(copy)

        self._timed.append(copy)
        self._spawn(later())

    async def _come(self, copy: RequestCopy) -> None:
        try:
            codes = await copy.handle()
        except Malformed:  # the broker would close the connection, and this one has none
            codes = set()
        errors = ", ".join(sorted(code.name.upper() for code in codes)) or "NONE"
        self._report("request.repeated", api=copy.api.name, client=copy.client, error=errors)

    def drops(self, key: int, client: str | None) -> bool:
        """Whether the answer that is now ready for a client is to be dropped."""
        if not self._drops or self._dropped not in (None, key):
            return False
        self._drops -= 1
        self._report("answer.dropped", api=EVERY_API[key].name, client=client)
        return True

    def delay(self, api: Api, request: Any) -> float:
        """Seconds for which the answer to a client waits. Any broker, not just a coordinator,
        gives a producer without a transactional id its number."""
        if not self._delay or api not in COORDINATED:
            return 0.0
        numbered = api is Api.INIT_PRODUCER_ID and request.transactional_id is None
        return 0.0 if numbered else self._delay
