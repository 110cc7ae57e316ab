"""A Java process that puts load on one broker: a command a line, and an answer a line.

See java/Load.java for the commands.
"""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from bench.brokers.jars import CLASSES, JARS, ROCKET_FLAGS
from engine.cluster import java

FLAGS = ("-Xmx1g", "-XX:-UsePerfData", *ROCKET_FLAGS)
QUIET = {"rocketmq.client.logLevel": "OFF", "org.slf4j.simpleLogger.defaultLogLevel": "off"}


class LoadFailed(RuntimeError):
    """The client was not able to do it; the message has the words of the client."""


class Driver:
    def __init__(self, settings: Mapping[str, str], log: Path) -> None:
        quiet = [f"-D{key}={value}" for key, value in {**QUIET, "user.home": log.parent}.items()]
        words = [f"{key}={value}" for key, value in settings.items()]
        command = [str(java.find()), *FLAGS, *quiet, "-cp", f"{CLASSES}:{JARS}/*", "Load", *words]
        self._log = log.open("ab")
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            cwd=log.parent,
            text=True,
        )

    def do(self, *words: object) -> list[str]:
        """The words of the answer."""
        assert self._process.stdin is not None and self._process.stdout is not None
        print(*words, file=self._process.stdin, flush=True)
        for line in self._process.stdout:
            if line.startswith("= failed"):
                raise LoadFailed(f"{' '.join(map(str, words))}: {line[9:].strip()}")
            if line.startswith("= "):
                return line[2:].split()
        raise LoadFailed(f"{' '.join(map(str, words))}: the client's process has ended")

    def number(self, *words: object) -> float:
        return float(self.do(*words)[0])

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()
        self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
