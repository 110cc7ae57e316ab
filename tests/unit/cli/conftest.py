"""What the tests of dump-log share."""

from pathlib import Path

import pytest

from engine.cli.main import main
from tests.unit.cli.handmade import Dump


@pytest.fixture
def dump(capsys: pytest.CaptureFixture[str]) -> Dump:
    def run(path: Path, *options: str) -> tuple[int, list[str], list[str]]:
        status = main(["dump-log", "--files", str(path), *options])
        out, err = capsys.readouterr()
        first, *lines = out.splitlines()
        assert first == f"Dumping {path}"
        return status, lines, err.splitlines()

    return run
