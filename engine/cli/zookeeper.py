"""`zookeeper`: one ZooKeeper server, until SIGINT or SIGTERM.

python -m engine zookeeper --port 2181 --data DIR
ready zookeeper=127.0.0.1:2181 data=DIR
"""

import signal
from argparse import ArgumentParser, Namespace
from pathlib import Path
from types import FrameType

from engine.cluster.zookeeper import StartError, ZookeeperServer


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--port", type=int, default=2181, help="the port to listen on; 0 takes a free one"
    )
    parser.add_argument(
        "--data", type=Path, required=True, metavar="DIR", help="where its znodes are kept"
    )


def run(options: Namespace) -> int:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    try:
        with ZookeeperServer(options.data, options.port) as server:
            print(f"ready zookeeper={server.address} data={server.data_dir}", flush=True)
            code = server.child.wait()
            raise StartError(f"ZooKeeper ended with exit code {code}: see {server.child.log}")
    except KeyboardInterrupt:
        return 0


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
