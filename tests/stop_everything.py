"""Stops everything that a run of tests has started, now and then: the machine stands still.

    make test & .venv/bin/python -m tests.stop_everything $!

The processes below the one that is named stand still together for 5, 20 or 60 seconds (SIGSTOP),
and go on, also if this program is ended (SIGTERM) meanwhile. The run must end as it would have
ended: tests/standstill.py runs again what was hit.
"""

import random
import signal
import sys
import time
from contextlib import suppress

import psutil

STOPS_S = (5, 20, 60)  # how long everything stands still
BETWEEN_S = (20, 120)  # how long it goes on


def family(pid: int) -> list[psutil.Process]:
    """Those below a process that run tests or serve them: not `make`, its shell and pytest itself,
    which only wait for the others."""
    parents, found = [psutil.Process(pid)], []
    while parents:
        parent = parents.pop()
        with suppress(psutil.NoSuchProcess):
            children = parent.children()
            waits = parent.name() in {"make", "sh"} or "-n" in parent.cmdline()
            found += [] if waits or parent.pid == pid else [parent]
            parents += children
    return found


def stand_still(pid: int, seconds: float) -> int:
    """Returns how many processes stood still."""
    stopped = []
    try:
        for process in family(pid):
            with suppress(psutil.NoSuchProcess):
                if process.status() != psutil.STATUS_STOPPED:  # a test may have paused it
                    stopped.append(process)
                    process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
    finally:
        for process in stopped:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGCONT)
    return len(stopped)


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    pid = int(sys.argv[1])
    chance = random.Random(sys.argv[2] if len(sys.argv) > 2 else None)
    while psutil.pid_exists(pid):
        time.sleep(chance.uniform(*BETWEEN_S))
        seconds = chance.choice(STOPS_S)
        print(f"{stand_still(pid, seconds)} processes stood still for {seconds} s", flush=True)


if __name__ == "__main__":
    main()
