"""TLS and SASL with stock clients, allowed and refused; and what no client should send."""

import asyncio
import datetime
import socket
import ssl
from contextlib import suppress
from struct import pack

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.helpers import create_ssl_context
from confluent_kafka import Consumer, KafkaError, Producer
from kafka import KafkaConsumer
from kafka.errors import KafkaError as KafkaPythonError

from engine import AdminClient
from engine.client.values import KafkaException
from engine.cluster.security.authority import CertificateAuthority
from engine.cluster.single_requests import Body, ask
from engine.errors import ErrorCode
from engine.wire.apis import Api
from engine.wire.codec import decode_response, encode_request, message
from engine.wire.errors import RequestHeader
from tests.interop.alike import OURS, THEIRS
from tests.interop.plain import build
from tests.interop.watch import until
from tests.modes import MODES, made

# SCRAM is of ZooKeeper alone: level 7 of the quorum's metadata has no credentials.
SCRAM = [
    pytest.param(name, marks=pytest.mark.of_zookeeper)
    for name in ("SCRAM-SHA-256", "SCRAM-SHA-512")
]
MECHANISMS = ["PLAIN", *SCRAM]
PASSWORD = "se,cr=et"
COMMON = {"connection.failed.authentication.delay.ms": "10"}


@pytest.fixture(scope="module", params=MODES)
def sasl_ssl(request):
    users = {"alice": PASSWORD}
    with made(2, request.param, config=COMMON, security="SASL_SSL", users=users) as cluster:
        cluster.topic("orders", replicas=2)
        yield cluster


@pytest.fixture(scope="module", params=MODES)
def mutual_tls(request):
    with made(1, request.param, security="SSL", users={"alice": PASSWORD}) as cluster:
        cluster.topic("orders", replicas=1)
        yield cluster


def written(settings, topic):
    """The error of one record by confluent-kafka, or None."""
    outcome = []
    producer = Producer({**settings, "message.timeout.ms": 15_000, "log_level": 0})
    producer.produce(topic, b"x", on_delivery=lambda error, message: outcome.append(error))
    producer.flush(20)
    return outcome[0]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_confluent_kafka(sasl_ssl, mechanism):
    settings = sasl_ssl.settings("alice", mechanism)
    assert written(settings, "orders") is None
    reader = Consumer({**settings, "group.id": mechanism, "auto.offset.reset": "earliest"})
    reader.subscribe(["orders"])
    message = reader.poll(30)
    reader.close()
    assert message.error() is None
    assert message.value() == b"x"


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("user", ["alice", "nobody"])
def test_confluent_kafka_with_a_wrong_password(sasl_ssl, mechanism, user):
    settings = sasl_ssl.settings("alice", mechanism)
    settings |= {"sasl.username": user, "sasl.password": "wrong"}
    outcome, troubles = [], []
    producer = Producer({**settings, "error_cb": troubles.append, "log_level": 0})
    producer.produce("orders", b"x", on_delivery=lambda error, message: outcome.append(error))

    def refused():
        producer.poll(0.05)
        return KafkaError._AUTHENTICATION in [each.code() for each in troubles]

    until(refused)
    producer.purge()
    producer.flush(20)
    assert [error.code() for error in outcome] == [KafkaError._PURGE_QUEUE]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_kafka_python(sasl_ssl, mechanism):
    given = sasl_ssl.settings("alice", mechanism)
    settings = {
        "bootstrap_servers": given["bootstrap.servers"],
        "security_protocol": "SASL_SSL",
        "ssl_cafile": given["ssl.ca.location"],
        "sasl_mechanism": mechanism,
        "sasl_plain_username": "alice",
        "sasl_plain_password": PASSWORD,
    }
    with_it = KafkaConsumer(**settings)
    assert "orders" in with_it.topics()
    with_it.close()
    settings["sasl_plain_password"] = "wrong"
    with pytest.raises(KafkaPythonError):
        KafkaConsumer(**settings, bootstrap_timeout_ms=4000)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_aiokafka(sasl_ssl, mechanism):
    given = sasl_ssl.settings("alice", mechanism)

    async def story():
        producer = AIOKafkaProducer(
            bootstrap_servers=given["bootstrap.servers"],
            security_protocol="SASL_SSL",
            ssl_context=create_ssl_context(cafile=given["ssl.ca.location"]),
            sasl_mechanism=mechanism,
            sasl_plain_username="alice",
            sasl_plain_password=PASSWORD,
        )
        await producer.start()
        try:
            return await producer.send_and_wait("orders", b"aio")
        finally:
            await producer.stop()

    assert asyncio.run(story()).topic == "orders"


def test_our_own_clients_are_told_why_and_nothing_more(sasl_ssl):
    wrong = {**sasl_ssl.settings("alice"), "sasl.password": "quite wrong"}
    texts = []
    for user in ("alice", "nobody"):
        with (
            AdminClient({**wrong, "sasl.username": user}) as admin,
            pytest.raises(KafkaException) as refused,
        ):
            admin.list_topics(timeout=20)
        texts.append(str(refused.value))
    assert texts[0] == texts[1]
    of_scram = "invalid credentials with SASL mechanism SCRAM-SHA-256"
    assert ("Invalid username or password" if sasl_ssl.is_kraft else of_scram) in texts[0]
    logs = [(sasl_ssl.directory(each) / "broker.log").read_text() for each in sasl_ssl.brokers]
    for secret in ("quite wrong", PASSWORD):
        assert not any(secret in text for text in [*texts, *logs])


@pytest.mark.of_zookeeper
@pytest.mark.parametrize("kit", [OURS, THEIRS], ids=["ours", "confluent-kafka"])
def test_credentials_are_changed_while_the_brokers_run(sasl_ssl, kit):
    admin = kit.AdminClient(sasl_ssl.settings("alice"))
    sha_256, sha_512 = kit.ScramMechanism.SCRAM_SHA_256, kit.ScramMechanism.SCRAM_SHA_512
    upsertions = [
        kit.UserScramCredentialUpsertion("bob", kit.ScramCredentialInfo(sha_256, 4096), b"of bob"),
        kit.UserScramCredentialUpsertion("bob", kit.ScramCredentialInfo(sha_512, 8192), b"b", b"s"),
    ]
    assert admin.alter_user_scram_credentials(upsertions)["bob"].result(30) is None
    described = admin.describe_user_scram_credentials(["bob"])["bob"].result(30)
    infos = [(each.mechanism, each.iterations) for each in described.scram_credential_infos]
    assert infos == [(sha_256, 4096), (sha_512, 8192)]
    bob = {**sasl_ssl.settings("alice"), "sasl.username": "bob", "sasl.password": "of bob"}
    for address in sasl_ssl.bootstrap.split(","):  # each broker follows them

        def knows(address=address):
            with AdminClient({**bob, "bootstrap.servers": address}) as client:
                try:
                    return "orders" in client.list_topics(timeout=20).topics
                except KafkaException:
                    return False

        sasl_ssl.wait(f"bob at {address}", knows)
    assert {"alice", "bob"} <= admin.describe_user_scram_credentials().result(30).keys()
    deletions = [kit.UserScramCredentialDeletion("bob", each) for each in (sha_256, sha_512)]
    admin.alter_user_scram_credentials(deletions)["bob"].result(30)
    for call, arguments in (
        (admin.alter_user_scram_credentials, [deletions[0]]),
        (admin.describe_user_scram_credentials, ["bob"]),
    ):
        with pytest.raises(kit.KafkaException) as refused:
            call(arguments)["bob"].result(30)
        assert refused.value.args[0].name() == "RESOURCE_NOT_FOUND"


@pytest.mark.parametrize("kit", [OURS, THEIRS], ids=["ours", "confluent-kafka"])
@pytest.mark.parametrize(
    ("user", "password", "iterations"), [("", b"p", 4096), ("eve", b"", 4096), ("eve", b"p", 0)]
)
def test_credentials_that_are_none(sasl_ssl, kit, user, password, iterations):
    info = kit.ScramCredentialInfo(kit.ScramMechanism.SCRAM_SHA_256, iterations)
    admin = kit.AdminClient(sasl_ssl.settings("alice"))
    with pytest.raises(ValueError, match=r"empty|positive"):
        admin.alter_user_scram_credentials([kit.UserScramCredentialUpsertion(user, info, password)])


@pytest.mark.of_zookeeper
@pytest.mark.parametrize("iterations", [10, 10_000_000])
def test_credentials_of_too_few_or_too_many_iterations(sasl_ssl, iterations):
    row = Body(name="eve", mechanism=2, iterations=iterations, salt=b"s", salted_password=b"p")
    request = Body(deletions=(), upsertions=(row,))
    controller = sasl_ssl.state().controller
    (result,) = ask(sasl_ssl, controller, Api.ALTER_USER_SCRAM_CREDENTIALS, request).results
    assert result.error_code == ErrorCode.unacceptable_credential
    assert result.error_message == f"Too {'few' if iterations < 4096 else 'many'} iterations"


# -- certificates ------------------------------------------------------------------------------


def test_a_client_with_its_certificate(mutual_tls):
    assert written(mutual_tls.settings("alice"), "orders") is None
    assert mutual_tls.read("orders") == ["x"]


@pytest.mark.parametrize("fault", ["none", "foreign", "expired", "other authority", "other host"])
def test_certificates_that_are_refused(mutual_tls, tmp_path, fault):
    settings = mutual_tls.settings("alice")
    foreign = CertificateAuthority(tmp_path, "Somebody")
    ours = CertificateAuthority(mutual_tls.data / "security")
    match fault:
        case "none":
            del settings["ssl.certificate.location"], settings["ssl.key.location"]
        case "foreign":
            pair = foreign.issue("alice")
        case "expired":
            begins = datetime.datetime(2001, 1, 1, tzinfo=datetime.UTC)
            pair = ours.issue("alice", begins=begins, valid=datetime.timedelta(days=1))
        case "other authority":
            settings["ssl.ca.location"] = str(foreign.certificate)
        case "other host":
            address = settings["bootstrap.servers"].replace("127.0.0.1", "127.0.0.2")
            settings["bootstrap.servers"] = address
    if fault in ("foreign", "expired"):
        for place, text in zip(("certificate", "key"), pair, strict=True):
            (tmp_path / place).write_text(text)
            settings[f"ssl.{place}.location"] = str(tmp_path / place)
    with AdminClient(settings) as admin, pytest.raises(KafkaException):
        admin.list_topics(timeout=2)
    assert written(mutual_tls.settings("alice"), "orders") is None  # the others are served


# -- on a raw socket -----------------------------------------------------------------------------

VERSIONS = pack(">hhih", 18, 0, 1, -1)
METADATA = pack(">hhihi", 3, 0, 2, -1, 0)


def handshake(mechanism, version=1):
    name = mechanism.encode()
    return pack(">hhihh", 17, version, 3, -1, len(name)) + name


def token(data):
    return pack(">hhihi", 36, 0, 4, -1, len(data)) + data


class Session:
    """Frames over TLS."""

    def __init__(self, cluster):
        settings = cluster.settings("alice")
        host, _, port = settings["bootstrap.servers"].split(",")[0].rpartition(":")
        context = ssl.create_default_context(cafile=settings["ssl.ca.location"])
        plain = socket.create_connection((host, int(port)), 20)
        self._socket = context.wrap_socket(plain, server_hostname=host)

    def ask(self, *frames):
        """The answer to the last one; None if the connection is closed."""
        answer = None
        for frame in frames:
            with suppress(OSError):  # closed before all was sent: nothing will come, either
                self._socket.sendall(pack(">i", len(frame)) + frame)
            answer = self._receive()
            if answer is None:
                return None
        return answer

    def _receive(self):
        try:
            size = self._exactly(4)
            return self._exactly(int.from_bytes(size, "big")) if size else None
        except OSError:
            return None

    def _exactly(self, count):
        data = b""
        while len(data) < count:
            more = self._socket.recv(count - len(data))
            if not more:
                return None
            data += more
        return data

    def close(self):
        self._socket.close()


@pytest.fixture
def session(sasl_ssl):
    session = Session(sasl_ssl)
    yield session
    session.close()


ALICE = b"\0alice\0" + PASSWORD.encode()


def test_tokens_without_a_request_around_them(session):
    assert session.ask(VERSIONS, handshake("PLAIN", 0)) is not None
    assert session.ask(ALICE) == b""
    assert len(session.ask(METADATA)) > 20


def test_nothing_is_served_to_one_who_is_known_but_another_handshake(session):
    assert session.ask(handshake("PLAIN"), token(ALICE)) is not None
    assert session.ask(METADATA) is not None
    assert session.ask(handshake("PLAIN"))[4:6] == pack(">h", 34)  # ILLEGAL_SASL_STATE
    assert session.ask(token(ALICE))[4:6] == pack(">h", 34)


ROBOT = {"renewers": [{"principal_type": "Robot", "principal_name": "r"}]}
TOKENS = [
    (Api.CREATE_DELEGATION_TOKEN, {"max_lifetime": -1}, "auth_disabled"),
    (Api.CREATE_DELEGATION_TOKEN, {"max_lifetime": -1, **ROBOT}, "invalid_principal_type"),
    (Api.RENEW_DELEGATION_TOKEN, {"hmac": b"x", "renew_period": 1}, "auth_disabled"),
    (Api.EXPIRE_DELEGATION_TOKEN, {"hmac": b"x", "expiry_time_period": 1}, "auth_disabled"),
    (Api.DESCRIBE_DELEGATION_TOKEN, {"owners": None}, "auth_disabled"),
]


@pytest.mark.parametrize("version", [0, 2])
@pytest.mark.parametrize(("api", "fields", "error"), TOKENS, ids=lambda it: getattr(it, "name", ""))
def test_there_are_no_delegation_tokens_for_those_who_are_known(
    session, api, fields, error, version
):
    assert session.ask(handshake("PLAIN"), token(ALICE)) is not None
    header = RequestHeader(api, version, 4, "c")
    request = build(message(api, version, "request"), fields)
    answer = decode_response(header, session.ask(encode_request(header, request)[4:]))
    assert answer.error_code.name.endswith(error)
    if api is Api.CREATE_DELEGATION_TOKEN:
        assert (answer.principal_type, answer.principal_name) == ("User", "alice")


@pytest.mark.parametrize(
    "frames",
    [
        (METADATA,),
        (VERSIONS, VERSIONS),
        (token(ALICE),),  # before the handshake
        (handshake("PLAIN"), METADATA),
        (handshake("PLAIN"), handshake("PLAIN")),
        (handshake("PLAIN", 0), b"nonsense"),
        (b"\x60nonsense of GSSAPI",),
        pytest.param(
            (
                handshake("SCRAM-SHA-256"),
                *map(token, (b"n,,n=alice,r=x", b"c=biws,r=x,p=")),
                METADATA,
            ),
            marks=pytest.mark.of_zookeeper,
        ),
        (handshake("PLAIN"), token(b"\0" + b"a" * 1_000_000 + b"\0x"), METADATA),
    ],
)
def test_requests_out_of_order_close_the_connection(session, frames):
    assert session.ask(*frames) is None


def test_a_mechanism_that_is_not_enabled(session):
    answer = session.ask(handshake("GSSAPI"))
    assert answer[4:6] == pack(">h", 33)  # UNSUPPORTED_SASL_MECHANISM
    assert b"PLAIN" in answer
    assert session.ask(METADATA) is None


def test_a_failure_says_neither_name_nor_password(sasl_ssl):
    answers = []
    for data in (b"\0alice\0wrong", b"\0nobody\0wrong"):
        session = Session(sasl_ssl)
        answers.append(session.ask(handshake("PLAIN"), token(data)))
        assert session.ask(METADATA) is None
        session.close()
    assert answers[0] == answers[1]
    assert b"Invalid username or password" in answers[0]


def failures(cluster, after=0):
    events = cluster.events(after)
    return [each.data for each in events if each.kind == "authentication.failed"]


def test_a_failed_login_is_an_event_without_a_password(sasl_ssl):
    seen = [each.number for each in sasl_ssl.events()][-1]
    session = Session(sasl_ssl)
    session.ask(handshake("PLAIN"), token(b"\0alice\0not hers"))
    session.close()
    (refused,) = until(lambda: failures(sasl_ssl, seen))
    assert (refused["listener"], refused["host"]) == ("SASL_SSL", "127.0.0.1")
    assert "not hers" not in str(refused)


def test_a_failed_handshake_is_an_event(mutual_tls):
    host, _, port = mutual_tls.bootstrap.rpartition(":")
    with socket.create_connection((host, int(port)), 10) as plain:
        plain.sendall(b"no handshake of TLS")
        while plain.recv(100):
            pass
    assert until(lambda: [it for it in failures(mutual_tls) if "handshake" in it["why"]])


@pytest.mark.parametrize("first", [b"\0\0\0\x0c" + METADATA, b"\x16\x03\x01\x00\xff", b""])
def test_bytes_that_are_no_tls_stop_nobody(sasl_ssl, first):
    host, _, port = sasl_ssl.bootstrap.split(",")[0].rpartition(":")
    with socket.create_connection((host, int(port)), 20) as plain:
        plain.sendall(first)
        assert written(sasl_ssl.settings("alice"), "orders") is None
        if first.startswith(b"\0"):
            while data := plain.recv(100):  # until the broker closes the connection
                assert data[:1] == b"\x15"  # an alert of TLS
