"""The TLS of each listener: who is asked for a certificate, and a handshake when all stops."""

import asyncio
import ssl
from functools import partial
from pathlib import Path

import pytest

from engine.broker.secure_connection import TlsAcceptor
from engine.broker.secure_listeners import SecureListener
from engine.broker.server import Server
from engine.cluster.security.authority import HOSTS, CertificateAuthority, write_secret
from engine.config import BrokerConfig
from tests.limits import ANSWER_S

LISTENERS = "SSL://127.0.0.1:0,SASL_SSL://127.0.0.1:0"


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    home = tmp_path_factory.mktemp("tls")
    authority = CertificateAuthority(home)
    certificate, key = authority.issue("brokers", HOSTS)
    write_secret(home / "broker.pem", key + certificate)
    return {
        "broker.id": "1",
        "zookeeper.connect": "-",
        "listeners": LISTENERS,
        "inter.broker.listener.name": "SSL",
        "sasl.enabled.mechanisms": "SCRAM-SHA-256",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(home / "broker.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(Path(authority.certificate)),
    }


def modes(config: BrokerConfig) -> dict[str, ssl.VerifyMode]:
    listeners = [
        SecureListener(it, config, lambda name: {}, lambda *_: None) for it in config.endpoints
    ]
    return {it.name: it.context.verify_mode for it in listeners if it.context is not None}


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        ({}, (ssl.CERT_NONE, ssl.CERT_NONE)),
        ({"ssl.client.auth": "required"}, (ssl.CERT_REQUIRED, ssl.CERT_NONE)),
        (
            {"ssl.client.auth": "required", "listener.name.sasl_ssl.ssl.client.auth": "requested"},
            (ssl.CERT_REQUIRED, ssl.CERT_OPTIONAL),
        ),
        ({"listener.name.ssl.ssl.client.auth": "requested"}, (ssl.CERT_OPTIONAL, ssl.CERT_NONE)),
    ],
)
def test_beside_sasl_a_certificate_is_asked_for_by_the_listeners_own_key_only(
    keys: dict[str, str], asked: dict[str, str], wanted: tuple[ssl.VerifyMode, ssl.VerifyMode]
) -> None:
    """As in Kafka since 2.8 (KIP-684)."""
    found = modes(BrokerConfig.parse(keys | asked))
    assert (found["SSL"], found["SASL_SSL"]) == wanted


def test_a_server_that_stops_waits_for_no_handshake(keys: dict[str, str]) -> None:
    async def story() -> bytes:
        config = BrokerConfig.parse(keys)
        (place, *_) = config.endpoints
        listener = SecureListener(place, config, lambda name: {}, lambda *_: None)
        server = Server(unasked, max_request_bytes=1000, max_connections=lambda: 10, idle_ms=60_000)
        port = await server.bind("127.0.0.1", 0, partial(TlsAcceptor, listener))
        await server.serve()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while not server.shaking_hands:
            await asyncio.sleep(0.01)
        await server.close()
        try:
            return await asyncio.wait_for(reader.read(), ANSWER_S)
        except ConnectionResetError:
            return b""
        finally:
            writer.close()

    async def unasked(*_: object) -> list[bytes]:
        raise AssertionError("no request was sent")

    assert asyncio.run(story()) == b""
