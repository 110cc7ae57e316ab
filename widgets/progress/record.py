"""What a learner has predicted, solved and broken: one small file beside the labs.

    labs/yours/progress.json
        {"format": 1,
         "labs": {"01_storage": {
             "topics-predict": {"asked": ..., "predicted": ..., "happened": ..., "on": ...},
             "rolled-exercise": {"task": ..., "solved": "2026-11-27"}}},
         "broken": {"kill": 3}}

A question or an exercise is named by the lab and by the id of the cell that shows it; JupyterLab
tells a kernel both. Elsewhere (nbval, an editor) nothing is written down. In a browser tab the file
lies in the storage of the browser, and the guide names the lab (widgets/notebook/guide.py).

Each change reads the file, changes it and puts a new one in its place, under a lock of the folder:
several labs may be open. A file that cannot be read, or was written by a newer version, is left
alone; one that cannot be written is told once. In both cases the lab goes on.

A file that has marks under the old name of a lab is read as if they stood under the new one; the
next change writes it so (renamed.py).

Invariant: what stands in the file is never lost by a change of this module.
"""

import fcntl
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from engine.browser import IN_BROWSER
from widgets.progress.renamed import carry_over

FORMAT = 1
WRITABLE = 0o222
PATH = "BROKERLAB_PROGRESS"  # where the file is; without it nothing is written down
CHALLENGES = "challenges"  # the notebook of the challenges
NOTEBOOK = "JPY_SESSION_NAME"  # the notebook that this kernel was started for


class TaskPlace(NamedTuple):
    """Where a question or an exercise stands."""

    lab: str
    cell: str


class Unusable(Exception):
    """The file is damaged, or of a newer version."""


def to_the_cell(words: str) -> None:
    print(words, file=sys.stderr)


class ProgressFile:
    def __init__(self, path: Path, tell: Callable[[str], None] = to_the_cell) -> None:
        self.path = path
        self._tell = tell
        self._told = False

    def read(self) -> dict[str, Any]:
        """What stands in it; raises Unusable."""
        try:
            found = json.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {"format": FORMAT, "labs": {}, "broken": {}}
        except (OSError, ValueError) as error:
            raise Unusable(f"it cannot be read: {error}") from error
        if not isinstance(found, dict) or not isinstance(found.get("format"), int):
            raise Unusable("it is no progress file")
        if found["format"] > FORMAT:
            raise Unusable(f"a newer version of Broker Lab wrote it (format {found['format']})")
        if not _well_formed(found):
            raise Unusable("it is no progress file")
        carry_over(found["labs"])
        return found

    def predicted(self, place: TaskPlace, asked: str, predicted: str, happened: str) -> None:
        facts = {"asked": asked, "predicted": predicted, "happened": happened, "on": _today()}
        self._change(lambda kept: _tasks(kept, place.lab).update({place.cell: facts}))

    def estimated(
        self, place: TaskPlace, asked: str, predicted: str, happened: str, off: str, *, right: bool
    ) -> None:
        """A number; `off`: by how much it was wrong, in words, though it may have been near enough
        to be right."""
        facts = {"asked": asked, "predicted": predicted, "happened": happened}
        near = {"off": off, "right": right, "on": _today()}
        self._change(lambda kept: _tasks(kept, place.lab).update({place.cell: {**facts, **near}}))

    def solved(self, place: TaskPlace, task: str) -> None:
        facts = {"task": task, "solved": _today()}
        self._change(lambda kept: _tasks(kept, place.lab).setdefault(place.cell, facts))

    def examined(self, place: TaskPlace, exam: str, ideas: Mapping[str, list[int]]) -> None:
        """Of the oracle's exam: by idea, how many answers were right, of how many. A kernel that
        was restarted begins the exam again: the score with more answers is kept."""

        def keep(kept: dict[str, Any]) -> None:
            tasks = _tasks(kept, place.lab)
            was = tasks.get(place.cell, {})
            if was.get("exam") != exam or _answers(ideas) >= _answers(was.get("ideas", {})):
                tasks[place.cell] = {"exam": exam, "ideas": dict(ideas), "on": _today()}

        self._change(keep)

    def judged(self, challenge: str, stage: int, survived: int, *, holds: bool) -> None:
        """A rule of a challenge: how many stages it passed, and how many attempts in all. The best
        one is kept: a rule that holds before one that does not, then the one that passed more
        stages, and then the one that survived more attempts."""

        def keep(kept: dict[str, Any]) -> None:
            tasks = _tasks(kept, CHALLENGES)
            was = tasks.get(challenge, {})
            before = was.get("holds", False), was.get("stage", -1), was.get("survived", -1)
            if (holds, stage, survived) >= before:
                facts = {"stage": stage, "survived": survived, "holds": holds, "on": _today()}
                tasks[challenge] = facts

        self._change(keep)

    def broke(self, what: str) -> None:
        """`what`: the act of a picture, such as kill."""

        def count(kept: dict[str, Any]) -> None:
            kept["broken"] = Counter(kept["broken"]) + Counter([what])

        self._change(count)

    def _change(self, change: Callable[[dict[str, Any]], object]) -> None:
        try:
            self.path.parent.mkdir(exist_ok=True)
            if self.path.exists() and not self.path.stat().st_mode & WRITABLE:
                raise Unusable("it is read-only")
            with _locked(self.path.parent):
                kept = self.read()
                change(kept)
                new = self.path.with_suffix(".new")
                new.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", "utf-8")
                new.replace(self.path)
        except (Unusable, OSError) as error:
            self._say(f"Your progress is not written down. {self.path}: {error}.")

    def _say(self, words: str) -> None:
        """Once: the lab goes on, and does not repeat it at each question."""
        if not self._told:
            self._told = True
            self._tell(words)


def _well_formed(found: dict[str, Any]) -> bool:
    labs, broken = found.get("labs"), found.get("broken")
    if not isinstance(labs, dict) or not isinstance(broken, dict):
        return False
    tasks = [
        task for lab in labs.values() for task in (lab.values() if isinstance(lab, dict) else [0])
    ]
    return all(isinstance(it, dict) for it in tasks) and all(
        type(it) is int for it in broken.values()
    )


def _tasks(kept: dict[str, Any], lab: str) -> dict[str, Any]:
    tasks: dict[str, Any] = kept["labs"].setdefault(lab, {})
    return tasks


def _answers(ideas: Mapping[str, list[int]]) -> int:
    return sum(asked for _, asked in ideas.values())


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """For one process at a time. The lock ends with its process, and leaves no file."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _today() -> str:
    return date.today().isoformat()


# -- this kernel ---------------------------------------------------------------------------------


_files: dict[str, ProgressFile] = {}


def progress_file() -> ProgressFile | None:
    """The learner's; None where nothing is written down."""
    path = os.environ.get(PATH)
    return _files.setdefault(path, ProgressFile(Path(path))) if path else None


def running_cell() -> TaskPlace | None:
    """Where the code that runs now stands, as far as JupyterLab says so."""
    from IPython.core.getipython import get_ipython  # noqa: PLC0415 - pictures need no IPython

    shell: Any = get_ipython()
    notebook = os.environ.get(NOTEBOOK)
    teller = shell.kernel if IN_BROWSER and shell else shell
    cell = teller.get_parent().get("metadata", {}).get("cellId") if teller and notebook else None
    return TaskPlace(Path(str(notebook)).stem, str(cell)) if cell else None
