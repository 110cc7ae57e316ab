"""Processors as processes: started, killed, and gone with the kernel (engine/cluster/child.py).

with ProcessorProcesses(cluster) as processes:
    processes.start("a", count, source=cards, target=out)    functions of the cell (loop.py)
    processes.kill("a")                                      SIGKILL

launch      any module of the lab, in a process of its own
programs    what runs below a process: its children, and theirs
"""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import engine
from engine import Cluster
from engine.cluster.child import Child, end_all
from engine.cluster.scratch import Scratch
from streams.loop import packed

LABS = Path(__file__).resolve().parents[1]
ENGINE = Path(engine.__file__).resolve().parents[1]  # labs may have been copied elsewhere
PATIENCE = 10.0  # seconds to end in good order


def launch(log: Path, module: str, options: Sequence[str], keep: Sequence[int] = ()) -> Child:
    """`python -m module`, which finds the lab's packages and the engine."""
    path = os.pathsep.join(map(str, (LABS, ENGINE)))
    command = [sys.executable, "-m", module, *options]
    return Child(command, log, env={"PYTHONPATH": path}, keep=keep)


class ProcessorProcesses:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._scratch = Scratch()
        self._children: dict[str, Child] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        end_all(list(self._children.values()), PATIENCE)
        self._scratch.remove()

    def start(
        self,
        name: str,
        *steps: Callable[..., Any],
        source: str,
        target: str,
        group: str = "",
        commit_every: int = 100,
        restore: bool = False,
    ) -> Child:
        """A processor of that name; the group is one for each target, if no other is named."""
        facts = {"bootstrap": self._cluster.bootstrap, "name": name, "source": source}
        facts |= {"target": target, "group": group or f"makers of {target}"}
        facts |= {"commit-every": str(commit_every)}
        words = [word for key, value in facts.items() for word in (f"--{key}", value)]
        words += [word for step in steps for word in ("--step", packed(step))]
        words += ["--restore"] * restore
        log = self._scratch.path / f"{name}.log"
        self._children[name] = launch(log, "streams.loop", words, (self._scratch.end,))
        return self._children[name]

    def kill(self, name: str) -> None:
        self._children[name].kill()

    def restored(self, name: str) -> int:
        """How many records it has read back, by its own account."""
        said = self._children[name].output()
        return int(said.partition("restored from ")[2].split()[0]) if "restored" in said else 0


def programs(pid: int) -> set[str]:
    """The names of all programs that run below a process: its children, and theirs."""
    command = ["ps", "-A", "-o", "pid=,ppid=,comm="]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in told.splitlines()]
    above = {child: parent for child, parent, _ in rows}

    def is_below(child: str) -> bool:
        parent = above.get(child)
        return parent is not None and (parent == str(pid) or is_below(parent))

    return {Path(name.strip()).name for child, _, name in rows if is_below(child)}
