"""`python -m engine COMMAND ...`, also installed as `brokerlab`.

A command is a module with two functions, and one entry in the table below:

    add_arguments(parser)    defines its options, named as in Kafka's own tools
    run(options) -> int      does its work, and returns its exit status

Only the module of the given command is imported, so that the overview appears at once.

An error is one line on stderr: what, where, and what to do. Exit status: 0 done, 1 failed, 2 wrong
usage, 130 interrupted. A traceback is a bug of ours.
"""

import argparse
import io
import os
import re
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Protocol

from engine.cli import gone

FAILED, USAGE, INTERRUPTED = 1, 2, 130

PROGRAM = "brokerlab" if Path(sys.argv[0]).stem == "brokerlab" else "python -m engine"


class Command(NamedTuple):
    """One entry of the table."""

    name: str
    module: str
    group: str  # commands of a group stand together in the help
    help: str
    example: str  # the options of an example


SCRIPTS = (
    "What scripts with Kafka's names call, in a cluster's directory: DIR/bin/kafka-topics.sh ..."
)

TABLE = {  # by group: the modules of its commands, the help and the options of an example of each
    "Run a cluster": {
        "engine.cli.cluster": (
            "ZooKeeper and brokers 1, 2, 3 ... on one machine, until it is interrupted",
            "--brokers 1 --port 9092 --data lab-data",
        ),
        "engine.cli.broker": (
            "one broker; also restarts a broker that was killed",
            "--id 1 --zookeeper 127.0.0.1:2181 --data lab-data/broker-1",
        ),
        "engine.cli.kraft.controller": (
            "one controller of a cluster without ZooKeeper",
            "--id 1 --port 9193 --voters 1@127.0.0.1:9193 --data c1",
        ),
        "engine.cli.kraft.storage": (
            "format the log directory of a node without ZooKeeper, or show it",
            "format -t 7iBgancjbi8a8Ky6ppt3ew -c server.properties",
        ),
        "engine.cli.zookeeper": (
            "one ZooKeeper server, until it is interrupted",
            "--port 2181 --data zookeeper-data",
        ),
    },
    "Use it": {
        "engine.cli.topics": (
            "create, list, describe, alter and delete topics",
            "--create --topic orders --partitions 3",
        ),
        "engine.cli.configs": (
            "show the configuration of topics and brokers, and change it",
            "--describe --entity-type topics --entity-name orders --all",
        ),
        "engine.cli.consumer_groups": (
            "show groups of consumers, reset their offsets, delete them",
            "--describe --group billing",
        ),
        "engine.cli.reassign_partitions": (
            "move partitions to other brokers",
            "--execute --reassignment-json-file moves.json",
        ),
        "engine.cli.leader_election": (
            "elect the leaders of partitions again",
            "--election-type preferred --all-topic-partitions",
        ),
        "engine.cli.acls": (
            "show and change who may do what",
            "--add --allow-principal User:alice --topic orders",
        ),
        "engine.cli.console_producer": (
            "send lines as records",
            "--topic orders --property parse.key=true",
        ),
        "engine.cli.console_consumer": (
            "print records as they arrive",
            "--topic orders --from-beginning --max-messages 10",
        ),
        "engine.cli.perf": (
            "measure how fast records can be sent and read",
            "producer --topic orders --num-records 100000 --record-size 200",
        ),
    },
    "Look into a log": {
        "engine.cli.kraft.metadata_quorum": (
            "show the quorum of controllers: who leads, and how far the others are",
            "--bootstrap-controller host:9193 describe --status",
        ),
        "engine.cli.kraft.features": (
            "show and change the levels of a cluster without ZooKeeper",
            "--bootstrap-server host:9092 describe",
        ),
        "engine.cli.kraft.cluster_tool": (
            "the id of a cluster; forget a broker that will not come back",
            "cluster-id --bootstrap-server host:9092",
        ),
        "engine.cli.kraft.metadata_shell": (
            "look into the metadata of a cluster without ZooKeeper, as into directories",
            "--directory lab-data/controller-1 ls /image",
        ),
        "engine.cli.dump.dump_log": (
            "print .log, .index, .timeindex, .txnindex and .snapshot files",
            "--files orders-0/00000000000000000000.log --print-data-log",
        ),
    },
    SCRIPTS: {
        "engine.cli.server_start": (
            "one broker, from a file",
            "config/server.properties --override log.dirs=logs",
        ),
        "engine.cli.server_stop": (
            "end the brokers that were started so from the same directory",
            "--home lab-data",
        ),
        "engine.cli.zookeeper_server_start": (
            "one ZooKeeper server, from a file",
            "-daemon config/zookeeper.properties",
        ),
        "engine.cli.zookeeper_server_stop": (
            "end the ZooKeeper that was started so from the same directory",
            "--home lab-data",
        ),
        "engine.cli.run_class": (
            "a tool by the name of its Java class",
            "kafka.tools.DumpLogSegments --files orders-0/0.index",
        ),
    },
    "Try to break it": {
        "engine.cli.simulate": (
            "a simulated cluster in a storm of faults, from a seed",
            "--seed 7 --rows 100",
        ),
        "engine.cli.chaos": (
            "a real cluster in a storm of faults, with stock clients, and a verdict",
            "--seconds 60 --seed 7",
        ),
    },
    "Try yourself": {
        "engine.cli.oracle": (
            "what will happen? questions on simulated clusters; the run decides",
            "--seed 7 --questions 20",
        ),
        "engine.cli.challenge": (
            "write one of Kafka's rules, and see which storm breaks it",
            "high-watermark my_rule.py",
        ),
    },
}
COMMANDS = [
    Command(module.rpartition(".")[2].replace("_", "-"), module, group, help, example)
    for group, commands in TABLE.items()
    for module, (help, example) in commands.items()
]


def to_stderr(text: str) -> None:
    """Print a line that is no part of the result, at once."""
    print(text, file=sys.stderr, flush=True)


class Module(Protocol):
    """What a command's module has."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, options: argparse.Namespace) -> int: ...


class UsageError(Exception):
    """The command line is wrong; the message says where."""


class Parser(argparse.ArgumentParser):
    """argparse with errors in one line; its own also print the usage."""

    _given: Sequence[str] = ()  # the words that were typed

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self._given = args or ()
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        if message.endswith(" required") or " are required: " in message:
            words = [word.partition("=")[0] for word in self._given if word.startswith("--")]
            unknown = [word for word in words[:100] if word not in self._option_string_actions]
            if unknown:  # it may be the one that is missing, mistyped
                message = f"unrecognized arguments: {unknown[0]}"
        stray = re.match(r"unrecognized arguments: (--[\w-]+)", message)
        hint = nearest(stray[1], re.findall(r"--[\w-]+", self.format_help())) if stray else ""
        raise UsageError(f"{message}{hint} ({self.prog} --help)")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line; returns the exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for what the terminal can't show
    try:
        status = _dispatch(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # of stdout: that of a connection becomes an ApiException
        # Its reader has ended (`| head`). Python shall not try to print the rest at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except UsageError as error:
        return _report(error, USAGE)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _report(f"{where}{error.strerror or error}", FAILED)
    except Exception as error:
        from engine.errors import ApiException

        if not isinstance(error, ApiException):
            raise
        return _report(error, FAILED)
    return status


def _dispatch(arguments: list[str]) -> int:
    match arguments:
        case [] | ["-h" | "--help" | "help"]:
            print(overview())
            return 0
        case ["--version"]:
            from engine import __version__

            print(f"Broker Lab {__version__}, compatible with Kafka 2.8")
            return 0
        case ["help", name, *_]:
            return _dispatch([name, "--help"])
        case [name, *rest]:
            command = _find(name)
            if replaced := gone.sentence(name, rest):
                raise UsageError(f"{replaced} ({PROGRAM} {name} --help)")
            module: Module = import_module(command.module)
            parser = Parser(
                prog=f"{PROGRAM} {name}",
                description=module.__doc__,
                epilog=f"example:\n  {PROGRAM} {name} {command.example}",
                formatter_class=argparse.RawDescriptionHelpFormatter,
                allow_abbrev=False,
            )
            module.add_arguments(parser)
            return module.run(parser.parse_args(rest))
    raise AssertionError(arguments)


def _find(name: str) -> Command:
    for command in COMMANDS:
        if command.name == name:
            return command
    what = "option" if name.startswith("-") else "command"
    hint = nearest(name, ["--help", "--version", *(command.name for command in COMMANDS)])
    raise UsageError(f"there is no {what} {name}{hint} ({PROGRAM} --help)")


def nearest(word: str, words: Sequence[str]) -> str:
    """The end of an error's text: the most similar word that is known, if there is one."""
    near = get_close_matches(word, words, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def overview() -> str:
    """All commands, by group: one line each, and an example."""
    lines = [
        f"usage: {PROGRAM} COMMAND [option ...]",
        "",
        "A lab that takes Kafka apart, on an engine that is real: brokers that stock clients take",
        "for Kafka, and tools to look into them. Options are named as those of Kafka's own tools.",
    ]
    width = max(len(command.name) for command in COMMANDS) + 2
    for group, commands in groupby(COMMANDS, key=lambda command: command.group):
        lines += ["", group]
        for name, _, _, text, example in commands:
            lines += [f"  {name:{width}}{text}", f"  {'':{width}}  e.g. {name} {example}"]
    lines += [
        "",
        f"{PROGRAM} COMMAND --help has more on each; --version prints the version.",
        "Exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted.",
    ]
    return "\n".join(lines)


def _report(what: object, status: int) -> int:
    to_stderr(f"{PROGRAM}: {' '.join(str(what).split())}")
    return status
