"""The Dockerfile that Binder would build of a folder: repo2docker writes it, and builds nothing.

    binder/ ──> repo2docker ──> its own steps: a system, a user, conda, JupyterLab
                                COPY src/ ${REPO_DIR}/
                                our steps: what binder/ asks for

A line that ends in a backslash goes on; `USER` holds for all the lines after it.
"""

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

PROGRAM = Path(sys.executable).with_name("jupyter-repo2docker")
COPY = "src/ ${REPO_DIR}/"  # from here on the repository is there


class Step(NamedTuple):
    """One instruction of a Dockerfile."""

    user: str  # who carries it out
    word: str  # RUN, COPY, ENV ...
    text: str

    def named(self, environment: dict[str, str]) -> str:
        """Its text with the variables filled in that the Dockerfile has set before."""
        return re.sub(r"\$\{(\w+)\}", lambda found: environment[found[1]], self.text)


def render(folder: Path) -> str:
    """As for a user `jovyan`, number 1000, which is Binder's."""
    command = [
        str(PROGRAM),
        "--no-build",
        "--user-id",
        "1000",
        "--user-name",
        "jovyan",
        str(folder),
    ]
    told = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert told.returncode == 0, told.stderr
    return told.stdout


def steps(text: str) -> list[Step]:
    """The instructions in order, each on one line."""
    user, found = "root", []
    lines = [line for line in text.splitlines() if not re.match(r"\s*(#|$)", line)]
    for line in re.split(r"(?<!\\)\n", "\n".join(lines)):
        word, _, rest = re.sub(r"\s*\\\n\s*", " ", line).strip().partition(" ")
        if word == "USER":
            user = rest
        found.append(Step(user, word, rest))
    return found


def ours(found: list[Step]) -> list[Step]:
    """What is run once the repository is there."""
    start = next(at for at, step in enumerate(found) if step.text.endswith(COPY))
    return [step for step in found[start:] if step.word == "RUN"]
