"""End the ZooKeeper that zookeeper-server-start.sh of the same directory has started.

It returns when it has ended. The ZooKeeper of a cluster, and those of other directories, stay.
"""

from argparse import ArgumentParser, Namespace

from engine.cli.server_start import add_home
from engine.cluster.scripts.kafka_home import ZOOKEEPER, stop
from engine.errors import invalid_request


def add_arguments(parser: ArgumentParser) -> None:
    add_home(parser)


def run(options: Namespace) -> int:
    if not stop(options.home, ZOOKEEPER):
        raise invalid_request("No zookeeper server to stop")
    return 0
