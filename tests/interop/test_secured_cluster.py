"""A cluster that was secured by one word: its files, its commands, a new certificate."""

import re
import socket
import ssl
import subprocess
import sys

import pytest

from engine import Cluster
from engine.cluster.security.authority import HOSTS, CertificateAuthority, write_secret
from engine.errors import ApiException
from tests.interop.watch import until
from tests.modes import made, mode_of

PASSWORD = "gehe=im\\x"


@pytest.fixture(scope="module")
def cluster(request, tmp_path_factory):
    secured = {"security": "SASL_SSL", "users": {"alice": PASSWORD}}
    home = tmp_path_factory.mktemp("secured")
    with made(1, mode_of(request), data=home, **secured) as cluster:
        cluster.topic("orders", replicas=1)
        yield cluster


def run(cluster, *arguments):
    where = ["--bootstrap-server", cluster.bootstrap]
    where += ["--command-config", str(cluster.data / "clients/alice.properties")]
    return subprocess.run(
        [sys.executable, "-m", "engine", *arguments, *where],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def presented(cluster):
    """The certificate that the broker shows to a new connection."""
    host, _, port = cluster.bootstrap.rpartition(":")
    context = ssl.create_default_context(cafile=cluster.data / "security/ca.pem")
    with (
        socket.create_connection((host, int(port)), 30) as plain,
        context.wrap_socket(plain, server_hostname=host) as secured,
    ):
        return dict(pair for part in secured.getpeercert()["subject"] for pair in part)


def test_secrets_are_in_files_for_the_owner_only(cluster):
    secret = re.compile(f"PRIVATE KEY|{re.escape(PASSWORD[:6])}")
    found = [
        path
        for path in cluster.data.rglob("*")
        if path.is_file() and "zookeeper" not in path.parts and path.suffix != ".log"
        if secret.search(path.read_text(errors="replace"))
    ]
    assert len(found) >= 6
    assert {path.stat().st_mode & 0o777 for path in found} == {0o600}
    for broker in cluster.brokers:
        assert PASSWORD not in cluster.command(broker)
        assert PASSWORD not in (cluster.directory(broker) / "broker.log").read_text()


@pytest.mark.of_zookeeper
def test_who_watches_zookeeper_sees_no_secret(cluster):
    watcher = cluster.znodes()
    until(lambda: "stored_key=[hidden]" in str(watcher.changes()))


def test_commands_take_the_user_s_file(cluster):
    assert run(cluster, "topics", "--list").stdout == "orders\n"


def test_a_cluster_without_security_has_no_users(tmp_path):
    with pytest.raises(ApiException, match="has no users"):
        Cluster(data=tmp_path).settings("alice")
    with pytest.raises(ApiException, match="'TLS' is none of"):
        Cluster(data=tmp_path, security="TLS")


def test_a_certificate_is_replaced_while_the_broker_runs(cluster):
    key = "listener.name.sasl_ssl.ssl.keystore.location"
    alter = ("configs", "--alter", "--entity-type", "brokers", "--entity-name", "1")
    assert presented(cluster) == {"commonName": "broker"}
    refused = run(cluster, *alter, "--add-config", f"{key}=/nowhere")
    assert "/nowhere: No such file or directory" in refused.stderr
    keystore = cluster.data / "security/broker-1.pem"
    for name in ("another", "a third one"):  # the second time the key has its value already
        certificate, private = CertificateAuthority(cluster.data / "security").issue(name, HOSTS)
        write_secret(keystore, private + certificate)
        done = run(cluster, *alter, "--add-config", f"{key}={keystore}")
        assert done.returncode == 0, done.stderr
        wanted = {"commonName": name}
        cluster.wait("the new certificate", lambda wanted=wanted: presented(cluster) == wanted)
    assert run(cluster, "topics", "--list").stdout == "orders\n"
