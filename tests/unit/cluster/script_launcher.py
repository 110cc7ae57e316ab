"""Starts a script where a broker should be."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from engine.cluster.child import Child
from engine.cluster.node_launcher import NodeLauncher


class ScriptLauncher(NodeLauncher):
    def __init__(self, folder: Path, script: str, keep: Sequence[int] = ()) -> None:
        super().__init__(folder)
        self.keep = [*keep]
        self._script = folder / "this.py"
        self._script.write_text(script)

    def launch(self, arguments: Sequence[str], log: Path, env: Mapping[str, str]) -> Child:
        return Child([sys.executable, self._script, *arguments], log, env=env, keep=self.keep)
