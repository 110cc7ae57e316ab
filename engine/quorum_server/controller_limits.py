"""What limits administrators' requests at the active controller: their time-out, and quotas.

    timeout_ms <= 0             nothing is done: REQUEST_TIMED_OUT
    controller_mutation_rate    tokens for partitions that are created or deleted; the client waits,
                                or is refused with THROTTLING_QUOTA_EXCEEDED

A time-out is that of Kafka's queue of events: a request whose turn comes too late is not begun. One
that has begun is answered when its records are committed. Here each has its turn at once.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from engine.broker.authorization import refused
from engine.broker.call import Call, Handler
from engine.config import BrokerConfig
from engine.errors import ApiException, ErrorCode
from engine.quotas.client_quota_manager import (
    STRICT_SINCE,
    ClientQuotaManager,
    ControllerMutationQuota,
    QuotaKind,
)
from engine.quotas.entity import ClientQuotaEntity
from engine.quotas.rate import Windows
from engine.wire.controller_apis import ControllerApi

Quotas = Mapping[ClientQuotaEntity, Mapping[str, float]]
KEY = QuotaKind.CONTROLLER_MUTATION.value
TIMED = frozenset(
    {
        ControllerApi.CREATE_TOPICS,
        ControllerApi.DELETE_TOPICS,
        ControllerApi.CREATE_PARTITIONS,
        ControllerApi.ELECT_LEADERS,
        ControllerApi.ALTER_PARTITION_REASSIGNMENTS,
    }
)


class ControllerLimits:
    def __init__(self, config: BrokerConfig, now: Callable[[], int]) -> None:
        seconds = config.controller_quota_window_size_seconds
        windows = Windows(config.controller_quota_window_num, seconds)
        self._mutations = ClientQuotaManager(QuotaKind.CONTROLLER_MUTATION, windows)
        self._now = now

    def configure(self, quotas: Quotas) -> None:
        """Take the quotas that are set for users and client ids."""
        self._mutations.configure({who: it[KEY] for who, it in quotas.items() if KEY in it})

    def limited(self, api: ControllerApi, handler: Handler) -> Handler:
        """The handler behind the limits of its API."""
        if api in STRICT_SINCE:
            handler = self._with_quota(api, handler)
        return _in_time(handler) if api in TIMED else handler

    def _with_quota(self, api: ControllerApi, handler: Handler) -> Handler:
        async def handle(call: Call, request: Any) -> Any:
            client = call.principal.name, call.header.client_id or ""
            strict = call.version >= STRICT_SINCE[api]
            quota = ControllerMutationQuota(self._mutations, *client, strict=strict)
            response = await handler(call._replace(mutations=quota), request)
            wait_ms = quota.throttle_ms(self._now())
            return replace(response, throttle_time=timedelta(milliseconds=wait_ms))

        return handle


def _in_time(handler: Handler) -> Handler:
    async def handle(call: Call, request: Any) -> Any:
        if request.timeout <= timedelta():
            why = "the time-out was over before the controller could begin"
            return refused(call, request, ApiException(ErrorCode.request_timed_out, why))
        return await handler(call, request)

    return handle
