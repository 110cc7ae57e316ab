"""The connection of a command to the cluster behind --bootstrap-server."""

from argparse import Namespace
from typing import Any

from engine.cli.main import UsageError, to_stderr
from engine.client.address import Address
from engine.client.cluster import ClusterClient
from engine.client.values import KafkaError
from engine.config.client import ALIASES, ClientConfig
from engine.config.client_security import ClientSecurityConfig
from engine.config.properties import parse_properties
from engine.errors import ApiException, ErrorCode

RETRY_LIMIT_S = 30.0  # of retries after an error that may pass: an election, a restart
MESSAGE_AFTER_S = 2.0  # to wait before a message says why


def connect(options: Namespace, patience: float = RETRY_LIMIT_S) -> ClusterClient:
    """The cluster behind --bootstrap-server, or an error that says how to get one."""
    keys = security_keys(options)
    addresses = [Address.parse(text) for text in options.bootstrap_server.split(",")]
    try:
        return ClusterClient(addresses, patience=patience, waiting=_Waiting(), security=keys)
    except ApiException as error:
        if error.code != ErrorCode.broker_not_available:
            raise
        raise ApiException(
            error.code,
            f"{error.message}; start a cluster (see `cluster --help`), or say where one is "
            "with --bootstrap-server HOST:PORT",
        ) from error


def client_config(options: Namespace) -> dict[str, Any]:
    """How a producer or consumer gets to the same cluster."""
    return {**security_keys(options), "bootstrap.servers": options.bootstrap_server}


def security_keys(options: Namespace) -> dict[str, str]:
    """The keys of TLS and SASL in the file of --command-config."""
    if options.command_config is None:
        return {}
    try:
        text = options.command_config.read_text()
    except (OSError, UnicodeError) as error:
        raise UsageError(f"{options.command_config} cannot be read: {error}") from error
    values = parse_properties(text, escapes=False)
    named = {ALIASES.get(name, name): value for name, value in values.items()}
    ours = ClientSecurityConfig.keys()
    for name in named:
        ClientConfig.find(name)  # refuses what it does not know
    return {name: value for name, value in named.items() if name in ours}


def failure(error: KafkaError) -> ApiException:
    """The error of a producer or consumer as commands raise it."""
    codes = {int(each): each for each in ErrorCode}
    return ApiException(codes.get(error.code(), ErrorCode.unknown_server_error), error.str())


class _Waiting:
    """A message on stderr when a wait is longer than two seconds, and then each second."""

    _reported = MESSAGE_AFTER_S - 1

    def __call__(self, error: ApiException, seconds: float) -> None:
        if seconds < self._reported:  # another wait
            self._reported = MESSAGE_AFTER_S - 1
        if seconds >= self._reported + 1:
            self._reported = seconds
            to_stderr(f"waiting for {seconds:.0f} s: {error.message}")
