"""TLS and SASL without ZooKeeper: on the brokers' listener and on that of the controllers."""

import subprocess
import sys

import confluent_kafka
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from engine import Cluster
from engine.config.quorum import STANDARD_AUTHORIZER
from engine.errors import ApiException
from tests.interop.watch import until
from tests.limits import CHANGE_S, START_S

PASSWORD = "gehe=im\\x"
CONFIG = {
    "authorizer.class.name": STANDARD_AUTHORIZER,
    "connection.failed.authentication.delay.ms": "10",
    "broker.session.timeout.ms": "3000",
    "offsets.topic.num.partitions": "1",
}
MORE = [("SSL", 1), ("SASL_PLAINTEXT", 0), ("SASL_SSL", 0), ("SSL", 3)]
EVERY = [("SASL_SSL", 1), *(pytest.param(it, marks=pytest.mark.advanced) for it in MORE)]


def named(security):
    return f"{security[0]}-{security[1]}"


@pytest.fixture(scope="module", params=EVERY, ids=named)
def kraft(request):
    security, controllers = request.param
    shared = {"metadata": "kraft", "security": security, "users": {"alice": PASSWORD}}
    with Cluster(2, controllers=controllers, config=CONFIG, **shared) as kraft:
        kraft.topic("orders", replicas=2)
        yield kraft


def quorum(kraft, settings=None):
    """What metadata-quorum says that asks the controllers; `settings`: of TLS and SASL."""
    addresses = ",".join(each.partition("@")[2] for each in kraft.controllers.split(","))
    keys = kraft.data / "command.properties"
    keys.write_text("".join(f"{key}={value}\n" for key, value in (settings or {}).items()))
    command = sys.executable, "-m", "engine", "metadata-quorum"
    told = "--command-config", str(keys), "--bootstrap-controller", addresses
    return subprocess.run(
        [*command, *told, "describe", "--status"],
        capture_output=True,
        text=True,
        timeout=START_S,
        check=False,
    )


def test_nodes_log_in_to_the_controllers_and_users_to_brokers(kraft):
    """Records, a new leader of the quorum where there can be one, a broker that comes back."""
    assert kraft.write("orders", ["a"], acks="all") == [0]
    if len(kraft.metadata_servers) == 3:
        kraft.kill(f"controller-{kraft.state().controller - 100}")
        kraft.topic("later", replicas=2)
        kraft.mend()
    kraft.kill(2)
    kraft.restart(2)
    until(lambda: set(kraft.isr("orders")) == {1, 2}, START_S)
    assert kraft.read("orders") == ["a"]
    producer = Producer({**kraft.settings("alice"), "log_level": 0, "message.timeout.ms": 15_000})
    errors = []
    producer.produce("orders", b"x", on_delivery=lambda error, message: errors.append(error.code()))
    assert producer.flush(CHANGE_S) == 0
    assert errors == [confluent_kafka.KafkaError.TOPIC_AUTHORIZATION_FAILED]


def test_whoever_is_no_node_asks_the_controllers_in_vain(kraft):
    """The brokers' own user is told; a user without a right, and one without TLS or a login, are
    not."""
    assert "LeaderId:" in quorum(kraft, kraft.security_settings).stdout
    alice = quorum(kraft, kraft.settings("alice") | {"bootstrap.servers": kraft.bootstrap})
    assert "refuses DescribeQuorum: cluster_authorization_failed" in alice.stderr
    own = kraft.security_settings
    if "sasl.password" in own:
        wrong = quorum(kraft, own | {"sasl.password": "wrong"})
        assert (wrong.returncode, wrong.stdout) == (1, "")
        assert "Authentication failed: Invalid username or password" in wrong.stderr


def test_no_secret_is_on_a_command_line_or_in_a_log(kraft):
    """Of brokers and controllers alike; their files are for their owner only."""
    secret = kraft.security_settings.get("sasl.password", PASSWORD)
    names = [*kraft.brokers, *kraft.metadata_servers]
    for name in names:
        log = "broker.log" if isinstance(name, int) else "controller.log"
        for text in (kraft.command(name), (kraft.directory(name) / log).read_text()):
            assert secret not in text
            assert PASSWORD not in text
    files = [*(kraft.data / "security").glob("*.properties")]
    assert len(files) == len(names)
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}


def test_scram_is_refused_in_a_sentence(kraft):
    """Level 7 of the metadata has no credentials: a client is told so; no broker serves them."""
    if "sasl.username" in kraft.settings("alice"):
        with pytest.raises(ApiException, match=r"SCRAM-SHA-256: SCRAM credentials .* 11 \(3.5"):
            kraft.settings("alice", "SCRAM-SHA-256")
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
    wanted = UserScramCredentialUpsertion("alice", info, b"secret")
    settings = {**kraft.security_settings, "bootstrap.servers": kraft.bootstrap}
    admin = AdminClient(settings)
    (altered,) = admin.alter_user_scram_credentials([wanted]).values()
    with pytest.raises(confluent_kafka.KafkaException, match="not supported by broker"):
        altered.result(CHANGE_S)
