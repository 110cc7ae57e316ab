"""Where a broker listens, and how each listener is secured.

    listeners                          INTERNAL://127.0.0.1:9092,EXTERNAL://0.0.0.0:9093
    advertised.listeners               EXTERNAL://lab.example:9093      what clients are told
    listener.security.protocol.map     INTERNAL:PLAINTEXT,EXTERNAL:SASL_SSL
    inter.broker.listener.name         INTERNAL                         for the other brokers

A listener has a name, and the map gives it a security protocol; the four protocols are names, too.
The keys of TLS and SASL may be given for one listener (security.py).
"""

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from engine.config.key import invalid, key, one_of, printed
from engine.config.listener_security import PROTOCOLS, ListenerSecurityConfig
from engine.config.logs import LogsConfig

LAST_PORT = 65535
_ENDPOINT = re.compile(r"([^:/]*)://\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]{1,5})")


class Listener(NamedTuple):
    """Where it listens, or where clients connect."""

    name: str
    host: str  # empty: every interface
    port: int  # 0: any free one
    protocol: str

    @property
    def tls(self) -> bool:
        return self.protocol.endswith("SSL")

    @property
    def sasl(self) -> bool:
        return self.protocol.startswith("SASL")


def _endpoints(name: str, value: Any) -> None:
    for text in value:
        match = _ENDPOINT.fullmatch(text)
        if match is None:
            raise invalid(name, text, f"Unable to parse {text} to a broker endpoint")
        if int(match[3]) > LAST_PORT:
            raise invalid(name, text, f"there is no port {match[3]}")
    if not value:
        raise invalid(name, value, "it must not be empty")
    if name.startswith("advertised") and any("0.0.0.0" in text for text in value):
        raise invalid(
            name,
            value,
            "cannot use the nonroutable meta-address 0.0.0.0. Use a routable IP address.",
        )


@dataclass(frozen=True, kw_only=True)
class ListenersConfig(ListenerSecurityConfig, LogsConfig):
    """The configuration of a broker's listeners."""

    listeners: tuple[str, ...] = key(("PLAINTEXT://127.0.0.1:9092",), _endpoints)
    """The addresses where the broker listens."""
    advertised_listeners: tuple[str, ...] | None = key(None, _endpoints)
    """The addresses for clients, if they are not those of the listeners."""
    inter_broker_listener_name: str | None = key(None)
    """The listener by which brokers connect to each other."""
    security_inter_broker_protocol: str = key("PLAINTEXT", one_of(*PROTOCOLS))
    """The security protocol between brokers, if no name of a listener is given."""

    # -- what follows from it ------------------------------------------------------------

    @property
    def endpoints(self) -> tuple[Listener, ...]:
        return self._listed(self.listeners)

    @property
    def advertised(self) -> tuple[Listener, ...]:
        """Where clients connect. A listener that is not advertised has no clients but brokers."""
        return self._listed(self.advertised_listeners or self.listeners)

    @property
    def inter_broker_listener(self) -> str:
        return (self.inter_broker_listener_name or self.security_inter_broker_protocol).upper()

    def _listed(self, texts: tuple[str, ...]) -> tuple[Listener, ...]:
        found = []
        for text in texts:
            match = _ENDPOINT.fullmatch(text)
            assert match is not None
            name = match[1].upper()
            found.append(Listener(name, match[2], int(match[3]), self.protocol_of(name)))
        return tuple(found)

    def validate_together(self) -> None:
        names = [each.name for each in self.endpoints]
        ports = [each.port for each in self.endpoints if each.port]
        for what, each in (("name", names), ("port", ports)):
            self.require(
                len({*each}) == len(each),
                f"Each listener must have a different {what}, listeners: {printed(self.listeners)}",
            )
        if self.inter_broker_listener_name:
            self.require(
                self.security_inter_broker_protocol == "PLAINTEXT",
                "Only one of inter.broker.listener.name and security.inter.broker.protocol should "
                "be set.",
            )
        told = [each.name for each in self.advertised]
        self.require(
            self.inter_broker_listener in told,
            "inter.broker.listener.name must be a listener name defined in advertised.listeners. "
            f"The valid options based on currently configured listeners are {','.join(told)}",
        )
        self.require(
            {*told} <= {*names},
            "advertised.listeners listener names must be equal to or a subset of the ones defined "
            f"in listeners. Found {','.join(told)}. The valid options based on the current "
            f"configuration are {','.join(names)}",
        )
        self._check_mechanism()
        super().validate_together()

    def _check_mechanism(self) -> None:
        between = self.inter_broker_listener
        if self.protocol_of(between).startswith("SASL"):
            settings = self.secured(between)
            mechanism = settings.value("sasl.mechanism.inter.broker.protocol")
            self.require(
                mechanism in settings.value("sasl.enabled.mechanisms"),
                "sasl.mechanism.inter.broker.protocol must be included in sasl.enabled.mechanisms "
                "when SASL is used for inter-broker communication",
            )
