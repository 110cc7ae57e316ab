"""How many requests of each kind this broker has answered, and how long that took.

Counted only while somebody looks: a page of metrics (prometheus.port), or a lab
(`cluster.count_requests()`). The time of a request is that from its bytes to its response: a Fetch
that waits for records, or a Produce that waits for followers, waits here.

The broker has one event loop. A request stands in no queue of requests; what it waits for while
the loop is busy with others is in its time.
"""

from collections import Counter

from engine.wire.apis import ApiKey
from engine.wire.kraft_apis import EVERY_API


class RequestCounts:
    def __init__(self) -> None:
        self.on = False
        self.numbers: Counter[ApiKey] = Counter()
        self.times: Counter[ApiKey] = Counter()  # ns

    def add(self, key: int, took_ns: int) -> None:
        api = EVERY_API[key]
        self.numbers[api] += 1
        self.times[api] += took_ns

    def rows(self) -> dict[str, tuple[int, int]]:
        """By API: how many, and their milliseconds."""
        return {api.name: (it, self.times[api] // 10**6) for api, it in self.numbers.items()}
