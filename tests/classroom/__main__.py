"""python -m tests.classroom: thirty students at once on this machine, and what they take."""

import argparse
import asyncio
import tempfile
from pathlib import Path

from tests.classroom.lesson import lesson


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.classroom", description=__doc__)
    parser.add_argument("--students", type=int, default=30)
    parser.add_argument("--brokers", type=int, default=3, help="in each cluster")
    parser.add_argument("--abreast", type=int, default=3, help="how many press a key at once")
    chosen = parser.parse_args()
    if chosen.brokers < 2:
        parser.error("a leader will be killed: --brokers has to be 2 or more")
    with tempfile.TemporaryDirectory(prefix="classroom-") as folder:
        print(asyncio.run(lesson(chosen.students, chosen.brokers, chosen.abreast, Path(folder))))


if __name__ == "__main__":
    main()
