"""An authority of certificates for one cluster, and the certificates that it signs.

    DIR/security/ca.pem, ca.key          the authority: whoever trusts it trusts all of these
    DIR/security/broker.pem              a certificate for 127.0.0.1 and localhost, with its key
    DIR/clients/alice.pem, alice.key     a certificate for CN=alice

A certificate says: this key belongs to this name, signed by the authority. Private keys can be read
by their owner only (0600). What exists is used again, so a second start finds its clients.
"""

import datetime
import os
from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

DAY = datetime.timedelta(days=1)
VALID = 3650 * DAY
HOSTS = ("localhost", "127.0.0.1")


class CertificateAuthority:
    def __init__(self, directory: Path, name: str = "Broker Lab") -> None:
        self.certificate = directory / "ca.pem"
        key_file = directory / "ca.key"
        if not key_file.exists():
            directory.mkdir(parents=True, exist_ok=True)
            key = ec.generate_private_key(ec.SECP256R1())
            made = _signed(_name(name), key, _name(name), key, _now() - DAY, VALID)
            self.certificate.write_bytes(made.public_bytes(Encoding.PEM))
            write_secret(key_file, _text(key))
        found = load_pem_private_key(key_file.read_bytes(), None)
        assert isinstance(found, ec.EllipticCurvePrivateKey)
        self._key = found
        self._issuer = x509.load_pem_x509_certificate(self.certificate.read_bytes())

    def issue(
        self,
        name: str,
        hosts: Sequence[str] = (),
        begins: datetime.datetime | None = None,
        valid: datetime.timedelta = VALID,
    ) -> tuple[str, str]:
        """A new certificate and its key, as texts in PEM."""
        key = ec.generate_private_key(ec.SECP256R1())
        purposes = [ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]
        more: list[x509.ExtensionType] = [x509.ExtendedKeyUsage(purposes)]
        if hosts:
            more.append(x509.SubjectAlternativeName([_host(each) for each in hosts]))
        issuer, since = self._issuer.subject, begins or _now() - DAY
        signed = _signed(_name(name), key, issuer, self._key, since, valid, more)
        return signed.public_bytes(Encoding.PEM).decode(), _text(key)


def write_secret(path: Path, text: str) -> None:
    """Write a file that only its owner can read, from the first moment on."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        os.fchmod(descriptor, 0o600)  # it may have existed
        file.write(text)


def _signed(
    subject: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    issuer: x509.Name,
    issuer_key: ec.EllipticCurvePrivateKey,
    since: datetime.datetime,
    valid: datetime.timedelta,
    more: Sequence[x509.ExtensionType] = (),
) -> x509.Certificate:
    """A certificate; one that is signed by its own key is an authority's."""
    is_authority = key is issuer_key
    public, signer = key.public_key(), issuer_key.public_key()
    length = 0 if is_authority else None  # no other authority may follow
    made = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(public)
    made = made.serial_number(x509.random_serial_number())
    made = made.not_valid_before(since).not_valid_after(since + valid)
    for critical in (x509.BasicConstraints(is_authority, length), _usage(signs=is_authority)):
        made = made.add_extension(critical, critical=True)
    for extension in (
        *more,
        x509.SubjectKeyIdentifier.from_public_key(public),
        x509.AuthorityKeyIdentifier.from_issuer_public_key(signer),
    ):
        made = made.add_extension(extension, critical=False)
    return made.sign(issuer_key, hashes.SHA256())


def _usage(signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _host(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _text(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)
