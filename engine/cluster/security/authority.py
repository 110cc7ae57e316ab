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
        self._key_file = directory / "ca.key"
        if not self._key_file.exists():
            directory.mkdir(parents=True, exist_ok=True)
            key = ec.generate_private_key(ec.SECP256R1())
            made = _builder(_name(name), _name(name), key.public_key(), _now() - DAY, VALID)
            made = made.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            made = made.add_extension(_usage(signs=True), critical=True)
            signed = _identified(made, key.public_key(), key.public_key()).sign(
                key, hashes.SHA256()
            )
            self.certificate.write_bytes(signed.public_bytes(Encoding.PEM))
            write_secret(self._key_file, _text(key))
        found = load_pem_private_key(self._key_file.read_bytes(), None)
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
        since = begins or _now() - DAY
        made = _builder(_name(name), self._issuer.subject, key.public_key(), since, valid)
        made = made.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        made = made.add_extension(_usage(signs=False), critical=True)
        purposes = [ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]
        made = made.add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
        if hosts:
            named = x509.SubjectAlternativeName([_host(each) for each in hosts])
            made = made.add_extension(named, critical=False)
        made = _identified(made, key.public_key(), self._key.public_key())
        signed = made.sign(self._key, hashes.SHA256())
        return signed.public_bytes(Encoding.PEM).decode(), _text(key)


def write_secret(path: Path, text: str) -> None:
    """For nobody else to read, not even for a moment."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        os.fchmod(descriptor, 0o600)  # it may have existed
        file.write(text)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    since: datetime.datetime,
    valid: datetime.timedelta,
) -> x509.CertificateBuilder:
    made = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key)
    made = made.serial_number(x509.random_serial_number())
    return made.not_valid_before(since).not_valid_after(since + valid)


def _identified(
    made: x509.CertificateBuilder,
    key: ec.EllipticCurvePublicKey,
    issuer: ec.EllipticCurvePublicKey,
) -> x509.CertificateBuilder:
    made = made.add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    return made.add_extension(
        x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer), critical=False
    )


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
