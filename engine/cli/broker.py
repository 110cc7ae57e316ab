"""One broker, until SIGINT or SIGTERM.

It registers, recovers its logs if its last shutdown was not clean, and serves. Its process id is in
DIR/broker.pid. After a kill, the same command starts it again.

    broker --id 1 --port 9092 --data DIR --zookeeper HOST:PORT,...
    broker --id 1 --port 9092 --data DIR --controllers 101@HOST:PORT,...      without ZooKeeper

The second one is short for process.roles=broker, controller.quorum.voters and
controller.listener.names=CONTROLLER, which may also be keys of --properties or --config. Its
directory has to be formatted first (`storage format`).

With several directories (--config log.dirs=/disk-1,/disk-2) a disk may fail: the broker names it in
its log, and goes on with the others.
"""

import asyncio
import logging
from argparse import ArgumentParser, Namespace
from functools import partial
from pathlib import Path

from engine.broker.broker_server import BrokerServer
from engine.broker.environment import Environment
from engine.cli.log_lines import log_lines
from engine.cli.main import FAILED
from engine.cli.options import Options, add_config, add_options, port_number, setting
from engine.config import BrokerConfig
from engine.config.kraft import CONTROLLER, KRaftBrokerConfig
from engine.config.properties import parse_properties
from engine.config.quorum import parse_voters
from engine.quorum_server.combined_node import open_combined

REQUIRED: Options = {
    "id N": (int, None, "the broker's number"),
    "data DIR": (Path, None, "where its logs are kept, unless there is a key log.dirs"),
}
OPTIONAL: Options = {
    "zookeeper HOST:PORT,...": "the cluster's ZooKeeper",
    "controllers ID@HOST:PORT,...": "or its controllers, without ZooKeeper",
    "port P": (port_number, 9092, "where to listen; 0 takes a free port"),
    "properties FILE": (Path, None, "a file of settings: server.properties"),
    "rule NAME=FILE": (setting, [], "a rule of a challenge that you wrote, in Kafka's place"),
}


def add_arguments(parser: ArgumentParser) -> None:
    add_options(parser, REQUIRED, required=True)
    add_options(parser, OPTIONAL)
    add_config(parser, "a key of Kafka's server.properties")


def settings_of(options: Namespace) -> dict[str, str]:
    """The keys that the options stand for, then those of the file, then those of --config."""
    settings = {
        "listeners": f"PLAINTEXT://127.0.0.1:{options.port}",
        "log.dirs": str(options.data),
    }
    if options.controllers:
        settings |= {
            "process.roles": "broker",
            "controller.quorum.voters": options.controllers,
            "controller.listener.names": "CONTROLLER",
        }
    if options.properties:
        settings |= parse_properties(options.properties.read_text(), escapes=True)
    settings |= dict(options.config)
    if "process.roles" in settings:
        _add_controller_listener(settings, options.id)
        return {"node.id": str(options.id), **settings}
    if options.zookeeper:
        settings = {"zookeeper.connect": options.zookeeper, **settings}
    return {"broker.id": str(options.id), **settings}


def _add_controller_listener(settings: dict[str, str], id: int) -> None:
    """A controller in the same process listens as the list of voters says, or another key."""
    names = settings.get("controller.listener.names", "")
    is_told = any(text.startswith(f"{names}://") for text in settings["listeners"].split(","))
    if CONTROLLER in settings["process.roles"] and names and not is_told:
        host, port = parse_voters(settings["controller.quorum.voters"], id)[id]
        settings["listeners"] += f",{names}://{host}:{port}"


def run(options: Namespace) -> int:
    settings = settings_of(options)
    kind = KRaftBrokerConfig if "process.roles" in settings else BrokerConfig
    config = kind.parse(settings)
    log_lines()
    logging.getLogger("kazoo").setLevel(logging.ERROR)  # we log a lost connection ourselves

    def ready(port: int) -> None:
        print(f"ready broker={options.id} port={port}", flush=True)

    open_quorum = None
    if isinstance(config, KRaftBrokerConfig) and config.is_combined:
        open_quorum = partial(open_combined, config)
    environment = Environment(config, options.data, open_quorum)
    if options.rule:
        from proof.challenges.guard import RuleFailure
        from proof.challenges.in_broker import real_rules

        try:
            environment.rules = real_rules({name: Path(file) for name, file in options.rule})
        except RuleFailure as failure:
            print(failure, flush=True)
            return FAILED
    asyncio.run(BrokerServer(config, environment).run(ready))
    return 0
