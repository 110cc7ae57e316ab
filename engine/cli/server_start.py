"""Start one broker from a file, as kafka-server-start.sh does.

    bin/kafka-server-start.sh [-daemon] config/server.properties [--override KEY=VALUE ...]

With the key process.roles it is a broker without ZooKeeper; its directory has to be formatted first
(bin/kafka-storage.sh format).

An unknown key is refused by name, with the nearest known one: `log.Dirs` is no key. A key of Kafka
without effect here is named, and ignored. Relative directories are below the directory in which the
command is typed.

In the foreground it runs until Control-C or SIGTERM. With -daemon it runs in the background, what
it prints is in DIR/logs/kafkaServer.out, and kafka-server-stop.sh of the same directory ends it. If
a cluster or a notebook has made the directory DIR of the script and still runs, then the broker
ends with it, also if that is killed. Otherwise it runs until it is stopped, as Kafka's does.
"""

import os
import sys
import tempfile
from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from engine.cli.main import UsageError, to_stderr
from engine.cli.options import add_options, setting
from engine.cluster.child import Child
from engine.cluster.scripts.kafka_home import SERVER, is_owned
from engine.cluster.scripts.script_server import run_server, start_daemon
from engine.config import BrokerConfig, inert
from engine.config.kraft import KRaftBrokerConfig
from engine.config.properties import parse_properties, properties_text

OUTPUT = "kafkaServer.out"
ROLES = "process.roles"  # of a broker without ZooKeeper


def add_arguments(parser: ArgumentParser) -> None:
    add_start(parser, "server.properties")
    help = "instead of what the file says; may be given several times"
    add_options(parser, {"override KEY=VALUE": (setting, [], help)})


def add_start(parser: ArgumentParser, file: str) -> None:
    """The options of both start scripts."""
    parser.add_argument("properties", type=Path, metavar=file, help="the file with its settings")
    parser.add_argument(
        "-daemon", dest="daemon", action="store_true", help="run it in the background"
    )
    parser.add_argument("--owned", action="store_true", help=SUPPRESS)
    add_home(parser)


def add_home(parser: ArgumentParser) -> None:
    help = "the directory of the script, which gives it (default: the current one)"
    add_options(parser, {"home DIR": (Path, Path.cwd(), help)})


def run(options: Namespace) -> int:
    owned = options.owned or is_owned(options.home)
    values = _effective(read_properties(options.properties) | dict(options.override))
    is_kraft = ROLES in values
    config = (KRaftBrokerConfig if is_kraft else BrokerConfig).parse(values)
    where = [] if is_kraft else ["--zookeeper", config.zookeeper_connect]
    if options.daemon:
        words = [f"--override={key}={value}" for key, value in options.override]
        file = str(options.properties)
        report_daemon(options.home, OUTPUT, owned, ["server-start", file, *words])
        return 0
    with _file(values) as path:

        def launch() -> Child:
            logs = options.home / "logs"
            logs.mkdir(parents=True, exist_ok=True)
            child = Child(
                [
                    *(sys.executable, "-m", "engine", "broker"),
                    *("--id", str(config.broker_id), *where),
                    *("--data", config.log_dirs[0], "--properties", str(path)),
                ],
                logs / "server.log",
            )
            print(f"starting broker {config.broker_id}, its log is {child.log}", flush=True)
            return child

        run_server(options.home, SERVER, owned, launch)
    return 0


def read_properties(path: Path) -> dict[str, str]:
    try:
        return parse_properties(path.read_text("latin-1"), escapes=True)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error


def report_daemon(home: Path, output: str, owned: bool, command: list[str]) -> None:
    """Start the same command again, in the background."""
    words = [*command, "--home", str(home), *(["--owned"] if owned else [])]
    pid = start_daemon(home, output, words)
    print(f"started in the background as process {pid}, output in {home / 'logs' / output}")


def _effective(values: Mapping[str, str]) -> dict[str, str]:
    """Without the keys of Kafka that have no effect here, which are printed."""
    without = [key for key in values if key in inert.table()]
    if without:
        to_stderr(f"ignored, as they have no effect here: {', '.join(without)}")
    return {key: value for key, value in values.items() if key not in without}


@contextmanager
def _file(values: Mapping[str, str]) -> Iterator[Path]:
    """The settings for the broker's process, in a file that only its user can read."""
    with tempfile.TemporaryDirectory(prefix="brokerlab-") as folder:
        path = Path(folder, "server.properties")
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write(properties_text(values, escapes=True))
        yield path
