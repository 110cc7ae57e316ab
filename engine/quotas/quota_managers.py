"""All quotas of a broker, and what clients have used of them.

    produce, fetch, request, mutation    a ClientQuotaManager each
    connections                          by address

Whoever is throttled is told so by an event, but not for every request.

Left out: `client.quota.callback.class`; limits of connections for a whole broker or for a listener
other than `max.connections`.
"""

from collections.abc import Callable, Mapping
from typing import Any

from engine.config import BrokerConfig
from engine.model import Event
from engine.quotas.client_quota_manager import UNLIMITED, ClientQuotaManager, QuotaKind
from engine.quotas.connection_quotas import KEY, ConnectionQuotas
from engine.quotas.entity import ClientQuotaEntity
from engine.quotas.rate import Windows

QUIET_MS = 1000  # between two events about the same client
Quotas = Mapping[ClientQuotaEntity, Mapping[str, float]]  # entity -> key -> quota


class QuotaManagers:
    def __init__(self, config: BrokerConfig, emit: Callable[[Event], None]) -> None:
        windows = Windows(config.quota_window_num, config.quota_window_size_seconds)
        self.produce, self.fetch, self.request, self.mutation = self._managers = (
            ClientQuotaManager(QuotaKind.PRODUCE, windows, config.quota_producer_default),
            ClientQuotaManager(QuotaKind.FETCH, windows, config.quota_consumer_default),
            ClientQuotaManager(QuotaKind.REQUEST, windows, UNLIMITED),
            ClientQuotaManager(
                QuotaKind.CONTROLLER_MUTATION,
                Windows(
                    config.controller_quota_window_num, config.controller_quota_window_size_seconds
                ),
            ),
        )
        self.connections = ConnectionQuotas(windows)
        self.enabled = any(each.enabled for each in self._managers)
        self._emit = emit
        self._noted: dict[tuple[str, str], int] = {}  # when an event was emitted, by client

    def configure(self, quotas: Quotas) -> None:
        """What is set for users, client ids and addresses."""
        for manager in self._managers:
            manager.configure(_of(quotas, manager.kind.value))
        self.connections.configure(_of(quotas, KEY))
        self.enabled = any(each.enabled for each in self._managers)

    def note(self, kind: QuotaKind, user: str, client: str, throttle_ms: int, now: int) -> None:
        """A client is throttled: that is an event, but not for every request."""
        if now - self._noted.get((user, client), -QUIET_MS) >= QUIET_MS:
            self._noted[user, client] = now
            facts = {"user": user, "client": client, "quota": kind.value, "ms": throttle_ms}
            self._emit(Event("client.throttled", now, facts))

    def expire(self, now: int) -> None:
        """Forget those who have not been here for long."""
        for manager in (*self._managers, self.connections):
            manager.expire(now)
        self._noted = {who: at for who, at in self._noted.items() if now - at < QUIET_MS}

    def snapshot(self, now: int) -> list[dict[str, Any]]:
        """Who uses a quota, for the state of the broker."""
        return [row for manager in self._managers for row in manager.usage(now)]


def _of(quotas: Quotas, key: str) -> dict[ClientQuotaEntity, float]:
    return {entity: each[key] for entity, each in quotas.items() if key in each}
