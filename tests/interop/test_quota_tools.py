"""Quotas set by our AdminClient, and by the command that prints what kafka-configs.sh prints."""

import pytest

from engine.client.admin.client import AdminClient
from engine.client.values import KafkaException
from engine.config.quorum import NO_CREDENTIALS
from engine.quotas.alteration import FilterComponent, MatchType
from engine.quotas.entity import DEFAULT, ClientQuotaEntity
from tests.interop.raw import caught_up
from tests.interop.shell import Shell

CONFIG = {"quota.window.num": "3", "group.initial.rebalance.delay.ms": "0"}


def test_our_admin_client_sets_describes_and_removes(cluster):
    alice, both = ClientQuotaEntity("alice"), ClientQuotaEntity("alice", DEFAULT)
    with AdminClient({"bootstrap.servers": cluster.bootstrap}) as admin:
        futures = admin.alter_client_quotas(
            {alice: {"producer_byte_rate": 1000.0}, both: {"request_percentage": 12.5}}
        )
        assert [future.result() for future in futures.values()] == [None, None]
        caught_up(cluster)
        exactly = FilterComponent("user", MatchType.EXACT, "alice")
        assert admin.describe_client_quotas([exactly]).result() == {
            alice: {"producer_byte_rate": 1000.0},
            both: {"request_percentage": 12.5},
        }
        assert list(admin.describe_client_quotas([exactly], strict=True).result()) == [alice]
        removed = {alice: {"producer_byte_rate": None}, both: {"request_percentage": None}}
        assert [it.result() for it in admin.alter_client_quotas(removed).values()] == [None, None]
        caught_up(cluster)
        assert admin.describe_client_quotas([exactly]).result() == {}
        (future,) = admin.alter_client_quotas({alice: {"producer_byte_rate": -1.0}}).values()
        with pytest.raises(KafkaException, match="must be a LONG value"):
            future.result()
        (future,) = admin.alter_client_quotas({alice: {"producer_byte_rate": 1.0}}, True).values()
        assert future.result() is None
        assert admin.describe_client_quotas([exactly]).result() == {}


def configs(cluster, *arguments):
    printed = Shell(cluster).out("configs", *arguments)
    caught_up(cluster)
    return printed


ALICE = ["--entity-type", "users", "--entity-name", "alice"]


def test_the_command_prints_what_kafka_configs_prints(cluster):
    each = [*ALICE, "--entity-type", "clients", "--entity-default"]
    add = ["--alter", "--add-config"]
    assert configs(cluster, *add, "producer_byte_rate=10485760", *ALICE) == (
        "Completed updating config for user alice.\n"
    )
    configs(cluster, *add, "request_percentage=50,consumer_byte_rate=1000", *each)
    clients = ["--entity-type", "clients", "--entity-default"]
    assert configs(cluster, *add, "controller_mutation_rate=5", *clients) == (
        "Completed updating default config for clients in the cluster.\n"
    )
    address = ["--entity-type", "ips", "--entity-name", "127.0.0.9"]
    configs(cluster, *add, "connection_creation_rate=100", *address)
    none = (
        ""
        if cluster.is_kraft
        else (
            "Error retrieving SCRAM credential configs for user-principal 'alice': "
            "ResourceNotFoundException: Attempt to describe a user credential that does not exist: "
            "alice\n"
        )
    )
    assert configs(cluster, "--describe", *ALICE) == (
        "Quota configs for user-principal 'alice' are producer_byte_rate=1.048576E7\n" + none
    )
    assert configs(cluster, "--describe", *each) == (
        "Quota configs for user-principal 'alice', the default client-id are "
        "consumer_byte_rate=1000.0, request_percentage=50.0\n"
    )
    assert configs(cluster, "--describe", "--entity-type", "clients") == (
        "Quota configs for the default client-id are controller_mutation_rate=5.0\n"
    )
    assert configs(cluster, "--describe", "--entity-type", "ips") == (
        "Quota configs for ip '127.0.0.9' are connection_creation_rate=100.0\n"
    )
    delete = ["--alter", "--delete-config"]
    configs(cluster, *delete, "producer_byte_rate", *ALICE)
    configs(cluster, *delete, "request_percentage,consumer_byte_rate", *each)
    configs(cluster, *delete, "controller_mutation_rate", *clients)
    configs(cluster, *delete, "connection_creation_rate", *address)
    assert configs(cluster, "--describe", *ALICE) == none


def test_the_command_changes_credentials(cluster):
    """Without ZooKeeper the metadata of level 7 has none: the command says so."""
    both = "SCRAM-SHA-256=[iterations=8192,password=ice],SCRAM-SHA-512=[password=cream]"
    if cluster.is_kraft:
        status, line = Shell(cluster).error("configs", "--alter", "--add-config", both, *ALICE)
        assert (status, NO_CREDENTIALS in line) == (1, True)
        return
    assert configs(cluster, "--alter", "--add-config", both, *ALICE) == (
        "Completed updating config for user alice.\n"
    )
    told = "SCRAM credential configs for user-principal 'alice' are SCRAM-SHA-256=iterations=8192"
    assert configs(cluster, "--describe", *ALICE) == f"{told}, SCRAM-SHA-512=iterations=4096\n"
    configs(cluster, "--alter", "--delete-config", "SCRAM-SHA-512", *ALICE)
    assert configs(cluster, "--describe", "--entity-type", "users") == f"{told}\n"
    configs(cluster, "--alter", "--delete-config", "SCRAM-SHA-256", *ALICE)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([*ALICE, "--alter", "--add-config", "speed=1"], "Unexpected config names: speed"),
        ([*ALICE, "--alter", "--add-config", "producer_byte_rate=much"], "Cannot parse quota"),
        ([*ALICE, "--alter", "--add-config", "producer_byte_rate=-1"], "must be a LONG value"),
        ([*ALICE, "--alter", "--delete-config", "producer_byte_rate"], "Invalid config(s)"),
        ([*ALICE, "--alter"], "needs --add-config or --delete-config"),
        (
            ["--entity-type", "users", "--alter", "--add-config", "producer_byte_rate=1"],
            "An entity name must be specified for every entity type",
        ),
        (
            [*ALICE, "--entity-type", "topics", "--describe"],
            "Only 'users' and 'clients' entity types may be specified together",
        ),
        ([*ALICE, "--entity-name", "bob", "--describe"], "More entity names specified"),
        (
            [*ALICE, "--alter", "--add-config", "SCRAM-SHA-256=[iterations=10,password=p]"],
            "Iterations 10 is less than the minimum 4096 required for SCRAM-SHA-256",
        ),
        ([*ALICE, "--alter", "--add-config", "SCRAM-SHA-256=[iterations=5000]"], "Invalid cred"),
        (
            [*ALICE, "--alter", "--delete-config", "SCRAM-SHA-256"],
            f"does not exist|{NO_CREDENTIALS}",  # with ZooKeeper; without it
        ),
        (
            [*ALICE, "--alter", "--add-config", "SCRAM-SHA-256=[password=p],request_percentage=1"],
            "Cannot alter both quota and SCRAM credential configs simultaneously",
        ),
        (
            [
                *ALICE[:2],
                "--entity-default",
                "--alter",
                "--add-config",
                "SCRAM-SHA-256=[password=p]",
            ],
            "not allowed with User SCRAM Credentials",
        ),
    ],
)
def test_what_the_command_refuses(cluster, arguments, why):
    status, line = Shell(cluster).error("configs", *arguments)
    assert status != 0
    assert any(each in line for each in why.split("|"))
