"""A consumer in a process of its own, which runs a program that a cell shows.

    reader = ProgramProcess(config, ["orders"], "while True: consumer.poll(0.2)")
    reader.lines()          what it has printed
    reader.child.pause()    SIGSTOP: no heartbeat, no work
    reader.child.kill()     SIGKILL

The program finds a `consumer` that has subscribed, `time`, and `KafkaException`.
"""

import sys
from collections.abc import Mapping, Sequence

from lab import until

from engine.cluster.child import Child
from engine.cluster.scratch import Scratch

HEAD = """import time
from engine import Consumer, KafkaException
consumer = Consumer({config})
consumer.subscribe({topics})
"""


class ProgramProcess:
    def __init__(self, config: Mapping[str, str], topics: Sequence[str], program: str) -> None:
        self._name = config["client.id"]
        self._scratch = Scratch()
        source = HEAD.format(config=dict(config), topics=list(topics)) + program
        command = [sys.executable, "-u", "-c", source]
        log = self._scratch.path / "output.log"
        self.child = Child(command, log, keep=(self._scratch.end,))

    def lines(self) -> list[str]:
        return self.child.output().splitlines()

    def wait_for(self, *texts: str) -> list[str]:
        """Until it has printed a line that begins with one of these; all its lines."""
        until(f"{self._name} to say {' or '.join(texts)}", lambda: self._has_said(texts))
        return self.lines()

    def _has_said(self, texts: tuple[str, ...]) -> bool:
        if not self.child.alive:
            raise RuntimeError(f"the program of {self._name} has ended:\n{self.child.output()}")
        return any(line.startswith(texts) for line in self.lines())

    def close(self) -> None:
        self.child.kill()
        self._scratch.remove()
