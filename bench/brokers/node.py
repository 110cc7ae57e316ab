"""A server of a peer: a process on a free port that can be killed and started again on its data."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bench.peers.peer import PATIENCE
from bench.peers.plain import connect
from engine.cluster.child import Child


class Node:
    def __init__(
        self,
        command: Sequence[str | Path],
        folder: Path,
        port: int,
        env: Mapping[str, str] | None = None,
        ready: Callable[["Node"], bool] | None = None,  # or when it listens
    ) -> None:
        self.port = port
        self._command, self._folder, self._env, self._ready = command, folder, env, ready
        self._child: Child | None = None

    def launch(self) -> None:
        """Start the process, and don't wait."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._child = Child(
            self._command, self._folder / "output.log", cwd=self._folder, env=self._env
        )

    def await_ready(self) -> None:
        if self._ready is None:
            connect(self.port).close()
            return
        deadline = time.monotonic() + 2 * PATIENCE
        while not self._ready(self):
            if not self.child.alive or time.monotonic() > deadline:
                raise RuntimeError(f"it did not start: {self.output()[-2000:]}")
            time.sleep(0.05)

    def start(self) -> None:
        self.launch()
        self.await_ready()

    def kill(self) -> None:
        """SIGKILL: it writes nothing more. What the system has in its page cache stays."""
        self.child.kill()

    def stop(self) -> None:
        if self._child is not None:
            self._child.terminate()

    def output(self) -> str:
        return self.child.output()

    @property
    def child(self) -> Child:
        assert self._child is not None, "not started"
        return self._child
