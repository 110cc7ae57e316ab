"""`zookeeper`: one ZooKeeper server, until SIGINT or SIGTERM.

python -m engine zookeeper --port 2181 --data DIR
ready zookeeper=127.0.0.1:2181 data=DIR
"""

import signal
from argparse import ArgumentParser, Namespace
from pathlib import Path

from engine.cli.options import add_options, port_number
from engine.cluster.zookeeper import StartError, ZookeeperServer


def add_arguments(parser: ArgumentParser) -> None:
    add_options(parser, {"port PORT": (port_number, 2181, "where to listen; 0 takes a free port")})
    add_options(parser, {"data DIR": (Path, None, "where its znodes are kept")}, required=True)


def run(options: Namespace) -> int:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    try:
        with ZookeeperServer(options.data, options.port, durable=True) as server:
            print(f"ready zookeeper={server.address} data={server.data_dir}", flush=True)
            code = server.child.wait()
            raise StartError(f"ZooKeeper ended with exit code {code}: see {server.child.log}")
    except KeyboardInterrupt:
        return 0
