"""The consumers that a GroupView starts: real processes, which a learner may kill.

    crew.add("range")   c1   ── python -m widgets.group.member ──> its group
    crew.freeze("c1")             SIGSTOP: it holds what it has, and hears nothing
    crew.stop("c1")               SIGTERM: it leaves the group
    crew.kill("c1")               SIGKILL: the group finds out when the session runs out

    reading ── freeze ──> frozen ── thaw ──> reading
       ├── stop ──> leaving ──> stopped
       ├── kill ──> killed
       └── by itself ──> failed

Invariant: no consumer outlives the crew, nor the process that it is in (engine/cluster/child.py).
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from engine.cluster.child import Child, end_all
from engine.cluster.scratch import Scratch
from engine.errors import ErrorCode, KafkaError

PATIENCE = 3.0  # seconds to leave in good order when all is over
SETTINGS: Mapping[str, str] = {  # a lab waits for nothing that it need not
    "auto.offset.reset": "earliest",
    "session.timeout.ms": "6000",  # the least that a broker accepts
    "heartbeat.interval.ms": "500",  # so soon a member hears of a rebalance
    "metadata.max.age.ms": "1000",  # so soon it sees new partitions
    "auto.commit.interval.ms": "500",
}
GONE = ("stopped", "killed", "failed")


class Crew:
    def __init__(self, bootstrap: str, group: str, settings: Mapping[str, str]) -> None:
        self.topics: list[str] = []
        self._bootstrap, self._group = bootstrap, group
        self._settings = {**SETTINGS, **settings}
        self._scratch = Scratch()
        self._children: dict[str, Child] = {}
        self._fates: dict[str, str] = {}  # what was done to whom, and is not undone
        self._open = True

    def add(self, strategies: str, taken: set[str]) -> str:
        """One more, with a name that nobody has."""
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
        """All of them, those that run and those to come."""
        self.topics = topics
        draft = self._file.with_suffix(".new")
        draft.write_text("\n".join(topics), encoding="utf-8")
        os.replace(draft, self._file)  # a member must not read half of it

    def stop(self, name: str) -> None:
        child = self._child(name)
        self._fates[name] = "stopped"  # first, or who looks on might take it for a failure
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

    def last_words(self, name: str) -> str:
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
        raise KafkaError(ErrorCode.unknown_member_id, why)

    def _status(self, name: str, child: Child) -> str:
        fate = self._fates.get(name)
        if not child.alive:
            return fate or "failed"
        if fate == "stopped":
            return "leaving"
        return "frozen" if child.paused else "reading"
