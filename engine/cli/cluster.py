"""ZooKeeper and brokers 1, 2, 3 ..., until SIGINT or SIGTERM.

When all is up it prints one line:

    ready bootstrap=127.0.0.1:9092 zookeeper=127.0.0.1:40123 data=DIR

Started again on the same directory, it finds everything as it was left.
"""

import signal
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from engine.cli.options import add_config


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--brokers", type=int, default=1, metavar="N", help="how many; 1 for now")
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
        "--zookeeper", metavar="HOST:PORT", help="use this ZooKeeper instead of an embedded one"
    )
    add_config(parser, "a key of Kafka's server.properties, for every broker")


def run(options: Namespace) -> int:
    from engine.cluster.cluster import Cluster

    signals = {signal.SIGINT, signal.SIGTERM}
    cluster = Cluster(
        options.brokers,
        port=options.port,
        data=options.data,
        zookeeper=options.zookeeper,
        config=dict(options.config),
        report=lambda line: print(line, "...", file=sys.stderr, flush=True),
    )
    for number in signals:
        signal.signal(number, _stop)
    try:
        with cluster:
            print(
                f"ready bootstrap={cluster.bootstrap} zookeeper={cluster.zookeeper} "
                f"data={cluster.data}",
                flush=True,
            )
            signal.signal(signal.SIGCHLD, lambda number, frame: None)  # ends the pause
            up = {broker: cluster.child(broker) for broker in cluster.brokers}
            while True:
                signal.pause()
                for broker in [broker for broker, child in up.items() if not child.alive]:
                    code = up.pop(broker).exit_code
                    print(
                        f"broker {broker} is gone, exit code {code}; this brings it back:\n"
                        f"  {cluster.command(broker)}",
                        file=sys.stderr,
                        flush=True,
                    )
    except KeyboardInterrupt:
        return 0


def _stop(number: int, frame: object) -> None:
    raise KeyboardInterrupt
