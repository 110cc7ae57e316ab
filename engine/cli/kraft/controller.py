"""One controller of a cluster without ZooKeeper, until SIGINT or SIGTERM.

    storage format -t ID -c server.properties            once, for each controller's directory
    controller --id 101 --port 9193 --data DIR --voters 101@127.0.0.1:9193,102@127.0.0.1:9194,...

The voters elect a leader among them, which is in the metadata log. After a kill, the same command
starts the controller again; its process id is in DIR/controller.pid. `metadata-quorum describe`
shows who leads.
"""

import asyncio
from argparse import ArgumentParser, Namespace
from pathlib import Path

from engine.cli.log_lines import log_lines
from engine.cli.options import Options, add_config, add_options, port_number
from engine.config.properties import parse_properties
from engine.config.quorum import ControllerConfig, parse_voters
from engine.quorum_server.controller_server import ControllerServer

REQUIRED: Options = {
    "id N": (int, None, "the controller's node id"),
    "port P": (port_number, None, "where to listen, as in the list of voters"),
    "voters ID@HOST:PORT,...": "all controllers: controller.quorum.voters",
    "data DIR": (Path, None, "its log directory, which has been formatted"),
}


def add_arguments(parser: ArgumentParser) -> None:
    add_options(parser, REQUIRED, required=True)
    add_options(parser, {"properties FILE": (Path, None, "a file of settings, also secret ones")})
    add_config(parser, "a key of a controller: controller.quorum.fetch.timeout.ms=2000")


def run(options: Namespace) -> int:
    voters = parse_voters(options.voters, options.id)
    text = options.properties.read_text() if options.properties else ""
    # What the command says counts more than the file.
    config = ControllerConfig.parse(parse_properties(text, escapes=True) | dict(options.config))
    log_lines()

    def ready(port: int) -> None:
        print(f"ready controller={options.id} port={port}", flush=True)

    server = ControllerServer(options.id, options.port, voters, options.data, config)
    asyncio.run(server.run(ready))
    return 0
