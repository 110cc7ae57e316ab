"""The listeners of this broker: their TLS contexts, and the mechanisms of their authentication.

    connection ──> SecureListener ──> TLS context, principals of certificates
                                 └──> SaslServerAuthenticator ──> credentials, JAAS

A context is made when the broker starts and when its configuration changes, so that a certificate
can be replaced while the broker runs: connections that exist keep theirs. A configuration that does
not work is refused when it is set, and one that other programs wrote changes nothing.

SCRAM credentials are part of the metadata: a change of one is known here as soon as it is known to
the broker.
"""

import logging
import ssl
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Self

from engine.broker.config_cache import ConfigCache
from engine.config import BrokerConfig
from engine.config.listener_security import ListenerSecurityConfig
from engine.config.listeners import Listener
from engine.config.security import find, parse
from engine.errors import ApiException, invalid_config
from engine.security import jaas
from engine.security.mechanism import SaslServer
from engine.security.plain import PLAIN, PlainServer
from engine.security.principals import RULES, PrincipalMapper
from engine.security.sasl_client import MECHANISMS, Login
from engine.security.sasl_server import Mechanism
from engine.security.scram import ScramCredential, ScramServer
from engine.security.tls import client_context, server_context

CLIENT_AUTH = "ssl.client.auth"
Credentials = Callable[[str], Mapping[str, str]]  # of a user: a text for each mechanism

log = logging.getLogger(__name__)


class SecureListener:
    """One listener."""

    def __init__(
        self,
        listener: Listener,
        config: ListenerSecurityConfig,
        credentials: Credentials,
        report: Callable[..., None],
    ) -> None:
        self.name = listener.name
        self.listener = listener
        self._credentials = credentials
        self._report = report
        self.tls_copied = 0  # bytes of log files that were copied to be encrypted: no sendfile
        self.configure(config)

    def configure(self, config: ListenerSecurityConfig) -> None:
        """Raises an ApiException, and changes nothing, if this does not work."""
        settings = config.secured(self.name)
        context = _tls(config, self.listener) if self.listener.tls else None
        mapper = PrincipalMapper(settings.value(RULES) or "DEFAULT")
        mechanisms = self._mechanisms(config) if self.listener.sasl else {}
        self.context: ssl.SSLContext | None = context
        self.principals = mapper
        self.mechanisms = mechanisms
        self.max_receive: int = settings.value("sasl.server.max.receive.size")
        delay: int = settings.value("connection.failed.authentication.delay.ms")
        self.failure_delay = delay / 1000

    def failed(self, peer: str, why: str) -> None:
        """A client could not prove who it is. `why` has no name and no password."""
        host = peer.rpartition(":")[0]
        self._report("authentication.failed", listener=self.name, host=host, why=why)

    def _mechanisms(self, config: ListenerSecurityConfig) -> dict[str, Mechanism]:
        made = {}
        for name in config.secured(self.name).value("sasl.enabled.mechanisms"):
            if name not in MECHANISMS:
                known = ", ".join(MECHANISMS)
                raise invalid_config(f"sasl.enabled.mechanisms: {name} is none of {known}")
            max_reauth_ms = config.secured(self.name, name).value("connections.max.reauth.ms")
            made[name] = Mechanism(self._start(config, name), max_reauth_ms)
        if not made:
            raise invalid_config("No SASL mechanisms are enabled")
        return made

    def _start(self, config: ListenerSecurityConfig, mechanism: str) -> Callable[[], SaslServer]:
        if mechanism == PLAIN:
            return partial(PlainServer, _jaas(config, self.name, mechanism).users)
        return partial(ScramServer, mechanism, partial(self.credential, mechanism))

    def credential(self, mechanism: str, name: str) -> ScramCredential | None:
        return read_credential(self._credentials(name), mechanism)


class SecureListeners:
    """All of them, and how this broker connects to the others. `report` takes an event: its kind,
    and the facts by name."""

    def __init__(
        self,
        config: BrokerConfig,
        cache: ConfigCache,
        report: Callable[..., None],
        peers: "PeerSecurity",
    ) -> None:
        self._config = config

        def credentials(name: str) -> Mapping[str, str]:
            return cache.credentials.get(name, {})

        self.all = [SecureListener(each, config, credentials, report) for each in config.endpoints]
        self._peers = peers

    def configure(self, config: BrokerConfig) -> None:
        """The broker's configuration has changed."""
        if config.security == self._config.security and not config.security:
            return
        self._config = config
        parts: list[SecureListener | PeerSecurity] = [*self.all, self._peers]
        for each in parts:
            try:
                each.configure(config)
            except ApiException as error:
                log.warning("%s: the listener stays as it was", error.message)

    def check(self, values: Mapping[str, str]) -> None:
        """Raises an ApiException if the listeners would not work with these texts of keys."""
        ours = {name: text for name, text in values.items() if find(name)}
        if not ours:
            return
        config = replace(self._config, security={**self._config.security, **parse(ours)})
        for each in self.all:
            if each.listener.tls:
                _tls(config, each.listener)


def _tls(config: ListenerSecurityConfig, listener: Listener) -> ssl.SSLContext:
    """Where clients authenticate by SASL, they need a certificate as well only if the key has the
    listener's prefix (KIP-684): the general one is meant for listeners without SASL."""
    settings = config.secured(listener.name)

    def text(name: str) -> str | None:
        is_general = name == CLIENT_AUTH and listener.sasl and not settings.has_own(name)
        return "none" if is_general else settings.text(name)

    return server_context(text)


class PeerSecurity:
    """How this node connects to a listener of other nodes."""

    context: ssl.SSLContext | None
    login: Login | None

    def __init__(self, config: ListenerSecurityConfig, name: str, mechanism: str) -> None:
        """`name`: of the listener; `mechanism`: of SASL, if it has that."""
        self._connect_to(config, name, mechanism)

    @classmethod
    def between_brokers(cls, config: BrokerConfig) -> Self:
        return cls(config, *_between(config))

    def configure(self, config: BrokerConfig) -> None:
        """The configuration of the broker that connects to brokers has changed."""
        self._connect_to(config, *_between(config))

    def _connect_to(self, config: ListenerSecurityConfig, name: str, mechanism: str) -> None:
        protocol = config.protocol_of(name)
        has_tls, has_sasl = protocol.endswith("SSL"), protocol.startswith("SASL")
        context = client_context(config.secured(name).text) if has_tls else None
        login = _login(config, name, mechanism) if has_sasl else None
        self.context, self.login = context, login


def _between(config: BrokerConfig) -> tuple[str, str]:
    """The listener between brokers, and its mechanism."""
    name = config.inter_broker_listener
    return name, config.secured(name).value("sasl.mechanism.inter.broker.protocol")


def _login(config: ListenerSecurityConfig, listener: str, mechanism: str) -> Login:
    own = _jaas(config, listener, mechanism)
    if own.username is None or own.password is None:
        raise invalid_config(f"{_jaas_key(listener, mechanism)} has no username and password")
    return Login(mechanism, own.username, own.password)


def read_credential(config: Mapping[str, str], mechanism: str) -> ScramCredential | None:
    """One of a user's credentials; None also if it is not valid."""
    text = config.get(mechanism)
    try:
        return None if text is None else ScramCredential.parse(text)
    except ValueError as error:
        log.warning("a user's %s: %s", mechanism, error)
        return None


def _jaas(config: ListenerSecurityConfig, listener: str, mechanism: str) -> jaas.JaasConfig:
    key = _jaas_key(listener, mechanism)
    text = config.secured(listener, mechanism).value("sasl.jaas.config")
    if text is None:
        raise invalid_config(
            f"Could not find a 'KafkaServer' entry in the JAAS configuration: set {key}"
        )
    return jaas.parse(key, text)


def _jaas_key(listener: str, mechanism: str) -> str:
    return f"listener.name.{listener.lower()}.{mechanism.lower()}.sasl.jaas.config"
