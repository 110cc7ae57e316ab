"""What kafka-server-start.sh and zookeeper-server-start.sh do with the server that they start.

    terminal            python -m engine server-start         the broker, or ZooKeeper
        │  without -daemon: stays in the foreground   ──── Child ────>  its own process
        └─ with -daemon:    the same command in a session of its own, output to DIR/logs/*.out

The process in the middle ends the server when it is told to end (Control-C, SIGTERM, the stop
script), and when the process ends that made the directory: a cluster or a notebook. If it is killed
itself, the server ends too (child.py).
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

from engine.cluster.child import Child
from engine.cluster.scripts.kafka_home import Registered, await_orphan, remove_rest
from engine.errors import ApiException, ErrorCode

STOP_TIMEOUT_S = 30.0  # for a broker to hand over leadership and close its logs
ORPHAN_TIMEOUT_S = 1.0  # the same when the owner has ended: ZooKeeper has probably ended, too


def start_daemon(home: Path, output: str, arguments: Sequence[str]) -> int:
    """Run this command in the background; returns its process id."""
    logs = home / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    with (logs / output).open("ab") as printed:
        process = subprocess.Popen(
            [sys.executable, "-m", "engine", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=printed,
            start_new_session=True,
        )
    process.returncode = 0  # we do not wait for it, and Popen need not warn of that
    return process.pid


def run_server(home: Path, kind: str, owned: bool, launch: Callable[[], Child]) -> None:
    """Start it, and return when it was told to end; an ApiException if it ended by itself.

    `owned`: the process that made the directory ran when the script was typed.
    """
    orphaned = threading.Event()

    def watch() -> None:
        await_orphan(home)
        orphaned.set()
        os.kill(os.getpid(), signal.SIGTERM)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    with Registered(home, kind):
        child = None
        try:
            if owned:
                threading.Thread(target=watch, daemon=True).start()
            child = launch()
            code = child.wait()
            lines = child.output().strip().splitlines()
            raise ApiException(
                ErrorCode.broker_not_available,
                f"it has ended: {lines[-1] if lines else f'exit code {code}'}, see {child.log}",
            )
        except KeyboardInterrupt:
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN)
            if child is not None:
                child.terminate(ORPHAN_TIMEOUT_S if orphaned.is_set() else STOP_TIMEOUT_S)
    if orphaned.is_set():
        remove_rest(home)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
