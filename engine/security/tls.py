"""TLS: certificates and keys in PEM (KIP-651) -> the contexts of connections.

    ssl.keystore.location            a file with the private key and its certificates, or ...
    ssl.keystore.key                 ... the same as text: the key,
    ssl.keystore.certificate.chain   and its certificates, our own first
    ssl.key.password                 of the key, if it is encrypted
    ssl.truststore.location          a file with the certificates that we trust, or ...
    ssl.truststore.certificates      ... the same as text
    ssl.client.auth                  whether a client shows a certificate: none, requested, required
    ssl.enabled.protocols            TLSv1.2, TLSv1.3

A context is used for connections that begin after it was made. So a new certificate needs a new
context, and connections that exist keep theirs.

Left out: Java's formats JKS and PKCS12, cipher suites, revoked certificates.
"""

import os
import ssl
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from engine.errors import ApiException, invalid_config

Get = Callable[[str], str | None]  # the text of a key, or None

PEM = "PEM"
VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
CLIENT_AUTH = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}
HANDSHAKE_TIMEOUT_S = 30.0  # of silence in the middle of a handshake


def server_context(get: Get) -> ssl.SSLContext:
    """For connections that come in."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.verify_mode = CLIENT_AUTH[get("ssl.client.auth") or "none"]
    _prepare(context, get)
    if not _has_keystore(get):
        raise _invalid("ssl.keystore", "a listener with TLS needs a certificate and its key")
    if context.verify_mode is not ssl.CERT_NONE and not _has_truststore(get):
        raise _invalid("ssl.truststore", "certificates of clients can't be checked without it")
    return context


def client_context(get: Get) -> ssl.SSLContext:
    """For connections to a broker. Without a truststore, the system's certificates are trusted."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = (get("ssl.endpoint.identification.algorithm") or "").lower() == "https"
    _prepare(context, get)
    if not _has_truststore(get):
        context.load_default_certs()
    return context


def _prepare(context: ssl.SSLContext, get: Get) -> None:
    names = (get("ssl.enabled.protocols") or ",".join(VERSIONS)).split(",")
    versions = sorted(VERSIONS[name.strip()] for name in names)
    context.minimum_version, context.maximum_version = versions[0], versions[-1]
    if _has_keystore(get):
        _load_keystore(context, get)
    if _has_truststore(get):
        _load_truststore(context, get)


def _has_keystore(get: Get) -> bool:
    return bool(get("ssl.keystore.location") or get("ssl.keystore.key"))


def _has_truststore(get: Get) -> bool:
    return bool(get("ssl.truststore.location") or get("ssl.truststore.certificates"))


def _load_keystore(context: ssl.SSLContext, get: Get) -> None:
    _check_type(get, "ssl.keystore")
    location, text = get("ssl.keystore.location"), get("ssl.keystore.key")
    if location and text:
        raise _invalid("ssl.keystore.key", "Both SSL key store location and key are specified")
    if text and not get("ssl.keystore.certificate.chain"):
        raise _invalid("ssl.keystore.certificate.chain", "it is specified with ssl.keystore.key")
    password = get("ssl.key.password") or get("ssl.keystore.password")
    try:
        with _file(location, f"{text}\n{get('ssl.keystore.certificate.chain')}") as path:
            # Without a function, OpenSSL would ask for the password on the terminal.
            context.load_cert_chain(path, password=lambda: password or "")
    except (OSError, ValueError) as error:  # an SSLError is an OSError
        raise _invalid("ssl.keystore", _reason(error, location)) from None


def _load_truststore(context: ssl.SSLContext, get: Get) -> None:
    _check_type(get, "ssl.truststore")
    location, text = get("ssl.truststore.location"), get("ssl.truststore.certificates")
    if location and text:
        why = "Both SSL trust store location and certificates are specified"
        raise _invalid("ssl.truststore.certificates", why)
    try:
        if location:
            context.load_verify_locations(location)
        else:
            context.load_verify_locations(cadata=text)
    except (OSError, ValueError) as error:
        raise _invalid("ssl.truststore", _reason(error, location)) from None


def _check_type(get: Get, store: str) -> None:
    if (get(f"{store}.type") or PEM).upper() != PEM:
        raise _invalid(f"{store}.type", f"it is {get(f'{store}.type')}; here there is only {PEM}")


@contextmanager
def _file(location: str | None, text: str) -> Iterator[str]:
    """OpenSSL reads keys from files only. So a text is written to a file for a moment, which
    nobody else can read."""
    if location:
        yield location
        return
    number, path = tempfile.mkstemp()  # with mode 0600
    try:
        with os.fdopen(number, "w") as file:
            file.write(text)
        yield path
    finally:
        os.unlink(path)


def _reason(error: OSError | ValueError, location: str | None) -> str:
    """Errors of OpenSSL name no content."""
    where = f"{location}: " if location else ""
    if isinstance(error, ssl.SSLError):
        return f"{where}no PEM, or the key does not fit ({error.reason or 'cannot be read'})"
    return where + (getattr(error, "strerror", None) or "no PEM")


def _invalid(name: str, why: str) -> ApiException:
    return invalid_config(f"Invalid configuration of {name}: {why}")
