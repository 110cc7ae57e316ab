"""One broker, until SIGINT or SIGTERM.

Registers in ZooKeeper, repairs its logs if it did not stop in good order the last time, and
serves. Its process id stands in DIR/broker.pid. Killed, it comes back by the same command.
"""

import asyncio
import logging
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from engine.cli.options import add_config


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--id", type=int, required=True, metavar="N", help="the broker's number")
    parser.add_argument(
        "--port", type=int, default=9092, metavar="P", help="where to listen; 0 takes a free port"
    )
    parser.add_argument(
        "--zookeeper", required=True, metavar="HOST:PORT", help="the cluster's ZooKeeper"
    )
    parser.add_argument(
        "--data", type=Path, required=True, metavar="DIR", help="where its logs are kept"
    )
    add_config(parser, "a key of Kafka's server.properties")


def run(options: Namespace) -> int:
    # kio imports hypothesis where that is installed: 20 MB that no broker needs.
    sys.modules.setdefault("hypothesis", None)  # type: ignore[arg-type]

    from engine.broker.process import Process
    from engine.config import BrokerConfig

    settings = {
        "broker.id": str(options.id),
        "listeners": f"PLAINTEXT://127.0.0.1:{options.port}",
        "zookeeper.connect": options.zookeeper,
        "log.dirs": str(options.data),
    }
    config = BrokerConfig.parse(settings | dict(options.config))
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("kazoo").setLevel(logging.WARNING)

    def ready(port: int) -> None:
        print(f"ready broker={options.id} port={port}", flush=True)

    asyncio.run(Process(config).run(ready))
    return 0
