"""The consumers that a GroupView starts: real processes, which a learner may kill.

    processes.add("range")   c1   ── python -m widgets.group.member ──> its group
    processes.freeze("c1")        SIGSTOP: it keeps its partitions, and reads nothing
    processes.stop("c1")          SIGTERM: it leaves the group
    processes.kill("c1")          SIGKILL: the group notices when the session times out

    reading ── freeze ──> frozen ── thaw ──> reading
       ├── stop ──> leaving ──> stopped
       ├── kill ──> killed
       └── by itself ──> failed

Invariant: no consumer outlives this object, nor the kernel (engine/cluster/child.py).
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from engine.cluster.child import Child, end_all
from engine.cluster.scratch import Scratch
from engine.errors import ApiException, ErrorCode

PATIENCE = 3.0  # seconds to leave the group at the end
SETTINGS: Mapping[str, str] = {  # short times, so that a lab does not wait
    "auto.offset.reset": "earliest",
    "session.timeout.ms": "6000",  # the least that a broker accepts
    "heartbeat.interval.ms": "500",  # how soon a member learns of a rebalance
    "metadata.max.age.ms": "1000",  # how soon it sees new partitions
    "auto.commit.interval.ms": "500",
}
GONE = ("stopped", "killed", "failed")


class ConsumerProcesses:
    def __init__(self, bootstrap: str, group: str, settings: Mapping[str, str]) -> None:
        self.topics: list[str] = []
        self._bootstrap, self._group = bootstrap, group
        self._settings = {**SETTINGS, **settings}
        self._scratch = Scratch()
        self._children: dict[str, Child] = {}
        self._fates: dict[str, str] = {}  # the last act on each consumer, if it was not undone
        self._open = True

    def add(self, strategies: str, taken: set[str]) -> str:
        """One more, with a new name."""
        number = 1 + len(self._children)
        while f"c{number}" in taken or f"c{number}" in self._children:
            number += 1
        name = f"c{number}"
        facts = {"client.id": name, "partition.assignment.strategy": strategies}
        properties = [f"{key}={value}" for key, value in (self._settings | facts).items()]
        self._children[name] = Child(
            [
                *(sys.executable, "-m", "widgets.group.member"),
                *("--bootstrap-server", self._bootstrap, "--group", self._group),
                *("--topics", self._file),
                *(part for each in properties for part in ("--property", each)),
            ],
            self._scratch.path / f"{name}.log",
            keep=(self._scratch.end,),
        )
        return name

    def subscribe(self, topics: list[str]) -> None:
        """Subscribe all running and future consumers."""
        self.topics = topics
        draft = self._file.with_suffix(".new")
        draft.write_text("\n".join(topics), encoding="utf-8")
        os.replace(draft, self._file)  # a member must not read an incomplete file

    def stop(self, name: str) -> None:
        child = self._child(name)
        self._fates[name] = "stopped"  # first, or an observer might take it for a failure
        child.ask_to_end()

    def kill(self, name: str) -> None:
        child = self._child(name)
        self._fates[name] = "killed"
        child.kill()

    def freeze(self, name: str) -> None:
        self._child(name).pause()

    def thaw(self, name: str) -> None:
        self._child(name).resume()

    def statuses(self) -> dict[str, str]:
        return {name: self._status(name, child) for name, child in self._children.items()}

    def pid(self, name: str) -> int:
        return self._children[name].pid

    def end_reason(self, name: str) -> str:
        lines = self._children[name].output().strip().splitlines()
        return lines[-1] if lines else f"exit code {self._children[name].exit_code}"

    def close(self) -> None:
        if self._open:
            self._open = False
            end_all(list(self._children.values()), PATIENCE)
            self._scratch.remove()

    @property
    def _file(self) -> Path:
        return self._scratch.path / "topics"

    def _child(self, name: str) -> Child:
        """One that runs."""
        child = self._children.get(name)
        if child is None:
            why = f"{name} was not started here: what to do with it is up to who did"
        elif not child.alive:
            why = f"{name} does not run any more: add another one"
        else:
            return child
        raise ApiException(ErrorCode.unknown_member_id, why)

    def _status(self, name: str, child: Child) -> str:
        fate = self._fates.get(name)
        if not child.alive:
            return fate or "failed"
        if fate == "stopped":
            return "leaving"
        return "frozen" if child.paused else "reading"
