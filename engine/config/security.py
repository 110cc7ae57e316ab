"""The keys of TLS and SASL: for all listeners of a broker, for one, or for one mechanism of it.

    ssl.keystore.location                                   every listener
    listener.name.external.ssl.keystore.location            the listener EXTERNAL
    listener.name.external.plain.sasl.jaas.config           its mechanism PLAIN

The longest name that is set counts. The keys stand in a table, security.tsv, as in inert.py, with
the times at which Kafka allows a change: `per-listener` means only with the prefix of a listener.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from engine.config.inert import InertKey, read
from engine.config.key import Password, Type, invalid, printed

T = TypeVar("T")
PREFIX = "listener.name."
WORDS = {
    "ssl.client.auth": ("none", "requested", "required"),
    "ssl.enabled.protocols": ("TLSv1.2", "TLSv1.3"),
    "ssl.keystore.type": ("JKS", "PEM"),
    "ssl.truststore.type": ("JKS", "PEM"),
}

_PREFIXED = re.compile(r"listener\.name\.([^.]+)\.(?:(plain|scram-sha-256|scram-sha-512)\.)?(.+)")


@dataclass(frozen=True, kw_only=True)
class SecurityKey(InertKey):
    """A key of the table: with an effect."""

    def validate(self, value: Any) -> None:
        super().validate(value)
        for word in value if isinstance(value, tuple) else (value,):
            if self.name in WORDS and word not in WORDS[self.name]:
                among = ", ".join(WORDS[self.name])
                raise invalid(self.name, word, f"String must be one of: {among}")


@cache
def security_keys() -> Mapping[str, SecurityKey]:
    return read(__file__, SecurityKey)


def find(name: str) -> SecurityKey | None:
    """The key of a name with or without a prefix, if it is one of these."""
    match = _PREFIXED.fullmatch(name)
    return security_keys().get(match[3] if match else name)


def is_secret(name: str) -> bool:
    """Whether the value of a key, with or without a prefix, is a password or a private key."""
    it = find(name)
    return it is not None and it.type is Type.PASSWORD


def split(values: Mapping[str, T]) -> tuple[dict[str, T], dict[str, T]]:
    """The values of these keys, and those of all other keys."""
    ours = {name: text for name, text in values.items() if find(name)}
    return ours, {name: text for name, text in values.items() if name not in ours}


def parse(values: Mapping[str, str | None]) -> dict[str, Any]:
    """The values by their names, with the prefixes as they were given."""
    parsed = {}
    for name, text in values.items():
        it = find(name)
        if it is None or text is None:
            raise invalid(name, text, "there is no such key for a listener")
        parsed[name] = it.parse(text)
    return parsed


class SecuritySettings:
    """The values for one listener, or for one mechanism of it."""

    def __init__(self, values: Mapping[str, Any], listener: str, mechanism: str = "") -> None:
        self._values = values
        self._prefixes = [f"{PREFIX}{listener.lower()}.", ""]
        if mechanism:
            self._prefixes.insert(0, f"{self._prefixes[0]}{mechanism.lower()}.")

    def value(self, name: str) -> Any:
        """The value, or the default; a password as text."""
        for prefix in self._prefixes:
            if prefix + name in self._values:
                found = self._values[prefix + name]
                return found.value if isinstance(found, Password) else found
        it = security_keys()[name]
        return None if it.default is None else it.parse(it.default)

    def text(self, name: str) -> str | None:
        return printed(self.value(name))

    def has_own(self, name: str) -> bool:
        """Whether the value is given with a prefix: for this listener alone."""
        return any(prefix + name in self._values for prefix in self._prefixes if prefix)
