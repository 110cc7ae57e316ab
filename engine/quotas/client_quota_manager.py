"""The quotas of one kind for all clients of a broker, and what each group of clients has used.

    producer_byte_rate         bytes of Produce requests a second
    consumer_byte_rate         bytes of Fetch responses a second; not those of followers
    request_percentage         the part of the time in which the broker works on requests, in %
    controller_mutation_rate   partitions created or deleted a second

Each broker counts for itself, so a client of three brokers may use three times its quota.

A rate can be exceeded: a request is done, and then the client waits. Only for request_percentage is
the time to wait limited, to one window.

    record    what was used; returns the time to wait in ms
    unrecord  a Fetch response that is not sent after all
    take      tokens for partitions: see ControllerMutationQuota

Left out: what a client used before it had a quota does not count. In Kafka it counts if any client
had a quota then.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from engine.errors import ApiException, ErrorCode
from engine.quotas.entity import ClientQuotaEntity, QuotaGroup, find
from engine.quotas.rate import WINDOWS, Rate, TokenBucket, Windows, java_int
from engine.wire.apis import Api

# From these versions on a request over the quota is refused: see ControllerMutationQuota.
STRICT_SINCE: Mapping[int, int] = {
    Api.CREATE_TOPICS: 6,
    Api.CREATE_PARTITIONS: 3,
    Api.DELETE_TOPICS: 5,
}
EXPIRED_MS = 3_600_000  # after this time without a request, a client's rate is forgotten
UNLIMITED = 2**63 - 1  # quota.producer.default and quota.consumer.default: none


class QuotaKind(Enum):
    """The keys of a client's quotas."""

    PRODUCE = "producer_byte_rate"
    FETCH = "consumer_byte_rate"
    REQUEST = "request_percentage"
    CONTROLLER_MUTATION = "controller_mutation_rate"


@dataclass(slots=True)
class _Sensor:
    rate: Rate
    bucket: TokenBucket
    quota: float
    used: int = 0  # when it was recorded last
    throttle_ms: int = 0  # the last time to wait; 0 if the last request was within the quota


class ClientQuotaManager:
    def __init__(
        self, kind: QuotaKind, windows: Windows = WINDOWS, default: float = UNLIMITED
    ) -> None:
        self.kind = kind
        self._windows = windows
        self._default = default  # for each client id, if nothing else is set
        self._quotas: dict[ClientQuotaEntity, float] = {}
        self._sensors: dict[QuotaGroup, _Sensor] = {}

    @property
    def enabled(self) -> bool:
        return bool(self._quotas) or self._default != UNLIMITED

    def configure(self, quotas: Mapping[ClientQuotaEntity, float]) -> None:
        """All quotas there are. What the clients have used meanwhile still counts."""
        self._quotas = dict(quotas)

    def quota(self, user: str, client: str) -> tuple[QuotaGroup, float] | None:
        found = find(self._quotas, user, client)
        if found is None and self._default != UNLIMITED and client:
            return QuotaGroup("", client), self._default
        return found

    # -- what is used --------------------------------------------------------------------

    def record(self, user: str, client: str, value: float, now: int) -> int:
        sensor = self._sensor(user, client, now)
        if sensor is None:
            return 0
        sensor.rate.record(value, now)
        wait = sensor.rate.throttle_ms(sensor.quota, now)
        if self.kind is QuotaKind.REQUEST:
            wait = min(wait, self._windows.size_ms)
        sensor.throttle_ms = max(0, java_int(wait))
        return sensor.throttle_ms

    def unrecord(self, user: str, client: str, value: float, now: int) -> None:
        sensor = self._sensor(user, client, now)
        if sensor is not None:
            sensor.rate.record(-value, now)

    def most(self, user: str, client: str) -> float | None:
        """More than this at once is always too much, even after a pause; None: no limit."""
        found = self.quota(user, client)
        if found is None:
            return None
        return found[1] * (self._windows.number - 1) * self._windows.seconds

    def _sensor(self, user: str, client: str, now: int) -> _Sensor | None:
        found = self.quota(user, client)
        if found is None:
            return None
        group, quota = found
        sensor = self._sensors.get(group)
        if sensor is None:
            sensor = _Sensor(Rate(self._windows), TokenBucket(self._windows), quota)
            self._sensors[group] = sensor
        sensor.used, sensor.quota = now, quota
        return sensor

    def take(self, user: str, client: str, value: float, now: int, *, strict: bool) -> int | None:
        """Take tokens; the time to wait if some are missing. If `strict`, then none are taken."""
        sensor = self._sensor(user, client, now)
        if sensor is None:
            return None
        bucket, quota = sensor.bucket, sensor.quota
        wait = bucket.throttle_ms(quota, now) if strict else None
        if wait is None:
            bucket.record(value, quota, now)
            wait = None if strict else bucket.throttle_ms(quota, now)
        sensor.throttle_ms = max(0, java_int(wait or 0))
        return wait

    # -- upkeep --------------------------------------------------------------------------

    def expire(self, now: int) -> None:
        for group, sensor in list(self._sensors.items()):
            if now - sensor.used > EXPIRED_MS:
                del self._sensors[group]

    def usage(self, now: int) -> Iterator[dict[str, Any]]:
        """Of those who have used something in the last windows, or are waiting: rows for the
        broker's state. No user: all who have the client id. For CONTROLLER_MUTATION the rate is
        the tokens that are left."""
        since = now - self._windows.number * self._windows.size_ms
        for group, sensor in sorted(self._sensors.items()):
            if self.enabled and sensor.used + sensor.throttle_ms >= since:
                tokens = self.kind is QuotaKind.CONTROLLER_MUTATION
                bucket, rate = sensor.bucket, sensor.rate
                used = bucket.measure(sensor.quota, now) if tokens else rate.measure(now)
                yield {
                    "quota": self.kind.value,
                    "user": group.user or None,
                    "client": group.client or None,
                    "limit": sensor.quota,
                    "rate": round(used, 3),
                    "throttle_ms": sensor.throttle_ms,
                }


class ControllerMutationQuota:
    """One request that creates or deletes partitions.

    strict      while tokens are missing, it is refused (THROTTLING_QUOTA_EXCEEDED): the versions
                of CreateTopics since 6, of CreatePartitions since 3, of DeleteTopics since 5
    otherwise   it is done, and the client waits afterwards
    """

    def __init__(self, quotas: ClientQuotaManager, user: str, client: str, *, strict: bool) -> None:
        self._quotas = quotas
        self._client = user, client
        self._strict = strict
        self._wait = self._at = 0

    def record(self, partitions: int, now: int) -> None:
        wait = self._quotas.take(*self._client, partitions, now, strict=self._strict)
        if wait is None:
            return
        self._wait, self._at = wait, now
        if self._strict:
            raise ApiException(
                ErrorCode.throttling_quota_exceeded, "The throttling quota has been exceeded."
            )

    def throttle_ms(self, now: int) -> int:
        """What is left of the time to wait: the request may have waited for leaders meanwhile."""
        return java_int(max(0, self._wait - (now - self._at)))
