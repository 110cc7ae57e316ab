"""Kafka's clients, tools and a broker of Kafka's in a secured cluster, with each protocol.

The brokers are one of each kind, so a leader and a follower of either kind prove who they are to
each other, and both decide by the same lists in ZooKeeper.
"""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.client.admin.values import ElectionType
from engine.cluster import java
from engine.cluster.kafka_process import KAFKA, OURS
from engine.config.properties import properties_text
from engine.model import TopicPartition
from engine.security import jaas
from engine.security.sasl_client import MECHANISMS
from tests.interop.watch import until
from tests.limits import JVM_S
from tests.real.conftest import CONFIG
from tests.real.kafka import MixedCluster, Output

ACLS, CONFIGS, TOPICS = (f"kafka.admin.{name}Command" for name in ("Acl", "Config", "Topic"))
PRODUCE, CONSUME = "kafka.tools.ConsoleProducer", "kafka.tools.ConsoleConsumer"
LINES = ["one", "two", "three"]
PRINTED = """\
public class Printed {
    public static void main(String[] arguments) throws Exception {
        var read = new java.util.Properties();
        read.load(System.in);
        System.out.write(read.getProperty("a").getBytes("UTF-8"));
        System.out.flush();
    }
}
"""


@pytest.fixture(scope="module", params=["SSL", "SASL_PLAINTEXT", "SASL_SSL"])
def cluster(request: pytest.FixtureRequest) -> Iterator[MixedCluster]:
    config = CONFIG | {
        "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
        "super.users": "User:admin;User:CN=admin",
        "min.insync.replicas": "2",
        "inter.broker.protocol.version": "2.8",
    }
    users = {"admin": "the admin's", "alice": 'with "quotes" and \\', "bob": "the builder"}
    with MixedCluster(
        {1: OURS, 2: KAFKA}, config=config, security=request.param, users=users
    ) as cluster:
        cluster.topic("orders", partitions=2, replicas=2)
        yield cluster


def principal(cluster: MixedCluster, user: str) -> str:
    sasl = "sasl.username" in cluster.settings(user)
    return f"User:{user}" if sasl else f"User:CN={user}"


def settings(cluster: MixedCluster, user: str) -> Path:
    return cluster.data / "clients" / f"{user}.java.properties"


def run(cluster: MixedCluster, user: str, main: str, *arguments: str, stdin: str = "") -> Output:
    """A tool as this user."""
    option = {PRODUCE: "--producer.config", CONSUME: "--consumer.config"}.get(main)
    how = (option or "--command-config", str(settings(cluster, user)))
    return cluster.client_tool(main, *how, *arguments, stdin=stdin)


def produced(cluster: MixedCluster, user: str) -> Output:
    text = "".join(f"{each}\n" for each in LINES)
    fast = ("--request-required-acks", "all", "--timeout", "1000")
    return run(cluster, user, PRODUCE, "--topic", "orders", *fast, stdin=text)


def consumed(cluster: MixedCluster, user: str, group: str, count: int) -> Output:
    most = ("--max-messages", str(count), "--timeout-ms", "60000")
    about = ("--topic", "orders", "--group", group, "--from-beginning")
    return run(cluster, user, CONSUME, *about, *most)


def test_who_is_allowed_writes_and_reads_and_nobody_else(cluster: MixedCluster) -> None:
    alice = principal(cluster, "alice")
    add = ("--add", "--allow-principal", alice, "--topic", "orders")
    denied = produced(cluster, "alice")
    assert "TopicAuthorizationException: Not authorized to access topics: [orders]" in denied.err

    made = run(cluster, "admin", ACLS, *add, "--producer")
    assert made.code == 0, made
    assert f"principal={alice}, host=*, operation=WRITE, permissionType=ALLOW" in made.out
    made = run(cluster, "admin", ACLS, *add, "--consumer", "--group", "readers")
    assert made.code == 0, made
    listed = run(cluster, "admin", ACLS, "--list", "--topic", "orders")
    operations = re.findall(r"operation=(\w+), permissionType=ALLOW", listed.out)
    assert sorted(set(operations)) == ["CREATE", "DESCRIBE", "READ", "WRITE"]

    # A broker of each kind leads a partition, and each hears of the list by itself.
    until(lambda: produced(cluster, "alice").err.count("Exception") == 0, JVM_S)
    read = consumed(cluster, "alice", "readers", len(LINES))
    assert set(read.out.split()) <= set(LINES), read
    assert len(read.out.split()) == len(LINES), read
    refused = consumed(cluster, "alice", "others", 1)
    assert "GroupAuthorizationException: Not authorized to access group: others" in refused.err

    bob = produced(cluster, "bob")
    assert "TopicAuthorizationException: Not authorized to access topics: [orders]" in bob.err
    assert run(cluster, "bob", TOPICS, "--list").out.split() == []
    assert run(cluster, "alice", TOPICS, "--list").out.split() == ["orders"]
    refused = run(cluster, "bob", ACLS, "--list")
    assert "ClusterAuthorizationException" in refused.out + refused.err

    remove = ("--remove", "--force", "--allow-principal", alice, "--topic", "orders")
    assert run(cluster, "admin", ACLS, *remove, "--producer").code == 0
    until(lambda: "AuthorizationException" in produced(cluster, "alice").err, JVM_S)


def test_a_user_is_made_by_kafkas_tool_and_logs_in(cluster: MixedCluster) -> None:
    if "sasl.username" not in cluster.settings("alice"):
        refused = run(cluster, "bob", CONFIGS, "--describe", "--entity-type", "users")
        assert "ClusterAuthorizationException" in refused.out + refused.err
        return
    carol = ("--entity-type", "users", "--entity-name", "carol")
    secret = "SCRAM-SHA-256=[iterations=4096,password=hers]"
    made = run(cluster, "admin", CONFIGS, "--alter", *carol, "--add-config", secret)
    assert made.out == "Completed updating config for user carol.\n", made
    told = run(cluster, "admin", CONFIGS, "--describe", *carol)
    assert "SCRAM-SHA-256=iterations=4096" in told.out, told
    assert "hers" not in told.out

    text = settings(cluster, "alice").read_text()
    hers = re.sub(r"^sasl\.jaas\.config=.*$", "", text, flags=re.MULTILINE)
    for password in ("hers", "a guess"):
        module = "org.apache.kafka.common.security.scram.ScramLoginModule"
        login = f'{module} required username="carol" password="{password}";'
        (cluster.data / "clients" / "carol.java.properties").write_text(
            f"{hers}\nsasl.jaas.config={login}\n"
        )
        listed = run(cluster, "carol", TOPICS, "--list")
        if password == "hers":
            assert (listed.code, listed.out.split()) == (0, []), listed
        else:
            assert "SaslAuthenticationException: Authentication failed" in listed.out + listed.err
            assert password not in listed.out + listed.err


def test_each_mechanism(cluster: MixedCluster) -> None:
    """With SSL alone there is one: the certificate, and without it nobody comes in."""
    text = settings(cluster, "bob").read_text()
    if "sasl.mechanism" not in text:
        listed = run(cluster, "bob", TOPICS, "--list")
        assert (listed.code, listed.out.split()) == (0, []), listed
        without = re.sub(r"^ssl\.keystore\..*\n", "", text, flags=re.MULTILINE)
        settings(cluster, "bob").write_text(without)
        refused = run(cluster, "bob", TOPICS, "--list")
        settings(cluster, "bob").write_text(text)
        assert refused.code == 1, refused
        return
    for mechanism in MECHANISMS:
        login = jaas.line(mechanism, "bob", "the builder").replace("\\", "\\\\")
        own = re.sub(r"^sasl\.(mechanism|jaas\.config)=.*\n", "", text, flags=re.MULTILINE)
        settings(cluster, "bob").write_text(
            f"{own}sasl.mechanism={mechanism}\nsasl.jaas.config={login}\n"
        )
        listed = run(cluster, "bob", TOPICS, "--list")
        assert (listed.code, listed.out.split()) == (0, []), listed
    settings(cluster, "bob").write_text(text)


def test_leaders_of_both_kinds_replicate_over_the_secured_listener(cluster: MixedCluster) -> None:
    def in_sync() -> bool:
        # A broker whose session has ended meanwhile is back, but leads nothing by itself.
        cluster.admin.elect_leaders(ElectionType.PREFERRED).result()
        known = cluster.state().partitions
        states = [known[TopicPartition("orders", number)] for number in (0, 1)]
        return {each.leader for each in states} == {1, 2} and all(
            sorted(each.isr) == [1, 2] for each in states
        )

    until(in_sync, JVM_S)
    for number in (0, 1):
        assert cluster.write("orders", ["a", "b"], partition=number, acks="all")[-1] >= 1


def test_java_reads_the_properties_that_we_write(tmp_path: Path) -> None:
    value = "a key\nof two lines, \\ ä 😀 = : # !"
    (tmp_path / "Printed.java").write_text(PRINTED)
    printed = subprocess.run(
        [java.find(), tmp_path / "Printed.java"],
        input=properties_text({"a": value}, escapes=True).encode(),
        capture_output=True,
        check=False,
        timeout=JVM_S,
    )
    assert printed.stdout.decode() == value, printed.stderr
