"""The connection of a command to the cluster behind --bootstrap-server."""

from collections.abc import Mapping

from engine.cli.main import to_stderr
from engine.client.address import Address
from engine.client.cluster import ClusterClient
from engine.client.values import KafkaError as ClientError
from engine.errors import ErrorCode, KafkaError

PATIENCE = 30.0  # seconds of retries after an error that may pass: an election, a restart
QUIET = 2.0  # seconds to wait without a message


def connect(
    bootstrap: str, security: Mapping[str, str], patience: float = PATIENCE
) -> ClusterClient:
    """The cluster behind --bootstrap-server, or an error that says how to get one."""
    addresses = [Address.parse(text) for text in bootstrap.split(",")]
    try:
        waiting = _Waiting()
        return ClusterClient(addresses, patience=patience, waiting=waiting, security=security)
    except KafkaError as error:
        if error.code != ErrorCode.broker_not_available:
            raise
        raise KafkaError(
            error.code,
            f"{error.message}; start a cluster (see `cluster --help`), or say where one is "
            "with --bootstrap-server HOST:PORT",
        ) from error


def failure(error: ClientError) -> KafkaError:
    """The error of a producer or consumer as commands raise it."""
    codes = {int(each): each for each in ErrorCode}
    return KafkaError(codes.get(error.code(), ErrorCode.unknown_server_error), error.str())


def refusal(message: str) -> KafkaError:
    """The error of a request that is not even sent."""
    return KafkaError(ErrorCode.invalid_request, message)


class _Waiting:
    """A message on stderr when a wait is longer than two seconds, and then each second."""

    _reported = QUIET - 1

    def __call__(self, error: KafkaError, seconds: float) -> None:
        if seconds < self._reported:  # another wait
            self._reported = QUIET - 1
        if seconds >= self._reported + 1:
            self._reported = seconds
            to_stderr(f"waiting for {seconds:.0f} s: {error.message}")
