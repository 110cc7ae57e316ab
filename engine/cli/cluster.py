"""ZooKeeper and brokers 1, 2, 3 ..., until SIGINT or SIGTERM.

When every broker serves and knows the controller it prints one line:

    ready bootstrap=127.0.0.1:9092,127.0.0.1:9093 zookeeper=127.0.0.1:40123 data=DIR

With --zookeepers 3 the line has the addresses of three servers, with commas.

Started again on the same directory, the cluster has all its data. A broker or a ZooKeeper server
that dies by itself is reported, and the others continue.
"""

import signal
import sys
import time
from argparse import ArgumentParser, Namespace
from pathlib import Path

from engine.cli.options import add_config, setting
from engine.cluster.cluster import Cluster
from engine.config.listeners import PROTOCOLS

CHECK_INTERVAL = 0.2  # seconds between two checks of the brokers' processes


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--brokers", type=int, default=1, metavar="N", help="how many")
    parser.add_argument(
        "--port",
        type=int,
        default=9092,
        metavar="P",
        help="broker 1's, the next ones follow; 0 takes free ports",
    )
    parser.add_argument(
        "--data", type=Path, required=True, metavar="DIR", help="where everything is kept"
    )
    parser.add_argument(
        "--zookeepers",
        type=int,
        default=1,
        metavar="N",
        help="how many ZooKeeper servers; of 3, one may die",
    )
    parser.add_argument(
        "--zookeeper",
        metavar="HOST:PORT,...",
        help="use this ZooKeeper instead of an embedded one",
    )
    parser.add_argument(
        "--security",
        default="PLAINTEXT",
        choices=PROTOCOLS,
        help="how the brokers' listener is secured (default: %(default)s)",
    )
    parser.add_argument(
        "--user",
        action="append",
        type=setting,
        default=[],
        metavar="NAME=PASSWORD",
        help="a user, with a file for its clients: DIR/clients/NAME.properties",
    )
    add_config(parser, "a key of Kafka's server.properties, for every broker")


def run(options: Namespace) -> int:
    cluster = Cluster(
        options.brokers,
        port=options.port,
        data=options.data,
        zookeepers=options.zookeepers,
        zookeeper=options.zookeeper,
        config=dict(options.config),
        security=options.security,
        users=dict(options.user),
        report=lambda line: _say(f"{line} ..."),
    )
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    try:
        with cluster:
            print(
                f"ready bootstrap={cluster.bootstrap} zookeeper={cluster.zookeeper} "
                f"data={cluster.data}",
                flush=True,
            )
            while True:
                time.sleep(CHECK_INTERVAL)
                for broker, reason in cluster.deaths():
                    name = f"broker {broker}" if isinstance(broker, int) else broker
                    _say(f"{name} has ended: {reason}; start it again by:")
                    _say(f"  {cluster.command(broker)}")
    except KeyboardInterrupt:
        return 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _stop(number: int, frame: object) -> None:
    raise KeyboardInterrupt
