"""Options that several commands share, and what they lead to."""

import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.client.cluster import ClusterView
    from engine.errors import KafkaError

BOOTSTRAP = "127.0.0.1:9092"
PATIENCE = 30.0  # seconds to wait for what may pass: an election, a broker that comes back
QUIET = 2.0  # seconds to wait without a word about it


def add_config(parser: ArgumentParser, help: str) -> None:
    parser.add_argument(
        "--config",
        action="append",
        type=setting,
        default=[],
        metavar="KEY=VALUE",
        help=f"{help}; may be given several times",
    )


def add_property(parser: ArgumentParser, known: Iterable[str]) -> None:
    """`--property`: how records are read from lines, or printed."""
    parser.add_argument(
        "--property",
        action="append",
        type=_exact_setting,
        default=[],
        metavar="KEY=VALUE",
        help=f"may be given several times: {', '.join(known)}",
    )


def setting(text: str) -> tuple[str, str]:
    key, value = _exact_setting(text)
    return key, value.strip()


def _exact_setting(text: str) -> tuple[str, str]:
    """A value may be a blank or a tab here: a separator."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return key.strip(), value


def add_bootstrap(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--bootstrap-server",
        default=BOOTSTRAP,
        metavar="HOST:PORT",
        help="a broker to start from, or several with commas between them (default: %(default)s)",
    )


def connect(bootstrap: str, patience: float = PATIENCE) -> "ClusterView":
    """The cluster behind --bootstrap-server, or an error that says how to get one."""
    from engine.client.cluster import ClusterView
    from engine.client.connection import Address
    from engine.errors import ErrorCode, KafkaError

    addresses = [Address.parse(text) for text in bootstrap.split(",")]
    try:
        return ClusterView(addresses, patience=patience, waiting=_Waiting())
    except KafkaError as error:
        if error.code != ErrorCode.broker_not_available:
            raise
        raise KafkaError(
            error.code,
            f"{error.message}; start a cluster (see `cluster --help`), or say where one is "
            "with --bootstrap-server HOST:PORT",
        ) from error


class _Waiting:
    """A word on stderr once a wait is longer than two seconds, and then each second."""

    _told = QUIET - 1

    def __call__(self, error: "KafkaError", seconds: float) -> None:
        if seconds < self._told:  # another wait
            self._told = QUIET - 1
        if seconds >= self._told + 1:
            self._told = seconds
            print(f"waiting for {seconds:.0f} s: {error.message}", file=sys.stderr, flush=True)


def known(settings: Iterable[tuple[str, str]], names: Iterable[str], what: str) -> dict[str, str]:
    """The settings by name. One that there is not is told, with the nearest that there is."""
    from engine.cli.main import UsageError

    names = list(names)
    for key, _ in settings:
        if key not in names:
            near = get_close_matches(key, names, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"
            raise UsageError(f"there is no {what} {key}; {hint}")
    return dict(settings)


def is_true(text: str) -> bool:
    return text.strip().lower() == "true"
