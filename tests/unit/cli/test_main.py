"""The frame of the command line: help, errors in one line, exit status."""

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from engine.cli.main import COMMANDS, PROGRAM, Command, main
from engine.errors import ApiException, ErrorCode

ROOT = Path(__file__).resolve().parents[3]
HEAVY = {"kio", "kazoo", "pyspark", "asyncio", "cramjam", "engine.storage"}


def run_python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, cwd=ROOT, check=False
    )


def a_command_that(
    monkeypatch: pytest.MonkeyPatch, run: Callable[[argparse.Namespace], int]
) -> None:
    """Put a command named `act` in the table."""
    module = SimpleNamespace(__doc__="Act.", add_arguments=lambda parser: None, run=run)
    monkeypatch.setitem(sys.modules, "acting", module)  # type: ignore[arg-type]
    monkeypatch.setattr("engine.cli.main.COMMANDS", [Command("act", "acting", "Act", "act", "")])


def test_the_overview_has_every_command_with_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["--help"], ["-h"], ["help"]):
        assert main(arguments) == 0
        printed = capsys.readouterr().out
        for command in COMMANDS:
            assert re.search(rf"^  {command.name} +{re.escape(command.help)}$", printed, re.M)
            assert f"e.g. {command.name} {command.example}" in printed
        assert max(map(len, printed.splitlines())) <= 100


@pytest.mark.parametrize("name", [command.name for command in COMMANDS])
def test_every_example_is_made_of_options_that_exist(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (command,) = [command for command in COMMANDS if command.name == name]
    for arguments in ([name, "--help"], ["help", name]):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 0
        printed = capsys.readouterr().out
        assert f"{PROGRAM} {name} {command.example}" in printed
        options, _, _ = printed.partition("example:")
        for option in re.findall(r"--[\w-]+", command.example):
            assert option in options


def test_help_imports_nothing_that_it_does_not_need() -> None:
    code = (
        "import sys; from engine.cli.main import main; main(['--help']); "
        "print(*sys.modules, file=sys.stderr)"
    )
    loaded = set(run_python("-c", code).stderr.split())
    assert "engine.cli.main" in loaded
    assert not loaded & HEAVY


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert re.fullmatch(
        r"Broker Lab \d+\.\d+\.\d+, compatible with Kafka 2\.8\n", capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["dump-lgo"], "there is no command dump-lgo; did you mean dump-log?"),
        (["xyzzy"], "there is no command xyzzy"),
        (["--versoin"], "there is no option --versoin; did you mean --version?"),
        (["dump-log"], "the following arguments are required: --files"),
        (
            ["topics", "--creat", "--topic=a"],
            "unrecognized arguments: --creat; did you mean --create?",
        ),
        (["topics", "--xyzzy"], "unrecognized arguments: --xyzzy"),
        (
            ["perf", "producer", "--topic", "a", "--num-record", "5"],
            "unrecognized arguments: --num-record; did you mean --num-records?",
        ),
        (
            ["dump-log", "--files", "a", "--print-data"],
            "unrecognized arguments: --print-data; did you mean --print-data-log?",
        ),
        (
            ["dump-log", "--files", "a", "--max-message-size", "big"],
            "argument --max-message-size: invalid int value: 'big'",
        ),
    ],
)
def test_wrong_usage_is_reported_in_one_line_with_the_nearest(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"{PROGRAM}: {told} ({PROGRAM} ")
    assert err.endswith("--help)\n")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ApiException(ErrorCode.invalid_config, "no such key:\n  foo"), "no such key: foo"),
        (ApiException(ErrorCode.not_controller), "not controller"),
        (
            FileNotFoundError(2, "No such file or directory", "x/y"),
            "x/y: No such file or directory",
        ),
        (ConnectionRefusedError(111, "Connection refused"), "Connection refused"),
        (OSError("ZooKeeper did not come up"), "ZooKeeper did not come up"),
    ],
)
def test_a_failure_is_reported_in_one_line(
    error: Exception,
    line: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(options: argparse.Namespace) -> int:
        raise error

    a_command_that(monkeypatch, fail)
    assert main(["act"]) == 1
    assert capsys.readouterr().err == f"{PROGRAM}: {line}\n"


def test_a_bug_of_ours_is_loud(monkeypatch: pytest.MonkeyPatch) -> None:
    a_command_that(monkeypatch, lambda options: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        main(["act"])


def test_the_status_is_that_of_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    a_command_that(monkeypatch, lambda options: 7)
    assert main(["act"]) == 7


def test_an_interrupt_is_quiet(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(options: argparse.Namespace) -> int:
        raise KeyboardInterrupt

    a_command_that(monkeypatch, interrupted)
    assert main(["act"]) == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("lines", [1, 100_000], ids=["at the end", "in the middle"])
def test_a_broken_pipe_is_quiet(lines: int, tmp_path: Path) -> None:
    """The reader is gone before anything is printed; Python says nothing at exit either."""
    (tmp_path / "acting.py").write_text(
        '"""Act."""\n'
        "def add_arguments(parser): pass\n"
        f"def run(options):\n    for _ in range({lines}): print('line')\n    return 0\n"
    )
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from engine.cli import main\n"
        "main.COMMANDS = [main.Command('act', 'acting', 'Act', 'act', '')]\n"
        "sys.exit(main.main(['act']))"
    )
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as pipe:
        done = subprocess.run(
            [sys.executable, "-c", code],
            stdout=pipe,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            env={name: text for name, text in os.environ.items() if name != "PYTHONUNBUFFERED"},
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, b"")


def test_python_m_engine_is_the_same() -> None:
    done = run_python("-m", "engine", "dump-log", "--files", "nowhere.log")
    assert (done.returncode, done.stdout) == (1, "Dumping nowhere.log\n")
    assert run_python("-m", "engine", "--help").stdout.startswith("usage: python -m engine COMMAND")
