"""Keeps the processes of clients: who has ended, or is silent for long, has a successor.

    ClientSupervisor(["copier-1", "copier-2"], command, heard, logs)

`command(name, life)` starts a process; lives are counted over all names. `heard(name, life, line)`
gets each line that it prints. With `pauses` some process stands still now and then
(SIGSTOP), for up to so many seconds: for less than it takes to be replaced.
"""

import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event, Thread

from engine.cluster.child import Child, end_all

HANGS = 30.0  # seconds without a line, after which a client is replaced
ENDING = 10.0  # seconds to end in good order
LOOK = 0.2  # seconds between two looks
PAUSED = 0.02  # how often one is paused in a look

Command = Callable[[str, int], list[str]]
Heard = Callable[[str, int, str], None]


class SupervisedClient:
    def __init__(self, life: int, child: Child) -> None:
        self.life, self.child = life, child
        self.since = time.monotonic()  # it has said nothing new
        self.heard = 0  # letters of its output
        self.resumes = 0.0  # when it is resumed, if it is paused


class ClientSupervisor:
    def __init__(
        self,
        names: Sequence[str],
        command: Command,
        heard: Heard,
        logs: Path,
        *,
        pauses: float = 0.0,  # seconds, at most
        ended: Callable[[int], None] = lambda life: None,  # a life, after its last line
    ) -> None:
        self._command, self._heard, self._ended = command, heard, ended
        self._logs, self._pauses = logs, pauses
        self.lives = 0
        self._living = {name: self._start(name) for name in names}
        self._over = Event()
        self._thread = Thread(target=self._run, name="the supervisor of clients")
        self._thread.start()

    def stop(self) -> None:
        if not self._over.is_set():
            self._over.set()
            self._thread.join()
            for kept in self._living.values():
                if kept.child.paused:
                    kept.child.resume()
            end_all([each.child for each in self._living.values()], ENDING)
            for name, kept in self._living.items():
                self._listen(name, kept)
                self._ended(kept.life)

    def _start(self, name: str) -> SupervisedClient:
        life = self.lives
        self.lives += 1
        child = Child(self._command(name, life), self._logs / f"{name}-{life}.log")
        return SupervisedClient(life, child)

    def _run(self) -> None:
        while not self._over.wait(LOOK):
            for name, kept in list(self._living.items()):
                self._listen(name, kept)
                now = time.monotonic()
                if now - kept.since > HANGS or not kept.child.alive:
                    kept.child.kill()
                    self._listen(name, kept)
                    self._ended(kept.life)
                    self._living[name] = self._start(name)
                elif kept.child.paused and now >= kept.resumes:
                    kept.child.resume()
                elif self._pauses and not kept.child.paused and random.random() < PAUSED:
                    kept.child.pause()
                    kept.resumes = now + random.uniform(0, self._pauses)

    def _listen(self, name: str, kept: SupervisedClient) -> None:
        """Whole lines of its output that are new."""
        said = kept.child.output()[kept.heard :]
        whole = said[: said.rfind("\n") + 1]
        if whole:
            kept.heard += len(whole)
            kept.since = time.monotonic()
        for line in whole.splitlines():
            self._heard(name, kept.life, line)
