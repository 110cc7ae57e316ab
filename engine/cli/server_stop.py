"""End the brokers that kafka-server-start.sh of the same directory has started.

It returns when they have ended. Brokers of a cluster, and those of other directories, stay.
"""

from argparse import ArgumentParser, Namespace

from engine.cli.server_start import add_home
from engine.cluster.scripts.kafka_home import SERVER, stop
from engine.errors import invalid_request


def add_arguments(parser: ArgumentParser) -> None:
    add_home(parser)


def run(options: Namespace) -> int:
    if not stop(options.home, SERVER):
        raise invalid_request("No kafka server to stop")
    return 0
