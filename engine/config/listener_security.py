"""The security protocol of each listener, and its keys of TLS and SASL: of brokers and controllers.

    listener.security.protocol.map     INTERNAL:PLAINTEXT,EXTERNAL:SASL_SSL
    ssl.*, sasl.*                      for all listeners, for one, or for one mechanism of it

The four protocols are names of listeners, too, unless the map says another thing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from engine.config.key import Config, Key, invalid, key, printed
from engine.config.security import SecuritySettings, parse, security_keys, split
from engine.errors import ApiException

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
BY_THEIR_NAMES = tuple(f"{each}:{each}" for each in PROTOCOLS)


@dataclass(frozen=True, kw_only=True)
class ListenerSecurityConfig(Config):
    """How the listeners of a node are secured."""

    listener_security_protocol_map: tuple[str, ...] = key(BY_THEIR_NAMES)
    """The security protocol of each listener."""
    # The keys of TLS and SASL that are set, by their full names. Invariant: printed nowhere.
    security: Mapping[str, Any] = field(default_factory=dict, repr=False, hash=False)

    def protocol_of(self, listener: str) -> str:
        pairs = (text.partition(":") for text in self.listener_security_protocol_map)
        protocols = {name.strip().upper(): protocol.strip() for name, _, protocol in pairs}
        self.require(listener in protocols, f"No security protocol defined for listener {listener}")
        found = protocols[listener]
        if found not in PROTOCOLS:
            raise invalid("listener.security.protocol.map", found, "Invalid security protocol")
        return found

    def secured(self, listener: str, mechanism: str = "") -> SecuritySettings:
        """The keys of TLS and SASL for a listener, or for one of its mechanisms."""
        return SecuritySettings(self.security, listener, mechanism)

    # -- parsed ----------------------------------------------------------------------------

    @classmethod
    def known(cls) -> Mapping[str, Key]:
        return {**security_keys(), **super().known()}

    @classmethod
    def parsed(cls, values: Mapping[str, str | None]) -> dict[str, Any]:
        ours, rest = split(values)
        fields = super().parsed(rest)
        return fields | {"security": parse(ours)} if ours else fields

    def lenient(self, values: Mapping[str, str]) -> tuple[Self, dict[str, str]]:
        """What was changed while the broker runs counts more than what it was started with."""
        ours, rest = split(values)
        config, faults = super().lenient(rest)
        for name, text in ours.items():
            try:
                one = parse({name: text})
                config = replace(config, security={**config.security, **one})
            except ApiException as error:
                faults[name] = error.message
        return config, faults

    def texts(self) -> dict[str, str | None]:
        return super().texts() | {name: printed(value) for name, value in self.security.items()}
