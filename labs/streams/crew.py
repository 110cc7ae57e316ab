"""Processors as processes: started, killed, and gone with the kernel (engine/cluster/child.py).

with Crew(cluster) as crew:
    crew.start("a", source=cards, target=out, steps="count", group="g")
    crew.kill("a")                                  SIGKILL
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import engine
from engine import Cluster
from engine.cluster.child import Child, end_all
from engine.cluster.scratch import Scratch

LABS = Path(__file__).resolve().parents[1]
ENGINE = Path(engine.__file__).resolve().parents[1]  # labs may have been copied elsewhere
PATIENCE = 10.0  # seconds to end in good order


def launch(log: Path, module: str, options: Sequence[str], keep: Sequence[int] = ()) -> Child:
    """`python -m module`, which finds the lab's packages and the engine."""
    path = os.pathsep.join(map(str, (LABS, ENGINE)))
    command = [sys.executable, "-m", module, *options]
    return Child(command, log, env={"PYTHONPATH": path}, keep=keep)


class Crew:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._scratch = Scratch()
        self._children: dict[str, Child] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        end_all(list(self._children.values()), PATIENCE)
        self._scratch.remove()

    def start(self, name: str, *, restore: bool = False, **options: Any) -> None:
        """A loop of that name; options as it has them, with _ for -."""
        facts = {"bootstrap": self._cluster.bootstrap, "name": name, **options}
        words = [
            word
            for key, value in facts.items()
            for word in (f"--{key.replace('_', '-')}", str(value))
        ]
        words += ["--restore"] * restore
        log = self._scratch.path / f"{name}.log"
        self._children[name] = launch(log, "streams.loop", words, (self._scratch.end,))

    def kill(self, name: str) -> None:
        self._children[name].kill()

    def stop(self, name: str) -> None:
        self._children[name].terminate()

    def pid(self, name: str) -> int:
        return self._children[name].pid

    def said(self, name: str) -> str:
        return self._children[name].output().strip()
