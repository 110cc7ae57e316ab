"""How fast a client is: a rate over a row of windows, or a bucket of tokens.

    quota.window.num = 11, quota.window.size.seconds = 1

    window    1      2      3     ...     10     11
            | 4 MB | 0 MB | 6 MB |  ...  | 1 MB | 2 MB ...
              the oldest                          the current one, not over yet

    rate = bytes in all windows / time since the oldest began, but at least ten windows
           and the part of the current one that has passed

So a client may use the quota of ten seconds in a moment, after a pause; then it waits. The time it
waits is the time after which the same bytes would be the quota: with a rate R and a quota Q over a
time W it is (R - Q) / Q * W.

A window begins with the first value after the one before is over, so an idle client has none. The
places of the windows are used in turn; one that is too old is emptied, and begins again now.

TokenBucket: tokens come at the rate of the quota, up to the quota of all windows; each partition
that is created or deleted takes one. It may go below zero; then nothing is allowed until it is
back. A large request is forgotten as soon as its tokens are there again, not after all windows.

Numbers are rounded and cut off as Java does it: a quota of 0 has an endless time to wait, of which
Java keeps the lowest 32 bits, which are -1. So in Kafka 2.8 a quota of 0 throttles nobody.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

SECOND_MS = 1000
_LONG_MAX = 2**63 - 1


class Windows(NamedTuple):
    """quota.window.num and quota.window.size.seconds."""

    number: int = 11
    seconds: int = 1

    @property
    def size_ms(self) -> int:
        return self.seconds * SECOND_MS


WINDOWS = Windows()  # Kafka's defaults


@dataclass(slots=True)
class _Window:
    began: int  # ms
    value: float = 0.0

    def reset(self, now: int) -> None:
        self.began, self.value = now, 0.0


class Rate:
    """What was recorded in each second, on average."""

    def __init__(self, windows: Windows) -> None:
        self._config = windows
        self._windows: list[_Window] = []
        self._current = 0

    def record(self, value: float, now: int) -> None:
        """Negative takes back what was recorded."""
        if not self._windows:
            self._windows.append(_Window(now))
        elif now - self._windows[self._current].began >= self._config.size_ms:
            self._current = (self._current + 1) % self._config.number
            if self._current == len(self._windows):
                self._windows.append(_Window(now))
            else:
                self._windows[self._current].reset(now)
        self._windows[self._current].value += value

    def measure(self, now: int) -> float:
        """In a second."""
        span = self.span(now)
        return java_quotient(sum(each.value for each in self._windows), span / SECOND_MS)

    def span(self, now: int) -> int:
        """The time over which the rate is computed, in ms. Windows that are over are emptied."""
        size, number = self._config.size_ms, self._config.number
        for each in self._windows:
            if now - each.began >= number * size:
                each.reset(now)
        elapsed = now - min((each.began for each in self._windows), default=now)
        return elapsed + max(0, number - 1 - elapsed // size) * size

    def throttle_ms(self, quota: float, now: int) -> int:
        """How long the client has to wait; 0 or less if the rate is within the quota."""
        rate = self.measure(now)
        if rate <= quota:
            return 0
        return java_round(java_quotient(rate - quota, quota) * self.span(now))


class TokenBucket:
    def __init__(self, windows: Windows) -> None:
        self._seconds = windows.number * windows.seconds
        self._tokens = 0.0
        self._updated = 0  # ms; so a new bucket is full

    def record(self, value: float, quota: float, now: int) -> None:
        """Take `value` tokens."""
        most = self._seconds * quota
        self._tokens = _least(most, self.measure(quota, now) - value)

    def measure(self, quota: float, now: int) -> float:
        """The tokens that are left, with those that have come since the last time."""
        come = quota * (now - self._updated) / SECOND_MS
        self._tokens, self._updated = _least(self._seconds * quota, self._tokens + come), now
        return self._tokens

    def throttle_ms(self, quota: float, now: int) -> int | None:
        """How long until no token is missing; None if none is."""
        tokens = self.measure(quota, now)
        return java_round(java_quotient(-tokens, quota) * SECOND_MS) if tokens < 0 else None


# -- numbers as Java has them ----------------------------------------------------------------


def java_quotient(dividend: float, divisor: float) -> float:
    if divisor != 0:
        return dividend / divisor
    return math.nan if dividend == 0 or math.isnan(dividend) else math.copysign(math.inf, dividend)


def java_round(value: float) -> int:
    """To a whole number of 64 bits: what is larger becomes the largest, what is no number 0."""
    if math.isnan(value):
        return 0
    if math.isinf(value) or abs(value) > _LONG_MAX:
        return _LONG_MAX if value > 0 else -_LONG_MAX - 1
    return math.floor(value + 0.5)


def java_int(value: int) -> int:
    """The lowest 32 bits, with their sign."""
    return (value + 2**31) % 2**32 - 2**31


def _least(most: float, value: float) -> float:
    return math.nan if math.isnan(most) or math.isnan(value) else min(most, value)
