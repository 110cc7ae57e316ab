"""Start one ZooKeeper server from a file, as zookeeper-server-start.sh does.

    bin/zookeeper-server-start.sh [-daemon] config/zookeeper.properties

The file has dataDir, clientPort and tickTime. It listens on 127.0.0.1.

In the foreground it runs until Control-C or SIGTERM. With -daemon it runs in the background, what
it prints is in DIR/logs/zookeeper.out, and zookeeper-server-stop.sh of the same directory ends it.
If a cluster or a notebook has made the directory DIR of the script and still runs, then ZooKeeper
ends with it, also if that is killed. Otherwise it runs until it is stopped.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path

from engine.cli.main import UsageError, nearest
from engine.cli.server_start import add_start, read_properties, report_daemon
from engine.cluster.child import Child
from engine.cluster.scripts.kafka_home import ZOOKEEPER, is_owned
from engine.cluster.scripts.script_server import run_server
from engine.cluster.zookeeper import ZookeeperServer

OUTPUT = "zookeeper.out"
TICK = "200"  # ms: sessions of less than a second are possible
FIXED = {  # what our server always has; Kafka's own file says the same
    "maxClientCnxns": "0",
    "admin.enableServer": "false",
    "clientPortAddress": "127.0.0.1",
}


def add_arguments(parser: ArgumentParser) -> None:
    add_start(parser, "zookeeper.properties")


def run(options: Namespace) -> int:
    owned = options.owned or is_owned(options.home)
    values = read_properties(options.properties)
    data, port, tick = _settings(values)
    if options.daemon:
        file = str(options.properties)
        report_daemon(options.home, OUTPUT, owned, ["zookeeper-server-start", file])
        return 0
    server = ZookeeperServer(data, port, tick, durable=True)

    def launch() -> Child:
        server.start()
        print(f"ready zookeeper={server.address} data={server.data_dir}", flush=True)
        return server.child

    try:
        run_server(options.home, ZOOKEEPER, owned, launch)
    finally:
        server.stop()
    return 0


def _settings(values: Mapping[str, str]) -> tuple[Path, int, int]:
    """dataDir, clientPort, tickTime."""
    known = ["dataDir", "clientPort", "tickTime", *FIXED]
    for key, value in values.items():
        if key not in known:
            hint = nearest(key, known) or f"; there are {', '.join(known)}"
            raise UsageError(f"Unknown ZooKeeper config name: {key}{hint}")
        if key in FIXED and value != FIXED[key]:
            raise UsageError(f"{key}={value}: it is always {FIXED[key]} here")
    for key in ("dataDir", "clientPort"):
        if not values.get(key):
            raise UsageError(f"{key} is not set")
    numbers = values["clientPort"], values.get("tickTime", TICK)
    if not all(each.isdecimal() for each in numbers):
        raise UsageError(f"clientPort and tickTime are numbers, not {' and '.join(numbers)}")
    return Path(values["dataDir"]), int(numbers[0]), int(numbers[1])
