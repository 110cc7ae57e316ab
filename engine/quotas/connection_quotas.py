"""How many connections may be opened in a second: by an address, and by all together.

`connection_creation_rate` is a quota of addresses:

    ips/192.0.2.7     this address
    ips/<default>     each other address

A connection above the quota is not served and does not count. It is closed after a while, so that
the client does not try again at once: after the time that rate.py computes, at most one window.

`max.connection.creation.rate` is a setting of the broker. A connection that comes too fast waits
for its turn, and is served then.
"""

from collections.abc import Mapping

from engine.quotas.entity import DEFAULT, ClientQuotaEntity, Name
from engine.quotas.rate import WINDOWS, Rate, Windows, java_int

KEY = "connection_creation_rate"
EXPIRED_MS = 3_600_000
UNLIMITED = 2**31 - 1


class ConnectionQuotas:
    def __init__(self, windows: Windows = WINDOWS) -> None:
        self._windows = windows
        self._quotas: dict[Name, float] = {}
        self._rates: dict[str, tuple[Rate, int]] = {}  # with the time of the last connection
        self._all = Rate(windows)

    def configure(self, quotas: Mapping[ClientQuotaEntity, float]) -> None:
        self._quotas = {it.ip: quota for it, quota in quotas.items() if it.ip is not None}

    def turn(self, limit: int, now: int) -> int:
        """A connection comes in, from any address. Returns after how many ms it is served."""
        if limit == UNLIMITED:
            return 0
        self._all.record(1, now)
        return max(0, java_int(min(self._all.throttle_ms(limit, now), self._windows.size_ms)))

    def connect(self, address: str, now: int) -> int:
        """An address opens a connection. Returns 0 if it is served; otherwise it is closed after so
        many ms."""
        quota = self._quotas.get(address, self._quotas.get(DEFAULT))
        if quota is None:
            return 0
        rate, _ = self._rates.get(address) or (Rate(self._windows), now)
        self._rates[address] = rate, now
        rate.record(1, now)
        wait = java_int(min(rate.throttle_ms(quota, now), self._windows.size_ms))
        if wait > 0:
            rate.record(-1, now)
        return max(0, wait)

    def expire(self, now: int) -> None:
        for address, (_, used) in list(self._rates.items()):
            if now - used > EXPIRED_MS:
                del self._rates[address]
