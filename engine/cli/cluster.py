"""ZooKeeper, or controllers, and brokers 1, 2, 3 ..., until SIGINT or SIGTERM.

When every broker serves and knows the controller it prints one line:

    ready bootstrap=127.0.0.1:9092,127.0.0.1:9093 zookeeper=127.0.0.1:40123 data=DIR

With --zookeepers 3 the line has the addresses of three servers, with commas. With --kraft there is
no ZooKeeper and no Java: controllers 101, 102, 103 have the metadata, and are in the line:

    ready bootstrap=127.0.0.1:9092 controllers=101@127.0.0.1:40123,102@127.0.0.1:40124 data=DIR

What needs ZooKeeper is refused then: its options and keys, and SCRAM (users log in by PLAIN).

Started again on the same directory, the cluster has all its data. A broker, a ZooKeeper server or a
controller that dies by itself is reported, and the others continue.
"""

import signal
import time
from argparse import ArgumentParser, Namespace
from pathlib import Path

from engine.cli.main import UsageError, to_stderr
from engine.cli.options import Options, add_config, add_options, port_number, setting
from engine.cluster.cluster import Cluster
from engine.config.broker import ACL_AUTHORIZER
from engine.config.listener_security import PROTOCOLS
from engine.config.quorum import STANDARD_AUTHORIZER

AUTHORIZER = "authorizer.class.name"
CHECK_INTERVAL = 0.2  # seconds between two checks of the brokers' processes
USERS = "a user, with a file for its clients: DIR/clients/NAME.properties"
OPTIONS: Options = {
    "brokers N": (int, 1, "how many"),
    "port P": (port_number, 9092, "broker 1's, the next ones follow; 0 takes free ports"),
    "zookeepers N": (int, 1, "how many ZooKeeper servers; of 3, one may die"),
    "zookeeper HOST:PORT,...": "use this ZooKeeper instead of an embedded one",
    "kraft": "without ZooKeeper: its metadata is in a quorum of controllers",
    "controllers N": (int, None, "with --kraft: how many (default: 3); 0: the brokers are, too"),
    "user NAME=PASSWORD": (setting, [], USERS),
}


def add_arguments(parser: ArgumentParser) -> None:
    add_options(parser, OPTIONS)
    add_options(parser, {"data DIR": (Path, None, "where everything is kept")}, required=True)
    parser.add_argument(
        "--security",
        default="PLAINTEXT",
        choices=PROTOCOLS,
        help="how the brokers' listener is secured (default: %(default)s)",
    )
    add_config(parser, "a key of Kafka's server.properties, for every broker")


def check(options: Namespace) -> None:
    """Refuse what the mode does not have."""
    settings, wrong = dict(options.config), ""
    if options.controllers is not None and not options.kraft:
        wrong = "--controllers is for a cluster without ZooKeeper: add --kraft"
    elif options.kraft and (options.zookeeper or options.zookeepers != 1):
        wrong = "--kraft is a cluster without ZooKeeper: leave out --zookeeper and --zookeepers"
    elif options.kraft and (options.controllers or 0) < 0:
        wrong = f"--controllers {options.controllers}: 0 or more; 0: the brokers are controllers"
    elif options.kraft and settings.get(AUTHORIZER) == ACL_AUTHORIZER:
        wrong = f"{ACL_AUTHORIZER} keeps its rules in ZooKeeper: {AUTHORIZER}={STANDARD_AUTHORIZER}"
    elif options.kraft and (useless := [key for key in settings if key.startswith("zookeeper.")]):
        wrong = f"{useless[0]} has no effect without ZooKeeper: leave it out"
    if wrong:
        raise UsageError(wrong)


def run(options: Namespace) -> int:
    check(options)
    cluster = Cluster(
        options.brokers,
        port=options.port,
        data=options.data,
        zookeepers=options.zookeepers,
        zookeeper=options.zookeeper,
        metadata="kraft" if options.kraft else "zookeeper",
        controllers=options.controllers,
        config=dict(options.config),
        security=options.security,
        users=dict(options.user),
        report=lambda line: to_stderr(f"{line} ..."),
    )
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    try:
        with cluster:
            print(_ready(cluster, options.kraft), flush=True)
            while True:
                time.sleep(CHECK_INTERVAL)
                for broker, reason in cluster.deaths():
                    name = f"broker {broker}" if isinstance(broker, int) else broker
                    to_stderr(f"{name} has ended: {reason}; start it again by:")
                    to_stderr(f"  {cluster.command(broker)}")
    except KeyboardInterrupt:
        return 0


def _ready(cluster: Cluster, kraft: bool) -> str:
    where = f"controllers={cluster.controllers}" if kraft else f"zookeeper={cluster.zookeeper}"
    return f"ready bootstrap={cluster.bootstrap} {where} data={cluster.data}"
