"""How a client connects: plain or encrypted, and as whom. The names are those of librdkafka.

security.protocol=SASL_SSL
ssl.ca.location=ca.pem                the certificates that the client trusts
ssl.certificate.location=alice.pem    its own, where brokers ask for one,
ssl.key.location=alice.key            and the key
sasl.mechanism=SCRAM-SHA-256
sasl.username=alice
sasl.password=...
"""

from dataclasses import dataclass
from typing import Any

from engine.config.key import Config, Password, invalid, key, one_of
from engine.config.listener_security import PROTOCOLS

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


def _algorithm(name: str, value: Any) -> None:
    if value.lower() not in ("none", "https", ""):
        raise invalid(name, value, "String must be one of: none, https")


@dataclass(frozen=True, kw_only=True)
class ClientSecurityConfig(Config):
    security_protocol: str = key("PLAINTEXT", one_of(*PROTOCOLS))
    """The protocol of the listener: with TLS, with SASL."""
    ssl_ca_location: str | None = key(None)
    """A file with the certificates that are trusted; by default the system's."""
    ssl_ca_pem: str | None = key(None)
    """The certificates that are trusted, as text."""
    ssl_certificate_location: str | None = key(None)
    """A file with the certificate of this client, for brokers that ask for one."""
    ssl_certificate_pem: str | None = key(None)
    """The certificate of this client, as text."""
    ssl_key_location: str | None = key(None)
    """A file with the private key of the certificate."""
    ssl_key_pem: Password | None = key(None)
    """The private key of the certificate, as text."""
    ssl_key_password: Password | None = key(None)
    """The password of the key, if it is encrypted."""
    ssl_endpoint_identification_algorithm: str = key("https", _algorithm)
    """Whether the certificate must have the host's name: https or none."""
    sasl_mechanism: str | None = key(None, one_of(*MECHANISMS))
    """How the client proves who it is."""
    sasl_username: str | None = key(None)
    """The name for SASL."""
    sasl_password: Password | None = key(None)
    """The password for SASL."""

    def validate_together(self) -> None:
        if self.security_protocol.startswith("SASL"):
            for name in ("sasl.mechanism", "sasl.username", "sasl.password"):
                is_set = getattr(self, name.replace(".", "_")) is not None
                self.require(is_set, f"security.protocol={self.security_protocol} needs {name}")
        super().validate_together()

    def security_texts(self) -> dict[str, str]:
        """These keys as texts, passwords included: for another client of the same user."""
        values = {name: getattr(self, it.field) for name, it in ClientSecurityConfig.keys().items()}
        return {
            name: value.value if isinstance(value, Password) else value
            for name, value in values.items()
            if value is not None
        }
