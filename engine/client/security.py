"""TLS and SASL of a client's connections. Loaded only where a client asks for one of them.

    settings ──> ConnectionSecurity ──> TlsSocket around each socket
                                   └──> the exchange that logs in

Invariant: like a plain socket that does not block, a `TlsSocket` raises BlockingIOError when it has
nothing more to give or to take, and nothing is left inside it then.
"""

import socket
import ssl
from pathlib import Path

from engine.config.client import ClientConfig
from engine.config.key import Password
from engine.errors import invalid_config
from engine.security.sasl_client import Authentication, Login, authentication
from engine.security.tls import client_context


class ConnectionSecurity:
    def __init__(self, settings: ClientConfig) -> None:
        self._settings = settings
        protocol = settings.security_protocol
        self.context = client_context(self._get) if protocol.endswith("SSL") else None
        self.login = self._named() if protocol.startswith("SASL") else None

    @property
    def tls(self) -> bool:
        return self.context is not None

    def wrap(self, plain: socket.socket, host: str) -> "TlsSocket":
        assert self.context is not None
        return TlsSocket(self.context, plain, host)

    def exchange(self) -> Authentication | None:
        """What logs in on a new connection; None without SASL."""
        return authentication(self.login, self._settings.client_id) if self.login else None

    def _named(self) -> Login:
        it = self._settings
        assert it.sasl_mechanism and it.sasl_username is not None and it.sasl_password
        return Login(it.sasl_mechanism, it.sasl_username, it.sasl_password.value)

    def _get(self, name: str) -> str | None:
        """The client's keys under the names of a broker's."""
        it = self._settings
        match name:
            case "ssl.truststore.location":
                return it.ssl_ca_location
            case "ssl.truststore.certificates":
                return it.ssl_ca_pem
            case "ssl.keystore.certificate.chain":
                return it.ssl_certificate_pem or _content(it.ssl_certificate_location)
            case "ssl.keystore.key":
                return _text(it.ssl_key_pem) or _content(it.ssl_key_location)
            case "ssl.key.password":
                return _text(it.ssl_key_password)
            case "ssl.endpoint.identification.algorithm":
                return it.ssl_endpoint_identification_algorithm
        return None


class TlsSocket:
    def __init__(self, context: ssl.SSLContext, plain: socket.socket, host: str) -> None:
        self._socket = context.wrap_socket(
            plain, server_hostname=host, do_handshake_on_connect=False
        )

    def fileno(self) -> int:
        return self._socket.fileno()

    def handshake(self) -> bool | None:
        """True when it is done; else whether it waits to write: False, or to read: None."""
        try:
            self._socket.do_handshake()
        except ssl.SSLWantReadError:
            return None
        except ssl.SSLWantWriteError:
            return False
        return True

    def send(self, data: memoryview) -> int:
        try:
            return self._socket.send(data)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise BlockingIOError from None

    def recv(self, most: int) -> bytes:
        """All that is there: what stays inside would not make the socket readable again."""
        chunks: list[bytes] = []
        size = 0
        while size < most or self._socket.pending():
            try:
                chunk = self._socket.recv(most)
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                if not chunks:
                    raise BlockingIOError from None
                break
            if not chunk:
                break
            chunks.append(chunk)
            size += len(chunk)
        return b"".join(chunks)

    def close(self) -> None:
        self._socket.close()


def _text(password: Password | None) -> str | None:
    return password.value if password else None


def _content(path: str | None) -> str | None:
    if path is None:
        return None
    try:
        return Path(path).read_text()
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "no PEM"
        raise invalid_config(f"{path}: {reason}") from error
