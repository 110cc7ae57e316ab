"""The line of sasl.jaas.config: a login module and its options, as Java's JAAS writes them.

    org.apache.kafka.common.security.plain.PlainLoginModule required
        username="broker" password="..." user_alice="...";

The name of the module must be there, and is not used: the mechanism is known already. `username`
and `password` are the broker's own, for connections to other brokers; `user_NAME` is the password
of a user who logs in by PLAIN.

Invariant: an error does not quote the line. It has passwords in it.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from engine.errors import ApiException, invalid_config

USER = "user_"
FLAGS = ("required", "requisite", "sufficient", "optional")

_TOKEN = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s"'=;]+)|([=;]))""")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


class JaasConfig(NamedTuple):
    module: str
    options: Mapping[str, str]

    def __repr__(self) -> str:
        return f"JaasConfig({self.module}, [hidden])"

    @property
    def username(self) -> str | None:
        return self.options.get("username")

    @property
    def password(self) -> str | None:
        return self.options.get("password")

    @property
    def users(self) -> dict[str, str]:
        """The users of PLAIN, and their passwords."""
        return {
            name.removeprefix(USER): password
            for name, password in self.options.items()
            if name.startswith(USER)
        }


def parse(name: str, text: str) -> JaasConfig:
    """`name` is that of the configuration key, for the error."""
    tokens = _tokens(name, text)
    if not tokens:
        raise _invalid(name, "JAAS config property does not contain any login modules")
    if len(tokens) < 3 or tokens[-1] != (";", True):
        raise _invalid(name, "JAAS config entry not terminated by semi-colon")
    if (count := tokens.count((";", True))) > 1:
        raise _invalid(
            name, f"JAAS config property contains {count} login modules, should be 1 module"
        )
    module, flag, *rest = tokens[:-1]
    if flag[0].lower() not in FLAGS:
        raise _invalid(name, "Login module control flag is not valid in the JAAS config")
    if len(rest) % 3 or any(rest[place] != ("=", True) for place in range(1, len(rest), 3)):
        raise _invalid(name, "Value not specified for a key in the JAAS config")
    keys, values = rest[0::3], rest[2::3]
    if any(sign for _, sign in (*keys, *values)):
        raise _invalid(name, "Value not specified for a key in the JAAS config")
    return JaasConfig(
        module[0], {key: value for (key, _), (value, _) in zip(keys, values, strict=True)}
    )


def _tokens(name: str, text: str) -> list[tuple[str, bool]]:
    """Each with whether it is a sign: = or ;."""
    found, position = [], 0
    text = text.strip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise _invalid(name, "a quotation mark in the JAAS config is not closed")
        double, single, word, sign = match.groups()
        quoted = double if double is not None else single
        if quoted is not None:
            found.append((_ESCAPE.sub(r"\1", quoted), False))
        else:
            found.append((word or sign, sign is not None))
        position = match.end()
    return found


def line(mechanism: str, username: str, password: str, users: Mapping[str, str] = {}) -> str:
    """The text for a mechanism, as Kafka's own modules are called."""
    module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
    options = {"username": username, "password": password}
    options |= {f"{USER}{name}": secret for name, secret in users.items()}
    quoted = [f"{key}={_quoted(value)}" for key, value in options.items()]
    return f"org.apache.kafka.common.security.{module} required {' '.join(quoted)};"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _invalid(name: str, why: str) -> ApiException:
    return invalid_config(f"Invalid value [hidden] for configuration {name}: {why}")
