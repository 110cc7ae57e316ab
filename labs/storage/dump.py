"""Kafka's own tool for looking into files, as the articles call it, and ours.

bin/kafka-run-class.sh kafka.tools.DumpLogSegments --files F --print-data-log
.venv/bin/python -m engine dump-log               --files F --print-data-log
"""

import os
import re
import subprocess
import sys
from pathlib import Path


def dump(path: Path, *options: str) -> list[str]:
    """The lines that the tool prints of a file, without the paths of this machine."""
    command = [sys.executable, "-m", "engine", "dump-log", "--files", path.name, *options]
    run = subprocess.run(
        command,
        cwd=path.parent,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},  # the engine that runs here
        capture_output=True,
        text=True,
        check=False,
    )
    return (run.stdout + run.stderr).splitlines()


def numbers(lines: list[str]) -> list[tuple[int, ...]]:
    """The numbers of each entry of an index, from the lines that the tool has printed."""
    return [tuple(map(int, re.findall(r"\d+", line))) for line in lines[1:]]


def payloads(lines: list[str]) -> int:
    """How many messages are printed."""
    return sum("payload:" in line for line in lines)
