"""How commands reach a cluster without ZooKeeper: by a broker, or by a controller.

    --bootstrap-server HOST:PORT        a broker, which passes the request on to the controller
    --bootstrap-controller HOST:PORT    a controller; the active one answers

Of several addresses the first that answers counts. --command-config names a file with the keys of
TLS and SASL.
"""

import asyncio
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from typing import Any, NamedTuple

from engine.broker.peer import ConnectsBy, Peer
from engine.cli.connection import security_keys
from engine.cli.main import UsageError
from engine.cli.options import add_command_config
from engine.client.security import ConnectionSecurity
from engine.config.client import ClientConfig
from engine.config.quorum import VoterAddress
from engine.errors import ApiException, ErrorCode
from engine.links import Links
from engine.wire.apis import ApiKey
from engine.wire.codec import Apis
from engine.wire.controller_apis import CONTROLLER_APIS
from engine.wire.kraft_apis import KRAFT_APIS

REQUEST_TIMEOUT_S = 5.0
OPTIONS = {"--bootstrap-server": "broker", "--bootstrap-controller": "controller"}


class Bootstrap(NamedTuple):
    addresses: list[VoterAddress]
    of_controllers: bool
    security: ConnectsBy | None  # None: without TLS and SASL

    @property
    def apis(self) -> Apis:
        return CONTROLLER_APIS if self.of_controllers else KRAFT_APIS

    def peer(self, address: VoterAddress, client_id: str) -> Peer:
        shared = REQUEST_TIMEOUT_S, self.security, self.apis
        return Peer(address.host, address.port, -1, Links(), client_id, *shared)


def add_bootstrap(parser: ArgumentParser) -> None:
    address = parser.add_mutually_exclusive_group(required=True)
    for option, whom in OPTIONS.items():
        help = f"a {whom} to start from, or several with commas between them"
        address.add_argument(option, metavar="HOST:PORT,...", help=help)
    add_command_config(parser)


def bootstrap(options: Namespace) -> Bootstrap:
    of_controllers = options.bootstrap_server is None
    option = [*OPTIONS][of_controllers]
    given = options.bootstrap_controller if of_controllers else options.bootstrap_server
    addresses = [_address(option, text) for text in given.split(",")]
    security = _security(given, security_keys(options))
    return Bootstrap(addresses, of_controllers, security)


def _security(addresses: str, keys: Mapping[str, str]) -> ConnectionSecurity | None:
    if not keys:
        return None
    return ConnectionSecurity(ClientConfig.parse({"bootstrap.servers": addresses, **keys}))


def _address(option: str, text: str) -> VoterAddress:
    host, _, port = text.strip().rpartition(":")
    if not host or not port.isdecimal():
        raise UsageError(f"{option} {text}: an address is HOST:PORT")
    return VoterAddress(host, int(port))


def ask(nodes: Bootstrap, api: ApiKey, request: Any, client_id: str) -> Any:
    """The answer of the first node that has one, and is the active controller, if it has to be."""
    return asyncio.run(_ask(nodes, api, request, client_id))


async def _ask(nodes: Bootstrap, api: ApiKey, request: Any, client_id: str) -> Any:
    reason = ""
    for address in nodes.addresses:
        peer = nodes.peer(address, client_id)
        try:
            answer = await peer.ask(api, request)
        except OSError as error:
            reason = f"{address.host}:{address.port}: {error or type(error).__name__}"
            continue
        finally:
            peer.close()
        if getattr(answer, "error_code", None) is not ErrorCode.not_controller:
            return answer
        reason = "none of them is the active controller"
    raise ApiException(ErrorCode.broker_not_available, f"no answer: {reason}")
