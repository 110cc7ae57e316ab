"""The time of a real node. In the simulator it is a virtual clock's (sim/clock.py)."""

import time


def clock() -> int:
    """Milliseconds since 1970: the time in records, and of events."""
    return time.time_ns() // 1_000_000
