"""Options that several commands share, and the functions that evaluate them."""

import math
import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from engine.cli.main import UsageError, nearest, to_stderr
from engine.config.listeners import LAST_PORT
from engine.config.topic import INT_MAX

BOOTSTRAP = "127.0.0.1:9092"
NO_OPTIONS: Mapping[str, str] = {}
SHORT_MAX = 2**15 - 1
DIGITS = re.compile("-?[0-9]{1,20}")  # of a number: none of ours has more of them
SHOWN = 40  # characters of a wrong value in an error
BROKER_LIST = {"broker-list": "the former name of --bootstrap-server"}

# Options as the help names them, each with its type, default and help:
#     "port P": (port_number, 9092, "where to listen")
#     "user NAME=PASSWORD": (setting, [], "a user")     a list: may be given several times
#     "topic T": "which one"                            a text, None unless given
#     "force": "do not ask"                             without a value: false unless given
Options = Mapping[str, str | tuple[Callable[[str], object], object, str]]


def add_options(parser: Any, options: Options, **how: Any) -> None:
    """`parser` may be a group of argparse; `how`: for all of these that have a value."""
    for usage, row in options.items():
        name, _, metavar = usage.partition(" ")
        convert, default, help = (str, None, row) if isinstance(row, str) else row
        if metavar:
            value = {"metavar": metavar, "type": convert, "default": default, **how}
            if isinstance(default, list):
                value["action"] = "append"
            parser.add_argument(f"--{name}", help=help, **value)
        else:
            parser.add_argument(f"--{name}", action="store_true", help=help)


def add_choice(
    parser: ArgumentParser, name: str, choices: Mapping[str, str], *, required: bool = False
) -> Any:
    """An option for each choice, with its help; at most one may be given, and `name` is set to it.

    Returns argparse's group, for further options that exclude these.
    """
    group = parser.add_mutually_exclusive_group(required=required)
    for choice, help in choices.items():
        group.add_argument(f"--{choice}", dest=name, action="store_const", const=choice, help=help)
    return group


def add_config(parser: ArgumentParser, help: str) -> None:
    help += "; may be given several times"
    add_options(parser, {"config KEY=VALUE": (setting, [], help)})


def add_property(parser: ArgumentParser, known: Iterable[str]) -> None:
    """`--property`: how records are read from lines, or printed."""
    help = f"may be given several times: {', '.join(known)}"
    add_options(parser, {"property KEY=VALUE": (_exact_setting, [], help)})


def setting(text: str) -> tuple[str, str]:
    key, value = _exact_setting(text)
    return key, value.strip()


def _exact_setting(text: str) -> tuple[str, str]:
    """With the blanks of the value: it may be a separator, such as a tab."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return key.strip(), value


def port_number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > LAST_PORT:
        raise ArgumentTypeError(f"{text!r} is not a port: 0 to {LAST_PORT}")
    return int(text)


def add_bootstrap(parser: ArgumentParser, old: Mapping[str, str] = NO_OPTIONS) -> None:
    """`old`: options that Kafka 2.8 still takes instead of --bootstrap-server, and their help."""
    group = parser.add_mutually_exclusive_group()
    help = "a broker to start from, or several with commas between them (default: %(default)s)"
    add_options(group, {"bootstrap-server HOST:PORT": (str, BOOTSTRAP, help)})
    for name, help in old.items():
        add_options(group, {f"{name} HOST:PORT": f"deprecated: {help}"})
    add_command_config(parser)


def add_command_config(parser: ArgumentParser) -> None:
    keys = "a file with the keys of TLS and SASL for this command: key=value"
    add_options(parser, {"command-config FILE": (Path, None, keys)})


def take_broker_list(options: Namespace) -> None:
    """--broker-list says what --bootstrap-server says; a warning names the newer option."""
    if options.broker_list is not None:
        to_stderr("Warning: --broker-list is deprecated; use --bootstrap-server instead.")
        options.bootstrap_server = options.broker_list


def topic_matcher(text: str | None) -> Callable[[str], object]:
    """A test of topic names: does --topic match? Without it all do, and an empty one matches none.

    It is a regular expression or a list, a,b, as in Kafka's IncludeList: commas separate patterns,
    and blanks, and quotes around it, do not count.
    """
    if text is None:
        return re.compile(".*").fullmatch
    pattern = text.strip().replace(",", "|").replace(" ", "").strip("\"'")
    try:
        return re.compile(pattern).fullmatch
    except re.error as error:
        raise UsageError(f"--topic {text}: not a regular expression: {error}") from error


def known(settings: Iterable[tuple[str, str]], names: Iterable[str], what: str) -> dict[str, str]:
    """The settings by name. An unknown one is an error with the most similar known name."""
    names = list(names)
    for key, _ in settings:
        if key not in names:
            hint = nearest(key, names) or f"; there are {', '.join(names)}"
            raise UsageError(f"there is no {what} {key}{hint}")
    return dict(settings)


def is_given(options: Namespace, name: str) -> bool:
    """Whether an option is on the command line: a flag, or one with a value, which may be 0."""
    value = getattr(options, name.replace("-", "_"))
    return value is not None and value is not False


def bounded(least: int, most: int = INT_MAX) -> Callable[[str], int]:
    """The type of an option: a whole number that a field of the protocol can hold."""

    def convert(text: str) -> int:
        number = int(text) if DIGITS.fullmatch(text) else None
        if number is None or not least <= number <= most:
            shown = text if len(text) <= SHOWN else f"{text[:SHOWN]} ..."
            raise ArgumentTypeError(f"{shown!r} is not a number from {least} to {most}")
        return number

    return convert


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a number from 1 on")
    return int(text)


def above_zero(text: str) -> float:
    """A time, which may have a fraction."""
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0 < value < math.inf:
        raise ArgumentTypeError(f"{text!r} is not a number above 0")
    return value


def is_true(text: str) -> bool:
    return text.strip().lower() == "true"
